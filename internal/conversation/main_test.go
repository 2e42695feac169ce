package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/ushertest"
)

func TestMain(m *testing.M) {
	ushertest.Main()
	goleak.VerifyTestMain(m)
}

// host does what a test tells it to.
type host struct {
	call    func(context.Context, usher.Call) (*usher.Result, error)
	catalog usher.Catalog
}

func (h *host) Catalog() *usher.Catalog { return &h.catalog }
func (h *host) Call(ctx context.Context, c usher.Call) (*usher.Result, error) {
	return h.call(ctx, c)
}

// text is a host whose tools answer with a text.
func text(answer string) *host {
	return &host{call: func(context.Context, usher.Call) (*usher.Result, error) { return result(answer), nil }}
}

func result(answer string) *usher.Result {
	raw, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": answer}}})
	return &usher.Result{
		Era: client.Modern, ProtocolVersion: "2026-07-28", Duration: 3 * time.Millisecond, Result: &client.Result{Raw: raw},
		Display: usher.Display{Type: usher.DisplayText, FallbackText: answer},
	}
}

// held is a host whose calls wait until they are cancelled. Each is announced on the channel.
func held() (*host, chan usher.Call) {
	calls := make(chan usher.Call, 100)
	return &host{call: func(ctx context.Context, c usher.Call) (*usher.Result, error) {
		calls <- c
		<-ctx.Done()
		return nil, &client.Error{Server: c.Server, Phase: client.PhaseCall, Code: client.CodeCancelled, Message: "gone", Err: ctx.Err()}
	}}, calls
}

type fixture struct {
	*conversation.Sessions
	t     *testing.T
	store conversation.Store
}

func open(t *testing.T, h conversation.Host, o conversation.Options) fixture {
	t.Helper()
	store, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Store, o.Host = store, h
	s, err := conversation.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return fixture{s, t, store}
}

func (f fixture) create() string {
	f.t.Helper()
	s, err := f.Create(f.t.Context(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	return s.ID
}

func (f fixture) begin(session, tool, args string) string {
	f.t.Helper()
	accepted, err := f.Call(f.t.Context(), session, conversation.Direct{Server: "s", Tool: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		f.t.Fatal(err)
	}
	return accepted.CallID
}

// until reads a session's log until done, from its beginning, and returns all of it.
func (f fixture) until(session string, done func(conversation.Event) bool) []conversation.Event {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 60*time.Second)
	defer cancel()
	w := f.Watch(session)
	defer w.Close()
	var log []conversation.Event
	for {
		after := int64(len(log))
		events, err := f.Events(ctx, session, after, 7)
		if err != nil {
			f.t.Fatal(err)
		}
		for i, e := range events {
			if e.ID != after+int64(i)+1 {
				f.t.Fatalf("event %d follows event %d", e.ID, after+int64(i))
			}
			log = append(log, e)
			if done(e) {
				return log
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-w.More():
		case <-ctx.Done():
			f.t.Fatalf("the log stands at:\n%s", dump(log))
		}
	}
}

// finished reads until the call has ended.
func (f fixture) finished(session, call string) (api.CallFinished, []conversation.Event) {
	f.t.Helper()
	var end api.CallFinished
	log := f.until(session, func(e conversation.Event) bool {
		if e.Type != api.EventCallFinished {
			return false
		}
		end = data[api.CallFinished](f.t, e)
		return end.CallID == call
	})
	return end, log
}

func data[T any](t *testing.T, e conversation.Event) (v T) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &v); err != nil {
		t.Fatalf("%s: %v", e.Type, err)
	}
	return v
}

func dump(log []conversation.Event) string {
	var b strings.Builder
	for _, e := range log {
		fmt.Fprintf(&b, "%d %s %.200s\n", e.ID, e.Type, e.Data)
	}
	return b.String()
}

func kinds(log []conversation.Event) string {
	var all []string
	for _, e := range log {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}
