package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

// The methods of a server's questions.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeUserRejected   = -1 // SAM-07
)

// calls knows which operations run and whether a person is being asked.
type calls struct {
	mu      sync.Mutex
	running map[*running]struct{}
	asked   int
}

type running struct{ ctx context.Context } //nolint:containedctx // only its values are used, to attribute a question

// begin notes an operation that a legacy server's question may belong to.
func (c *calls) begin(ctx context.Context) (end func()) {
	r := &running{ctx}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = make(map[*running]struct{})
	}
	c.running[r] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, r)
	}
}

// only returns the ctx of the one operation that runs, nil when there is none or more than one.
func (c *calls) only() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) != 1 {
		return nil
	}
	for r := range c.running {
		return r.ctx
	}
	return nil
}

// asking reports whether a question is open: then the idle clock of a call stands still, because it is a person who
// takes the time.
func (c *calls) asking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked > 0
}

func (c *calls) ask(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked += n
}

// attributed ends with one context and has the values of another.
type attributed struct {
	context.Context                 //nolint:containedctx // this type is a context
	values          context.Context //nolint:containedctx // this type is a context
}

func (a attributed) Value(key any) any {
	if v := a.values.Value(key); v != nil {
		return v
	}
	return a.Context.Value(key)
}

// serve answers a question that a legacy server sent as a request (MRTR-25).
func (s *Session) serve(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *wire.RemoteError) {
	if !s.initialized.Load() {
		return nil, &wire.RemoteError{Code: codeInvalidParams, Message: "the session is not initialized"} // LEG-39
	}
	r := inputRequest{method: method, params: params}
	if !s.capable(method) {
		return nil, &wire.RemoteError{Code: codeMethodNotFound, Message: method + " is not supported"} // ROOT-04
	}
	if problem := s.unacceptable(r); problem != "" {
		return nil, &wire.RemoteError{Code: codeInvalidParams, Message: problem}
	}
	known := false
	if owner := s.calls.only(); owner != nil {
		ctx, known = attributed{ctx, owner}, true
	}
	answer, err := s.answer(ctx, method, params, known, 0)
	switch {
	case err == nil:
		return answer, nil
	case method == methodSample:
		return nil, &wire.RemoteError{Code: codeUserRejected, Message: "User rejected sampling request"}
	default:
		return nil, &wire.RemoteError{Code: codeInternal, Message: "the client could not answer"}
	}
}

// capable reports whether the Handler can answer this method.
func (s *Session) capable(method string) bool {
	switch h := s.opts.Handler; method {
	case methodElicit:
		return h.Elicit != nil
	case methodSample:
		return h.Sample != nil
	case methodRoots:
		return h.Roots != nil
	}
	return false
}

// unacceptable says what is wrong with a question, "" when it can be asked: a method that is none, one that was not
// declared, params nobody could show (MRTR-03, MRTR-04, SAM-02).
func (s *Session) unacceptable(r inputRequest) string {
	if !s.capable(r.method) {
		return "it asks for " + wire.Sample([]byte(r.method)) + ", which this client did not offer"
	}
	if r.method == methodRoots {
		return ""
	}
	if !isObject(r.params) {
		return r.method + " has no params"
	}
	if r.method == methodSample {
		if wire.Member(r.params, "tools") != nil || wire.Member(r.params, "toolChoice") != nil {
			return "it asks for sampling with tools, which this client did not offer"
		}
		if m := wire.Member(r.params, "messages"); m == nil || m[0] != '[' {
			return r.method + " has no messages"
		}
		return ""
	}
	switch mode := wire.Member(r.params, "mode"); {
	case mode == nil, wire.Text(mode) == "form":
		if schema := wire.Member(r.params, "requestedSchema"); schema == nil || schema[0] != '{' {
			return r.method + " has no requestedSchema"
		}
	case wire.Text(mode) != "url":
		return r.method + " has an unknown mode " + wire.Sample(mode)
	case !s.opts.Handler.ElicitURL:
		return "it asks to open a URL, which this client did not offer"
	case wire.Text(wire.Member(r.params, "url")) == "":
		return r.method + " has no url"
	}
	return ""
}

// answer asks the Handler and writes the bare result (MRTR-13). The error is the Handler's refusal.
func (s *Session) answer(ctx context.Context, method string, params json.RawMessage, known bool, round int) (json.RawMessage, error) {
	s.calls.ask(1)
	defer s.calls.ask(-1)
	switch method {
	case methodElicit:
		return s.elicit(ctx, params, known, round)
	case methodSample:
		answer, err := s.opts.Handler.Sample(ctx, Sampling{Server: s.spec.Name, Params: params, Attributed: known, Round: round})
		if err != nil {
			return nil, err
		}
		if !isObject(answer) {
			return nil, errors.New("the handler's answer is no JSON object")
		}
		return answer, nil
	default:
		roots, err := s.opts.Handler.Roots(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range roots {
			if !strings.HasPrefix(r.URI, "file://") {
				return nil, fmt.Errorf("root %q is no file URI", r.URI)
			}
		}
		return json.Marshal(struct {
			Roots []Root `json:"roots"`
		}{append([]Root{}, roots...)})
	}
}

func (s *Session) elicit(ctx context.Context, params json.RawMessage, known bool, round int) (json.RawMessage, error) {
	e := Elicitation{
		Server: s.spec.Name, Mode: "form", Attributed: known, Round: round,
		Message: wire.Text(wire.Member(params, "message")),
		Schema:  wire.Member(params, "requestedSchema"),
	}
	if wire.Text(wire.Member(params, "mode")) == "url" {
		e.Mode, e.Schema = "url", nil
		e.URL, e.ID = wire.Text(wire.Member(params, "url")), wire.Text(wire.Member(params, "elicitationId"))
	}
	began := time.Now()
	answer, err := s.opts.Handler.Elicit(ctx, e)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.logger.Debug("elicitation cancelled", "server", s.spec.Name, "error", err, "after", time.Since(began))
		answer = ElicitAnswer{Action: ActionCancel}
	}
	switch {
	case answer.Action == ActionAccept && e.Mode == "form":
		if !isObject(answer.Content) {
			return nil, errors.New("the handler accepted without the form's content")
		}
	case answer.Action == ActionAccept, answer.Action == ActionDecline, answer.Action == ActionCancel:
		answer.Content = nil
	default:
		return nil, fmt.Errorf("the handler's action %q is none", answer.Action)
	}
	return json.Marshal(answer)
}
