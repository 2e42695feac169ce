package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/wire"
)

// Call calls a tool with args, a JSON object or nil, which go out byte for byte. A tool's own failure is a Result
// with IsError, not an error. The error is an *Error: CodeInvalid for args that are no object, CodeTimeout when the
// idle or the total clock ran out, CodeCancelled when ctx ended (the server is told, CAN-03), CodeRPC for a refusal,
// CodeProtocol for a result that is none, and CodeUnknown when the connection was lost while the tool may have run.
// Call never repeats a request by itself.
func (s *Session) Call(ctx context.Context, tool string, args json.RawMessage, opts CallOptions) (*Result, error) {
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if !isObject(args) {
		return nil, s.newError(PhaseCall, CodeInvalid, "the arguments are no JSON object")
	}
	if hasNewline(args) {
		args = compact(args)
	}
	x := exchange{
		phase: PhaseCall, method: "tools/call", token: true, input: true,
		members: slices.Concat(field("name", tool), []byte(`,"arguments":`), args),
		idle:    clock(opts.Idle, s.spec.Timeout, config.DefaultTimeout),
		total:   clock(opts.Total, s.spec.MaxCallTime, config.DefaultMaxCallTime),
	}
	if opts.OnProgress != nil {
		x.onProgress = progressReader(opts.OnProgress)
	}
	defer s.calls.begin(ctx)()
	out, err := s.run(ctx, x)
	if err != nil {
		return nil, err
	}
	r := decodeResult(out.raw)
	if opts.OutputSchema != nil {
		s.checkOutput(r, opts.OutputSchema)
	}
	return r, nil
}

// clock picks the first setting that is given.
func clock(settings ...time.Duration) time.Duration {
	for _, d := range settings {
		if d > 0 {
			return d
		}
	}
	return 0
}

// progressReader reads progress reports for fn. Reports that do not increase are dropped, and so are malformed ones
// (PRG-03).
func progressReader(fn func(Progress)) func(json.RawMessage) {
	last, any := 0.0, false
	return func(params json.RawMessage) {
		value, ok := number(wire.Member(params, "progress"))
		if !ok || any && value <= last {
			return
		}
		last, any = value, true
		p := Progress{Progress: value, Message: wire.Text(wire.Member(params, "message"))}
		if total, ok := number(wire.Member(params, "total")); ok {
			p.Total = &total
		}
		fn(p)
	}
}

func number(raw []byte) (float64, bool) {
	if len(raw) == 0 || raw[0] == '"' || raw[0] == 'n' {
		return 0, false
	}
	var f float64
	err := json.Unmarshal(raw, &f)
	return f, err == nil
}

func hasNewline(b []byte) bool {
	return slices.ContainsFunc(b, func(c byte) bool { return c == '\n' || c == '\r' })
}

// compact takes the line ends out of valid JSON, where they can only stand between tokens: a message is one line.
func compact(b []byte) []byte {
	return slices.DeleteFunc(slices.Clone(b), func(c byte) bool { return c == '\n' || c == '\r' })
}
