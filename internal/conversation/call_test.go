package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

func TestACallIsToldFromItsRequestToItsResult(t *testing.T) {
	seen := make(chan usher.Call, 1)
	h := &host{
		catalog: usher.Catalog{Tools: []usher.Tool{{Server: "s", Tool: client.Tool{Name: "t", Title: "The Tool"}}}},
		call: func(_ context.Context, c usher.Call) (*usher.Result, error) {
			seen <- c
			c.OnProgress(client.Progress{Progress: 1, Message: "half"})
			r := result("<b>done</b>")
			r.Raw = json.RawMessage(`{"content":[],"structuredContent":{"z":12345678901234567890,"a":"<&>"}}`)
			r.Warnings = []string{"a warning"}
			r.Display = usher.Display{
				Type: usher.DisplayApp, FallbackText: "fallback", Server: "s", Tool: "t", ResourceURI: "ui://x", HTML: "<html>",
				CSP: &apps.CSP{ConnectDomains: []string{"https://a.example"}}, ToolInput: c.Arguments, ToolResult: r.Raw,
			}
			return r, nil
		},
	}
	f := open(t, h, conversation.Options{})
	id := f.create()
	call := f.begin(id, "t", `{"n":12345678901234567890,"b":1}`)
	end, log := f.finished(id, call)

	if c := <-seen; c.Server != "s" || c.Tool != "t" || string(c.Arguments) != `{"n":12345678901234567890,"b":1}` || c.Owner != id {
		t.Errorf("the host was asked for %+v", c)
	}
	want := "session.created call.requested session.renamed call.started call.progressed call.finished"
	if got := kinds(log); got != want {
		t.Errorf("the log is\n%s\nwant %s", got, want)
	}
	requested := data[api.CallRequested](t, log[1])
	if diff := cmp.Diff(api.CallRequested{
		CallID: call, Server: "s", Tool: "t", Title: "The Tool", Arguments: json.RawMessage(`{"n":12345678901234567890,"b":1}`), By: "person",
	}, requested); diff != "" {
		t.Errorf("call.requested (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(api.CallFinished{
		CallID: call, Outcome: api.OutcomeResult, Era: "modern", ProtocolVersion: "2026-07-28", DurationMs: 3, Warnings: []string{"a warning"},
		Result: json.RawMessage(`{"content":[],"structuredContent":{"z":12345678901234567890,"a":"<&>"}}`),
		Display: &api.Display{
			Type: "mcp_app", FallbackText: "fallback", Server: "s", Tool: "t", ResourceURI: "ui://x", HTML: "<html>",
			CSP: json.RawMessage(`{"connectDomains":["https://a.example"]}`),
		},
	}, end); diff != "" {
		t.Errorf("call.finished (-want +got):\n%s", diff)
	}
	if strings.Contains(string(log[5].Data), `\u003c`) {
		t.Error("HTML is escaped in the log")
	}
	if work, err := f.store.Open(t.Context()); err != nil || len(work) != 0 {
		t.Errorf("open work is left: %v, %v", work, err)
	}
}

func TestOutcomesStayApart(t *testing.T) {
	failure := func(code client.Code) error {
		return &client.Error{Server: "s", Phase: client.PhaseCall, Code: code, Message: "why", Hint: "do this", Stderr: "last words"}
	}
	for name, test := range map[string]struct {
		isError bool
		err     error
		want    string
		code    string
	}{
		"a result":                {false, nil, api.OutcomeResult, ""},
		"the tool's failure":      {true, nil, api.OutcomeToolError, ""},
		"a server that is gone":   {false, failure(client.CodeUnavailable), api.OutcomeError, "server_unavailable"},
		"a clock ran out":         {false, failure(client.CodeTimeout), api.OutcomeError, "timeout"},
		"lost before the answer":  {false, failure(client.CodeUnknown), api.OutcomeUnknown, "outcome_unknown"},
		"the server cancelled it": {false, failure(client.CodeCancelled), api.OutcomeCancelled, "cancelled"},
		"a fault inside":          {false, errors.New("secret detail"), api.OutcomeError, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, &host{call: func(context.Context, usher.Call) (*usher.Result, error) {
				if test.err != nil {
					return nil, fmt.Errorf("wrapped: %w", test.err)
				}
				r := result("x")
				r.IsError = test.isError
				return r, nil
			}}, conversation.Options{})
			id := f.create()
			end, log := f.finished(id, f.begin(id, "t", ""))
			if end.Outcome != test.want {
				t.Errorf("outcome %s, want %s", end.Outcome, test.want)
			}
			switch {
			case test.code == "":
				if end.Error != nil || end.Result == nil {
					t.Errorf("call.finished = %+v", end)
				}
			case end.Error == nil || end.Error.Code != test.code || end.Result != nil:
				t.Errorf("error = %+v, want %s", end.Error, test.code)
			case test.code != "internal" && (end.Error.Message != "why" || end.Error.Hint != "do this" || end.Error.Stderr != "last words"):
				t.Errorf("error = %+v", end.Error)
			}
			if strings.Contains(dump(log), "secret detail") {
				t.Error("the text of an unforeseen error is in the log")
			}
		})
	}
}

// The request that began a call may end, as with a browser that is closed: the call goes on.
func TestACallOutlivesItsRequest(t *testing.T) {
	release := make(chan struct{})
	f := open(t, &host{call: func(ctx context.Context, _ usher.Call) (*usher.Result, error) {
		<-release
		return result("done"), ctx.Err()
	}}, conversation.Options{})
	id := f.create()
	request, leave := context.WithCancel(t.Context())
	accepted, err := f.Call(request, id, conversation.Direct{Server: "s", Tool: "t"})
	if err != nil {
		t.Fatal(err)
	}
	leave()
	close(release)
	if end, _ := f.finished(id, accepted.CallID); end.Outcome != api.OutcomeResult {
		t.Errorf("outcome = %s", end.Outcome)
	}
}

func TestCancelReachesTheOneCall(t *testing.T) {
	h, calls := held()
	f := open(t, h, conversation.Options{})
	id, other := f.create(), f.create()
	first, second := f.begin(id, "a", ""), f.begin(id, "b", "")
	third := f.begin(other, "c", "")
	for range 3 {
		<-calls
	}
	if err := f.Cancel(t.Context(), other, first); !errors.Is(err, conversation.ErrNotRunning) {
		t.Errorf("cancelling another session's call: %v", err)
	}
	if err := f.Cancel(t.Context(), id, first); err != nil {
		t.Fatal(err)
	}
	end, _ := f.finished(id, first)
	if end.Outcome != api.OutcomeCancelled || end.Error == nil || end.Error.Message != "It was cancelled." {
		t.Errorf("call.finished = %+v, %+v", end, end.Error)
	}
	if f.Running() != 2 {
		t.Errorf("%d calls are running, want the two others", f.Running())
	}
	if err := f.Cancel(t.Context(), id, first); !errors.Is(err, conversation.ErrNotRunning) {
		t.Errorf("cancelling it again: %v", err)
	}
	if err := f.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.finished(id, second)
	if err := f.Cancel(t.Context(), other, ""); err != nil {
		t.Fatal(err)
	}
	f.finished(other, third)
}

func TestCallsAreBounded(t *testing.T) {
	h, calls := held()
	f := open(t, h, conversation.Options{CallsPerSession: 2, Calls: 3})
	a, b := f.create(), f.create()
	first := f.begin(a, "t", "")
	f.begin(a, "t", "")
	try := func(session string) error {
		_, err := f.Call(t.Context(), session, conversation.Direct{Server: "s", Tool: "t"})
		return err
	}
	if err := try(a); !errors.Is(err, conversation.ErrBusy) || !strings.Contains(err.Error(), "in this session") {
		t.Errorf("a third call of a session: %v", err)
	}
	f.begin(b, "t", "")
	if err := try(b); !errors.Is(err, conversation.ErrBusy) {
		t.Errorf("a fourth call: %v", err)
	}
	for range 3 {
		<-calls
	}
	if err := f.Cancel(t.Context(), a, first); err != nil {
		t.Fatal(err)
	}
	f.finished(a, first)
	for f.Running() > 2 { // its place is free a moment after its end is told
		time.Sleep(time.Millisecond)
	}
	f.begin(b, "t", "")
	if err := try("s_nothing"); !errors.Is(err, conversation.ErrNotFound) && !errors.Is(err, conversation.ErrBusy) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestUnusableCallsAreRefused(t *testing.T) {
	f := open(t, text("x"), conversation.Options{})
	id := f.create()
	for name, d := range map[string]conversation.Direct{
		"server":    {Tool: "t"},
		"tool":      {Server: "s"},
		"arguments": {Server: "s", Tool: "t", Arguments: json.RawMessage(`[1]`)},
	} {
		_, err := f.Call(t.Context(), id, d)
		var invalid *conversation.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Call(t.Context(), "s_nothing", conversation.Direct{Server: "s", Tool: "t"}); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("no such session: %v", err)
	}
	if f.Running() != 0 {
		t.Errorf("%d calls hold a place", f.Running())
	}
	if got := kinds(f.until(id, func(conversation.Event) bool { return true })); got != api.EventSessionCreated {
		t.Errorf("the log is %s", got)
	}
}

// However fast a server reports, at most ten reports a second are kept, the newest always, and none after the end.
func TestProgressIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		h := &host{call: func(_ context.Context, c usher.Call) (*usher.Result, error) {
			for i := range 3000 { // three seconds
				c.OnProgress(client.Progress{Progress: float64(i)})
				time.Sleep(time.Millisecond)
			}
			c.OnProgress(client.Progress{Progress: 3000, Message: "the last"})
			return result("done"), nil
		}}
		s, err := conversation.Open(t.Context(), conversation.Options{Store: store, Host: h})
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Call(t.Context(), made.ID, conversation.Direct{Server: "s", Tool: "t"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		log, err := s.Events(t.Context(), made.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var reports []float64
		for _, e := range log {
			if e.Type == api.EventCallProgressed {
				reports = append(reports, data[api.CallProgressed](t, e).Progress)
			}
		}
		if len(reports) < 25 || len(reports) > 32 {
			t.Errorf("%d of 3001 reports in three seconds were kept", len(reports))
		}
		for i := 1; i < len(reports); i++ {
			if reports[i] <= reports[i-1] {
				t.Errorf("report %v follows %v", reports[i], reports[i-1])
			}
		}
		if reports[len(reports)-1] != 3000 || log[len(log)-1].Type != api.EventCallFinished {
			t.Errorf("the log ends with %v, then %s", reports[len(reports)-1], log[len(log)-1].Type)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAResultBeyondTheBoundKeepsItsBeginning(t *testing.T) {
	f := open(t, text("é"+strings.Repeat("0123456789", 2_000_000)), conversation.Options{})
	id := f.create()
	end, log := f.finished(id, f.begin(id, "t", ""))
	if size := len(log[len(log)-1].Data); size > 300<<10 {
		t.Errorf("the event has %d bytes", size)
	}
	var kept struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(end.Result, &kept); err != nil || len(kept.Content) != 1 || !strings.HasPrefix(kept.Content[0].Text, "é0123") {
		t.Errorf("result = %.100s, %v", end.Result, err)
	}
	if len(end.Warnings) != 1 || !strings.Contains(end.Warnings[0], "bytes") || end.Outcome != api.OutcomeResult {
		t.Errorf("outcome %s, warnings %q", end.Outcome, end.Warnings)
	}
}

// What ran when the process ended is settled by the next one, once.
func TestCallsOfADeadProcessAreSettled(t *testing.T) {
	store, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	left := conversation.Entry{Time: time.Now(), Type: api.EventCallRequested, Data: json.RawMessage(`{"callId":"c_1"}`), Opens: "c_1"}
	if _, err := store.Create(t.Context(), conversation.Session{ID: "s_1"}, left); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := conversation.Open(t.Context(), conversation.Options{Store: store, Host: text("x")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	log, err := store.Events(t.Context(), "s_1", 0, 10, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(log); got != "call.requested call.finished" {
		t.Fatalf("the log is %s", got)
	}
	end := data[api.CallFinished](t, log[1])
	if end.CallID != "c_1" || end.Outcome != api.OutcomeUnknown || end.Error == nil || end.Error.Message == "" || end.Error.Hint == "" {
		t.Errorf("call.finished = %+v, %+v", end, end.Error)
	}
}

func TestCloseEndsAndRecordsWhatRuns(t *testing.T) {
	h, calls := held()
	f := open(t, h, conversation.Options{})
	id := f.create()
	call := f.begin(id, "t", "")
	<-calls
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	end, _ := f.finished(id, call)
	if end.Outcome != api.OutcomeCancelled || end.Error.Message != "Usher was stopped." {
		t.Errorf("call.finished = %+v, %+v", end, end.Error)
	}
	if _, err := f.Call(t.Context(), id, conversation.Direct{Server: "s", Tool: "t"}); !errors.Is(err, conversation.ErrClosing) {
		t.Errorf("a call after Close: %v", err)
	}
}

// A host that does not let go costs Close its time and no more; the call is settled by the next start.
func TestCloseIsBounded(t *testing.T) {
	release := make(chan struct{})
	f := open(t, &host{call: func(context.Context, usher.Call) (*usher.Result, error) {
		<-release
		return result("late"), nil
	}}, conversation.Options{})
	id := f.create()
	f.begin(id, "t", "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close = %v", err)
	}
	if work, err := f.store.Open(t.Context()); err != nil || len(work) != 1 {
		t.Errorf("open work = %v, %v", work, err)
	}
	close(release)
}
