package usher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/client"
)

// Call calls one tool and prepares how its result is shown. It waits for a server that is still connecting.
//
// Three outcomes stay apart: a result; a result with IsError, which is the tool's own failure and meant for the
// model; and an error, always a *[client.Error], when there is no result. CodeUnknown means that the request
// was sent and the connection was lost before the answer: the call is repeated only if the server is trusted and
// declares the tool read-only or idempotent. CodeDenied means that nothing was sent, because a rule or a person said
// no. Ending ctx tells the server and returns at once.
func (h *Host) Call(ctx context.Context, c Call) (*Result, error) {
	began := time.Now()
	s, err := h.find(c.Server)
	if err != nil {
		return nil, err
	}
	args := c.Arguments
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	if !json.Valid(args) || bytes.TrimSpace(args)[0] != '{' {
		return nil, &client.Error{
			Server: c.Server, Phase: client.PhaseCall, Code: client.CodeInvalid,
			Message: fmt.Sprintf("the arguments of %q must be a JSON object", c.Tool), Err: errNoObject,
		}
	}
	var tool Tool
	var era client.Era
	var version string
	var display Display
	var permitted string
	running, end := context.WithCancel(ctx)
	defer end()
	res, err := onSession(ctx, s, client.PhaseCall, func(sess *client.Session) (*client.Result, bool, error) {
		var err error
		if tool, err = s.lookup(c.Tool); err != nil {
			return nil, false, err
		}
		if err := s.permit(ctx, c, tool, args, &permitted); err != nil {
			return nil, false, err
		}
		asking := context.WithValue(ctx, scopeKey{}, scope{owner: c.Owner, call: c.ID, tool: tool.Name, title: tool.Title, running: running})
		if s.turns != nil {
			if err := s.turns.Acquire(ctx, 1); err != nil {
				return nil, false, err
			}
		}
		res, err := sess.Call(asking, c.Tool, args, client.CallOptions{OnProgress: c.OnProgress, OutputSchema: tool.OutputSchema})
		if s.turns != nil {
			s.turns.Release(1)
		}
		if err != nil {
			return nil, repeatable(s.spec.Trust, tool.Annotations), err
		}
		era, version = sess.Era(), sess.ProtocolVersion()
		display = h.display(ctx, sess, tool, args, res)
		return res, false, nil
	})
	if err != nil {
		return nil, err
	}
	return &Result{
		Server: c.Server, Tool: c.Tool, Era: era, ProtocolVersion: version,
		Result: res, Display: display, Duration: time.Since(began),
	}, nil
}

// onSession runs do on the server's session, waiting for one that is still connecting. When the session turns out
// to be over, do runs once more on the next one: if nothing was sent, or if do says that repeating does no harm.
func onSession[T any](ctx context.Context, s *server, phase client.Phase, do func(*client.Session) (out T, harmless bool, _ error)) (T, error) {
	var zero T
	for again := true; ; again = false {
		sess, err := s.await(ctx)
		if err != nil {
			return zero, err
		}
		out, harmless, err := do(sess)
		if err == nil {
			return out, nil
		}
		var e *client.Error
		lost := errors.As(err, &e) && (e.Code == client.CodeUnavailable || e.Code == client.CodeUnknown && harmless)
		if !again || !lost {
			return zero, s.asError(phase, err)
		}
		// Its connection is closed, so its end is near; await must not hand it out again.
		select {
		case <-sess.Done():
		case <-ctx.Done():
			return zero, s.asError(phase, ctx.Err())
		}
		s.lost(sess)
		s.h.log.Info("request repeated after a lost session", "server", s.spec.Name, "phase", phase)
	}
}

// repeatable is the replay rule: only a trusted server's word that a repetition does no harm counts.
func repeatable(trust bool, a client.ToolAnnotations) bool {
	is := func(p *bool) bool { return p != nil && *p }
	return trust && (is(a.Idempotent) || is(a.ReadOnly) && !is(a.Destructive))
}

// lost makes sure that a session that has ended is not handed out again before the run loop sees its end.
func (s *server) lost(sess *client.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == sess {
		s.sess = nil
		s.setLocked(func(st *ServerStatus) { st.State = StateReconnecting })
	}
}

// Read reads one resource. It waits for a server that is still connecting. Errors are *[client.Error].
func (h *Host) Read(ctx context.Context, server, uri string) (*client.ReadResult, error) {
	return with(ctx, h, server, client.PhaseRead, func(sess *client.Session) (*client.ReadResult, error) {
		return sess.ReadResource(ctx, uri)
	})
}

// Prompt gets one prompt with its arguments filled in. It waits for a server that is still connecting.
// Errors are *[client.Error].
func (h *Host) Prompt(ctx context.Context, server, name string, args map[string]string) (*client.PromptResult, error) {
	return with(ctx, h, server, client.PhaseRead, func(sess *client.Session) (*client.PromptResult, error) {
		return sess.Prompt(ctx, name, args)
	})
}

// Complete asks a server to complete an argument of a prompt or a variable of a resource template; filled holds
// the arguments that are known already. Errors are *[client.Error].
func (h *Host) Complete(ctx context.Context, server string, ref client.CompletionRef, arg, value string, filled map[string]string) (client.Completion, error) {
	return with(ctx, h, server, client.PhaseRead, func(sess *client.Session) (client.Completion, error) {
		return sess.Complete(ctx, ref, arg, value, filled)
	})
}

// with runs a request that reads and may therefore always be repeated.
func with[T any](ctx context.Context, h *Host, name string, phase client.Phase, do func(*client.Session) (T, error)) (T, error) {
	s, err := h.find(name)
	if err != nil {
		var zero T
		return zero, err
	}
	return onSession(ctx, s, phase, func(sess *client.Session) (T, bool, error) {
		out, err := do(sess)
		return out, true, err
	})
}
