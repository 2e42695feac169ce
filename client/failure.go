package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/usher-mcp/usher/internal/wire"
)

func (s *Session) newError(phase Phase, code Code, message string) *Error {
	return &Error{Server: s.spec.Name, Phase: phase, Code: code, Message: message}
}

func rpcError(r *wire.RemoteError) *RPCError {
	return &RPCError{Code: r.Code, Message: r.Message, Data: r.Data}
}

// sdkError finds a JSON-RPC error of the server in what the SDK returned.
func sdkError(err error) *wire.RemoteError {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &wire.RemoteError{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	return nil
}

// translate turns the failure of a request into an Error. It waits a moment for the exit status when the connection
// was lost, and not at all when ctx has ended.
func (s *Session) translate(ctx context.Context, phase Phase, err error) *Error {
	var (
		known   *Error
		remote  *wire.RemoteError
		timeout *wire.TimeoutError
		lost    *wire.LostError
		unsent  *wire.SendError
	)
	e := s.newError(phase, CodeProtocol, "")
	e.Err = err
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &remote):
		e.Code, e.RPC, e.Err = CodeRPC, rpcError(remote), nil
		e.Message = fmt.Sprintf("the server answered: %s (%d)", wire.Sample([]byte(remote.Message)), remote.Code)
		e.Hint = refusalHint(remote)
	case errors.As(err, &timeout):
		e.Code, e.Message = CodeTimeout, timeout.Error()
		e.Hint = timeoutHint(phase, timeout.Clock)
	case phase == PhaseCall && errors.As(err, &lost) && lost.Sent:
		// Whatever ended the connection, it says nothing about this call, which was under way.
		s.explainLoss(ctx, e, lost)
	case errors.As(err, &unsent):
		s.explainSend(e, unsent)
	case errors.As(err, &lost):
		s.explainLoss(ctx, e, lost)
	case errors.Is(err, errWindow):
		e.Code, e.Message, e.Stderr = CodeTimeout, "the server did not answer in time", s.lastStderr()
		e.Hint = "Raise discoveryTimeoutMs, or see what the server writes to stderr."
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message = CodeCancelled, "cancelled"
	case errors.Is(err, wire.ErrFrameTooLong), errors.Is(err, wire.ErrTooDeep):
		e.Message = err.Error()
		e.Hint = "Ask for less at once, or have the server split it."
	case errors.Is(err, wire.ErrMalformed):
		e.Message = err.Error()
	default:
		e.Message = err.Error()
	}
	s.explainNoise(e, err)
	return e
}

func (s *Session) lastStderr() string {
	if s.proc == nil {
		return ""
	}
	return s.tail()
}

func timeoutHint(phase Phase, clock string) string {
	switch {
	case phase == PhaseList:
		return "The server is slow to list; reconnect it or look at its stderr."
	case clock == "total":
		return "Raise maxCallTime for this server."
	default:
		return "Raise timeout for this server, or let the tool report progress."
	}
}

// refusalHint is the next step for the refusals that have one.
func refusalHint(r *wire.RemoteError) string {
	switch r.Code {
	case codeMissingCapability:
		var names []string
		wire.Members(wire.Member(r.Data, "requiredCapabilities"), func(key, _ []byte) bool {
			names = append(names, wire.Text(key))
			return true
		})
		if len(names) > 0 {
			return "The server needs capabilities that this client did not offer: " + wire.Sample([]byte(strings.Join(names, ", "))) + "."
		}
		return "The server needs a capability that this client did not offer."
	case codeUnsupportedVersion:
		if supported, ok := supportedVersions(r.Data); ok {
			return "The server speaks " + wire.Sample([]byte(strings.Join(supported, ", "))) + "."
		}
	}
	return ""
}

// explainLoss says what a lost connection means for a request: unknown outcome when a call may have been carried
// out, unavailable otherwise.
func (s *Session) explainLoss(ctx context.Context, e *Error, lost *wire.LostError) {
	e.Code, e.Message = CodeUnavailable, "the connection was closed"
	if !s.closed.Load() && s.proc != nil && s.link == nil {
		s.exitStatus(ctx)
		e.Message, e.Stderr = "the server closed its output", s.tail()
		if status := s.proc.ExitStatus(); status != "" {
			e.Message = "the server exited (" + status + ")"
		}
	}
	if e.Phase == PhaseHandshake {
		e.Message += " before it answered"
		e.Hint = "Run its command by hand to see what it says."
		return
	}
	if e.Phase == PhaseCall && lost.Sent {
		e.Code = CodeUnknown
		e.Message += " before it answered; the tool may have run"
		e.Hint = "Check what the tool has done before calling it again."
	}
}

// exitStatus gives a server whose connection was lost a moment to end.
func (s *Session) exitStatus(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	select {
	case <-s.proc.Done():
	case <-waiting.Done():
	}
}

// decodeError says that a result is not what the protocol says it is.
func (s *Session) decodeError(phase Phase, method, what string) *Error {
	e := s.newError(phase, CodeProtocol, "the result of "+method+" is malformed: "+what)
	e.Err = wire.ErrMalformed
	return e
}

// decodable makes sure that raw is a JSON object, repairing what can be repaired.
func decodable(raw json.RawMessage) (json.RawMessage, bool) {
	if !json.Valid(raw) {
		if raw = wire.Repair(raw); !json.Valid(raw) {
			return nil, false
		}
	}
	return raw, raw[0] == '{'
}
