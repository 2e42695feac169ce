package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/ushertest"
)

// TestCloseWhileCallsRun: the server is told of the calls that run, and of no other (CAN-01, CAN-03, CAN-04), before its
// input ends; the calls fail as ones that may have run.
func TestCloseWhileCallsRun(t *testing.T) {
	run := func(t *testing.T, s *client.Session, log func() ushertest.Log) {
		const n = 5
		must(s.Call(t.Context(), "echo", nil, client.CallOptions{}))
		var started sync.WaitGroup
		started.Add(n)
		errs := make(chan error, n)
		for range n {
			var once sync.Once
			go func() {
				_, err := s.Call(t.Context(), "slow", json.RawMessage(`{"ms":60000,"steps":6000}`), client.CallOptions{
					OnProgress: func(client.Progress) { once.Do(started.Done) },
				})
				errs <- err
			}()
		}
		started.Wait()
		closeSession(t, s)
		for range n {
			wantError(t, <-errs, client.PhaseCall, client.CodeUnknown)
		}
		var running, cancelled []string
		for _, r := range log().Received("tools/call")[1:] {
			running = append(running, string(r.ID))
		}
		for _, r := range log().Received("notifications/cancelled") {
			id, err := json.Marshal(r.Params()["requestId"])
			if err != nil {
				t.Fatal(err)
			}
			cancelled = append(cancelled, string(id))
		}
		slices.Sort(running)
		slices.Sort(cancelled)
		// The modern session also ends its subscription, if it has one by then.
		cancelled = slices.DeleteFunc(cancelled, func(id string) bool {
			return slices.ContainsFunc(log().Received("subscriptions/listen"), func(r ushertest.Record) bool { return string(r.ID) == id })
		})
		if !slices.Equal(running, cancelled) {
			t.Errorf("running %v, cancelled %v", running, cancelled)
		}
	}
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{}, "--answer-cancelled")
		run(t, s, log)
	})
	t.Run("http", func(t *testing.T) {
		h := ushertest.NewHTTP(t)
		s := dial(t, h.Server(), client.Options{})
		run(t, s, func() ushertest.Log { return h.Log(t) })
	})
}

// TestCloseOfAServerThatDoesNotRead is bounded, although nothing can be written any more.
func TestCloseOfAServerThatDoesNotRead(t *testing.T) {
	stuck := make(chan struct{})
	s := openEra(t, client.Legacy, func(p *scripted) {
		p.expect("tools/call")
		close(stuck)
		<-p.closed
		_, _ = io.Copy(io.Discard, p.reader)
	})
	for range 20 {
		go func() { _, _ = s.Call(t.Context(), "t", nil, client.CallOptions{}) }()
	}
	<-stuck
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("Close: %v, %v", err, ctx.Err())
	}
}
