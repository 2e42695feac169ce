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
// declares the tool read-only or idempotent. Ending ctx tells the server and returns at once.
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
	for repeated := false; ; repeated = true {
		sess, err := s.await(ctx)
		if err != nil {
			return nil, err
		}
		tool, err := s.lookup(c.Tool)
		if err != nil {
			return nil, err
		}
		res, err := sess.Call(ctx, c.Tool, args, client.CallOptions{OnProgress: c.OnProgress, OutputSchema: tool.OutputSchema})
		var e *client.Error
		switch {
		case err == nil:
			out := &Result{
				Server: c.Server, Tool: c.Tool, Era: sess.Era(), ProtocolVersion: sess.ProtocolVersion(), Result: res,
			}
			out.Display = h.display(ctx, sess, tool, args, res)
			out.Duration = time.Since(began)
			return out, nil
		case !repeated && errors.As(err, &e) && e.Code == client.CodeUnknown && repeatable(s.spec.Trust, tool.Annotations):
			// Wait for the lost session to be noticed, or await would return it again.
			select {
			case <-sess.Done():
			case <-ctx.Done():
				return nil, s.asError(client.PhaseCall, ctx.Err())
			}
			s.lost(sess)
			h.log.Info("call repeated after a lost connection", "server", c.Server, "tool", c.Tool)
		default:
			return nil, s.asError(client.PhaseCall, err)
		}
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

func with[T any](ctx context.Context, h *Host, name string, phase client.Phase, do func(*client.Session) (T, error)) (T, error) {
	var zero T
	s, err := h.find(name)
	if err != nil {
		return zero, err
	}
	sess, err := s.await(ctx)
	if err != nil {
		return zero, err
	}
	out, err := do(sess)
	if err != nil {
		return zero, s.asError(phase, err)
	}
	return out, nil
}
