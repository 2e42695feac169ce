package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	maxRounds   = 8
	maxInputs   = 16
	maxState    = 1 << 20
	firstPause  = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// exchange is one operation on the server: a request, and in the modern era as many retries of it as the server
// asks for input (MRTR).
type exchange struct {
	phase   Phase
	method  string
	members []byte // of params, without _meta
	token   bool   // a progress token goes out
	input   bool   // the method may ask for input (MRTR-01)
	list    bool   // whoever reads the result judges its items one by one, however deep or broken one of them is
	idle    time.Duration
	total   time.Duration
	// onProgress gets the params of progress notifications.
	onProgress func(json.RawMessage)
}

// outcome is a final result: a JSON object, validated unless it is a list's, byte for byte as sent unless it had to be
// repaired.
type outcome struct {
	raw json.RawMessage
	// rounds counts the requests it took; a result of more than one is never cached (MRTR-19).
	rounds int
}

// run performs x. The error is an *Error.
func (s *Session) run(ctx context.Context, x exchange) (outcome, error) {
	var (
		more  []byte
		spent time.Duration
		pause = firstPause
	)
	for round := 1; ; round++ {
		began := time.Now()
		raw, err := s.once(ctx, x, more, spent)
		spent += time.Since(began)
		if err != nil {
			return outcome{}, s.translate(ctx, x.phase, err)
		}
		raw, ok := x.readable(raw)
		if !ok {
			return outcome{}, s.decodeError(x.phase, x.method, "it is no JSON object")
		}
		kind := wire.Member(raw, "resultType")
		switch name := wire.Text(kind); {
		case kind == nil, name == "complete":
			return outcome{raw, round}, nil
		case name != "input_required" || s.era != Modern || !x.input:
			return outcome{}, s.decodeError(x.phase, x.method, "resultType "+wire.Sample(kind)+" is not valid here")
		case round >= maxRounds:
			return outcome{}, s.decodeError(x.phase, x.method, fmt.Sprintf("the server asked for input %d times", round))
		}
		asked, err := s.parseInput(x, raw)
		if err != nil {
			return outcome{}, err
		}
		if more, err = s.answerInput(ctx, x, asked, round); err != nil {
			return outcome{}, err
		}
		if len(asked.requests) == 0 { // the server paces itself (MRTR-06)
			if err := sleep(ctx, pause); err != nil {
				return outcome{}, s.translate(ctx, x.phase, err)
			}
			pause = min(2*pause, longestWait)
		}
	}
}

// readable makes raw a JSON object, as far as x needs it to be one.
func (x exchange) readable(raw json.RawMessage) (json.RawMessage, bool) {
	fixed, ok := decodable(raw)
	if ok || !x.list {
		return fixed, ok
	}
	// A list may be no JSON for the sake of one item; what is around the items has to be.
	whole := wire.Members(raw, func(_, value []byte) bool {
		return value[0] == '{' || value[0] != '[' && json.Valid(value) || wire.Elements(value, func([]byte) {})
	})
	return raw, whole
}

// once sends one request of x. Each has an id, a progress token and clocks of its own (MRTR-11, MRTR-18); only the
// time in which a request was under way counts towards the total.
func (s *Session) once(ctx context.Context, x exchange, more []byte, spent time.Duration) (json.RawMessage, error) {
	r := wire.Request{
		ID:         s.conn.NextID(),
		Method:     x.method,
		OnProgress: x.onProgress,
		Idle:       x.idle,
		Paused:     s.calls.asking,
		Deep:       x.list,
	}
	if x.total > 0 {
		if r.Total = x.total - spent; r.Total <= 0 {
			return nil, &wire.TimeoutError{Clock: "total", After: x.total}
		}
	}
	token := ""
	if x.token {
		token = r.ID
	}
	r.Params = s.params(x.members, more, token)
	raw, err := s.conn.Do(ctx, r)
	if timeout, ok := errors.AsType[*wire.TimeoutError](err); ok && timeout.Clock == "total" {
		timeout.After = x.total
	}
	return raw, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("request given up: %w", context.Cause(ctx))
	}
}

// inputs are what a result asks for, in its order. Keys are kept as they were written (MRTR-14), and so is the state
// (MRTR-08).
type inputs struct {
	requests []inputRequest
	state    []byte
}

type inputRequest struct {
	key    []byte
	method string
	params json.RawMessage
}

// parseInput checks all that a result asks for before anybody is bothered with any of it (MRTR-02 to MRTR-04).
func (s *Session) parseInput(x exchange, raw json.RawMessage) (inputs, error) {
	bad := func(format string, args ...any) (inputs, error) {
		return inputs{}, s.decodeError(x.phase, x.method, fmt.Sprintf(format, args...))
	}
	var in inputs
	if state := wire.Member(raw, "requestState"); state != nil {
		if state[0] != '"' || len(state) > maxState {
			return bad("requestState is no string of at most %d bytes", maxState)
		}
		in.state = state
	}
	list := wire.Member(raw, "inputRequests")
	if list != nil && list[0] != '{' {
		return bad("inputRequests is no object")
	}
	seen := make(map[string]bool)
	problem := ""
	wire.Members(list, func(key, value []byte) bool {
		r := inputRequest{key: key, method: wire.Text(wire.Member(value, "method")), params: wire.Member(value, "params")}
		switch {
		case seen[wire.Text(key)]:
			problem = "inputRequests names " + wire.Sample(key) + " twice"
		case len(in.requests) == maxInputs:
			problem = fmt.Sprintf("it asks for more than %d inputs at once", maxInputs)
		default:
			problem = s.unacceptable(r)
		}
		seen[wire.Text(key)] = true
		in.requests = append(in.requests, r)
		return problem == ""
	})
	switch {
	case problem != "":
		return bad("%s", problem)
	case len(in.requests) == 0 && in.state == nil:
		return bad("it asks for input and says neither what nor with which state")
	}
	return in, nil
}

// answerInput collects the answers one after the other and writes the members that a retry adds (MRTR-05, MRTR-07,
// MRTR-09, MRTR-10, MRTR-13).
func (s *Session) answerInput(ctx context.Context, x exchange, in inputs, round int) ([]byte, error) {
	var members []byte
	if len(in.requests) > 0 {
		members = append(members, `"inputResponses":{`...)
		for i, r := range in.requests {
			answer, err := s.answer(ctx, r.method, r.params, true, round)
			if err != nil {
				if ctx.Err() != nil {
					return nil, s.translate(ctx, x.phase, fmt.Errorf("request given up: %w", context.Cause(ctx)))
				}
				e := s.newError(x.phase, CodeDenied, r.method+" was refused: "+err.Error())
				e.Err = err
				return nil, e
			}
			if i > 0 {
				members = append(members, ',')
			}
			members = append(append(append(members, r.key...), ':'), answer...)
		}
		members = append(members, '}')
	}
	if in.state != nil {
		if len(members) > 0 {
			members = append(members, ',')
		}
		members = append(append(members, `"requestState":`...), in.state...)
	}
	return members, nil
}
