package usher_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// patience bounds every wait of a test; it is reached only when the test has failed already.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	ushertest.Main()
	goleak.VerifyTestMain(m)
}

// open starts a host that is closed, and must have nothing left, when the test ends.
func open(t *testing.T, o usher.Options) *usher.Host {
	t.Helper()
	h, err := usher.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// fx is a configured fx server under another name.
func fx(t *testing.T, name string, flags ...string) config.Server {
	t.Helper()
	s := ushertest.Command(t, flags...)
	s.Name = name
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a state of the host, looking again at each of its events.
func until(t *testing.T, h *usher.Host, what string, reached func() bool) {
	t.Helper()
	ctx := within(t)
	events := h.Events(ctx)
	if reached() {
		return
	}
	for range events {
		if reached() {
			return
		}
	}
	t.Fatalf("never came true: %s; servers: %+v", what, h.Servers())
}

func state(h *usher.Host, name string) usher.State {
	s, _ := h.Server(name)
	return s.State
}
