package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	probeID = "probe-1"
	// endProbe bounds ending the sibling: long enough for a server to remove its lock file.
	endProbe = 2 * time.Second
)

// probe asks a disposable sibling of the server which era it speaks. The sibling is gone when probe returns (M3).
func (s *Session) probe(ctx context.Context, budget time.Duration) (evidence, error) {
	proc, err := s.opts.Launcher.Launch(ctx, s.spec)
	if err != nil {
		return evidence{}, s.startError(err)
	}
	// An error without an id can only be the answer: nothing else was asked.
	orphan := make(chan *wire.RemoteError, 1)
	conn := wire.New(ctx, wire.Config{
		Reader: proc.Stdout(),
		Writer: proc.Stdin(),
		Silent: true,
		Logger: s.logger,
		Trace:  s.tracer("probe"),
		Unattributed: func(e *wire.RemoteError) {
			select {
			case orphan <- e:
			default:
			}
		},
	})
	ev := s.ask(ctx, conn, budget, orphan)

	conn.Stop()
	// Ending the sibling must not eat the time that is kept back for the handshake.
	limit := endProbe
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(deadline)/4, 100*time.Millisecond))
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = proc.Close(ending)
	conn.Close()
	if ev.exited != "" && proc.ExitStatus() != "" {
		ev.exited = proc.ExitStatus()
	}
	if err != nil {
		e := s.newError(PhaseProbe, CodeUnavailable, "the probed process could not be ended")
		e.Err = err
		return ev, e
	}
	return ev, nil
}

func (s *Session) ask(ctx context.Context, conn *wire.Conn, budget time.Duration, orphan <-chan *wire.RemoteError) evidence {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan *wire.RemoteError, 1)
	go func() {
		defer close(watched)
		select {
		case e := <-orphan:
			watched <- e
			cancel(e)
		case <-asking.Done():
		}
	}()
	result, err := conn.Do(asking, wire.Request{
		ID: probeID, Method: "server/discover", Params: s.metaParams(nil, "", ""), Total: budget,
	})
	cancel(nil)
	if e := <-watched; e != nil && err != nil {
		return evidence{refusal: e}
	}
	var (
		refusal *wire.RemoteError
		timeout *wire.TimeoutError
		lost    *wire.LostError
	)
	switch {
	case err == nil:
		return evidence{result: readable(result)}
	case errors.As(err, &refusal):
		return evidence{refusal: refusal}
	case errors.As(err, &timeout):
		return evidence{silent: budget}
	case errors.As(err, &lost):
		return evidence{exited: "stdout was closed"}
	case ctx.Err() != nil:
		return evidence{failed: context.Cause(ctx)}
	default:
		return evidence{unusable: err}
	}
}

// readable returns a value that can be decoded where repairing makes it so.
func readable(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	return wire.Repair(raw)
}
