package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/daemon"
	"github.com/usher-mcp/usher/ushertest"
)

func kinds(log []api.Event) string {
	var all []string
	for _, e := range log {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

// One call of a real server: the log, a stream that was there before, one that came in the middle and one that comes
// back later all tell the same events.
func TestEveryReaderSeesTheSameEvents(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx")}})
	id := f.create()
	early, twin := f.follow(id, "", ""), f.follow(id, "?after=0", "")
	call := f.call(id, "echo", `{"message":"12345678901234567890"}`)
	first := early.until(api.EventCallFinished)
	if diff := cmp.Diff(first, twin.until(api.EventCallFinished)); diff != "" {
		t.Errorf("two streams differ:\n%s", diff)
	}
	if diff := cmp.Diff(first, f.log(id)); diff != "" {
		t.Errorf("stream and log differ:\n%s", diff)
	}
	if got, want := kinds(first), "session.created call.requested session.renamed call.started call.finished"; got != want {
		t.Errorf("the log is %s, want %s", got, want)
	}
	end := data[api.CallFinished](t, first[4])
	if end.CallID != call || end.Outcome != api.OutcomeResult || end.Display == nil || end.Display.FallbackText != "12345678901234567890" || end.Era == "" {
		t.Errorf("call.finished = %+v", end)
	}
	for _, test := range []struct{ query, lastID string }{{"?after=2", ""}, {"", "2"}, {"?after=1", "2"}, {"?after=2", "1"}} {
		if diff := cmp.Diff(first[2:], f.follow(id, test.query, test.lastID).until(api.EventCallFinished)); diff != "" {
			t.Errorf("%q with Last-Event-ID %q:\n%s", test.query, test.lastID, diff)
		}
	}
	// Readers that were there before see what comes later, too.
	f.call(id, "fail", `{}`)
	second := early.until(api.EventCallFinished)
	if diff := cmp.Diff(second, twin.until(api.EventCallFinished)); diff != "" {
		t.Errorf("two streams differ:\n%s", diff)
	}
	if end := data[api.CallFinished](t, second[len(second)-1]); end.Outcome != api.OutcomeToolError {
		t.Errorf("outcome of fail = %s", end.Outcome)
	}
}

func TestPagesOfTheLog(t *testing.T) {
	f := start(t, setup{})
	id := f.create()
	for i := range 5 {
		do[api.Accepted](f, 202, "POST", "/v1/sessions/"+id+"/messages", api.MessageRequest{Text: fmt.Sprint(i)})
	}
	whole := f.log(id)
	var pieces []api.Event
	for more := true; more; {
		page := do[api.EventList](f, 200, "GET", fmt.Sprintf("/v1/sessions/%s/events?until=now&limit=3&after=%d", id, len(pieces)), nil)
		if len(page.Events) == 0 || len(page.Events) > 3 {
			t.Fatalf("a page has %d events", len(page.Events))
		}
		pieces, more = append(pieces, page.Events...), page.More
	}
	if diff := cmp.Diff(whole, pieces); diff != "" {
		t.Errorf("(-whole +pieces):\n%s", diff)
	}
	if beyond := do[api.EventList](f, 200, "GET", "/v1/sessions/"+id+"/events?until=now&after=999", nil); len(beyond.Events) != 0 || beyond.More {
		t.Errorf("beyond the end: %+v", beyond)
	}
}

func TestAStreamThatCannotGoOnSaysSo(t *testing.T) {
	f := start(t, setup{})
	id := f.create()
	s := f.follow(id, "", "999")
	s.until("resync")
	if _, err := s.reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after resync: %v", err)
	}
}

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	f := start(t, setup{daemon: daemon.Options{Heartbeat: 10 * time.Millisecond}})
	s := f.follow(f.create(), "", "")
	lines := bufio.NewReader(s.response.Body)
	for pings := 0; pings < 3; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ": ping\n" {
			pings++
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	f := start(t, setup{daemon: daemon.Options{MaxStreams: 2}})
	id := f.create()
	first := f.follow(id, "", "")
	f.follow(id, "", "")
	if a := f.send(f.request("GET", "/v1/sessions/"+id+"/events", nil)); a.StatusCode != 429 {
		t.Errorf("a third stream: %s", a.Status)
	}
	if got := do[api.Status](f, 200, "GET", "/v1/status", nil).EventClients; got != 2 {
		t.Errorf("eventClients = %d", got)
	}
	first.close()
	eventually(t, "a stream's place is free again", func() bool {
		return do[api.Status](f, 200, "GET", "/v1/status", nil).EventClients == 1
	})
	f.follow(id, "", "")
}

// eventually looks again and again, for what nothing announces.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !reached() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestADeletedSessionEndsItsStreams(t *testing.T) {
	f := start(t, setup{})
	id := f.create()
	s := f.follow(id, "", "")
	s.until(api.EventSessionCreated)
	do[none](f, 204, "DELETE", "/v1/sessions/"+id, nil)
	if m, err := s.reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the deletion: %+v, %v", m, err)
	}
	if a := f.send(f.request("GET", "/v1/sessions/"+id+"/events", nil)); a.StatusCode != 404 {
		t.Errorf("its events: %s", a.Status)
	}
}

// What happens to servers is hinted at on every stream, without an id.
func TestHostEventsAreHints(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx")}})
	ready(t, f, "fx")
	s := f.follow(f.create(), "", "")
	s.until(api.EventSessionCreated)
	do[api.Server](f, 200, "POST", "/v1/servers/fx/disable", nil)
	for {
		m, err := s.reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Type != api.EventServerChanged {
			continue
		}
		if m.ID != "1" { // the last id of the log stands: a client that comes back misses nothing
			t.Errorf("a hint has moved the id to %s", m.ID)
		}
		if strings.Contains(string(m.Data), `"state":"disabled"`) {
			break
		}
	}
}

// Cancelling reaches the server, whose log is the oracle.
func TestCancelReachesTheServer(t *testing.T) {
	server := fx(t, "fx", "--delay", "tools/call=1h", "--progress", "10ms")
	f := start(t, setup{servers: []config.Server{server}})
	id := f.create()
	s := f.follow(id, "", "")
	call := f.call(id, "echo", `{"message":"x"}`)
	s.until(api.EventCallProgressed)
	if got := do[api.Status](f, 200, "GET", "/v1/status", nil).CallsRunning; got != 1 {
		t.Errorf("callsRunning = %d", got)
	}
	do[none](f, 204, "POST", "/v1/sessions/"+id+"/cancel", api.CancelRequest{CallID: call})
	log := s.until(api.EventCallFinished)
	if end := data[api.CallFinished](t, log[len(log)-1]); end.Outcome != api.OutcomeCancelled || end.CallID != call {
		t.Errorf("call.finished = %+v", end)
	}
	eventually(t, "the server is told", func() bool {
		return len(ushertest.ReadLog(t, server).Received("notifications/cancelled")) == 1
	})
	a := f.send(f.request("POST", "/v1/sessions/"+id+"/cancel", api.CancelRequest{CallID: call}))
	if a.StatusCode != 409 || a.problem().Code != "not_running" {
		t.Errorf("cancelling it again: %s %s", a.Status, a.body)
	}
}

func TestCallsOfASessionAreBounded(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx", "--delay", "tools/call=1h")}, calls: 2})
	id := f.create()
	f.call(id, "echo", `{"message":"x"}`)
	f.call(id, "echo", `{"message":"x"}`)
	a := f.send(f.request("POST", "/v1/sessions/"+id+"/calls", api.CallRequest{Server: "fx", Tool: "echo"}))
	if a.StatusCode != 429 || a.problem().Code != "busy" || a.problem().Hint == "" {
		t.Errorf("a third call: %s %s", a.Status, a.body)
	}
	do[none](f, 204, "POST", "/v1/sessions/"+id+"/cancel", api.CancelRequest{})
}

// Many streams of one session, of which some never read: all that read see everything.
func TestSlowReadersSlowNobody(t *testing.T) {
	const readers, messages = 60, 20
	f := start(t, setup{})
	id := f.create()
	for range 10 {
		f.follow(id, "", "") // reads nothing
	}
	var wg sync.WaitGroup
	logs := make([][]api.Event, readers)
	for i := range readers {
		s := f.follow(id, "", "")
		wg.Go(func() {
			for len(logs[i]) < 2*messages+2 { // and the session's beginning and its title
				logs[i] = append(logs[i], s.until(api.EventNotice)...)
			}
		})
	}
	for i := range messages {
		do[api.Accepted](f, 202, "POST", "/v1/sessions/"+id+"/messages", api.MessageRequest{Text: "message " + strconv.Itoa(i)})
	}
	wg.Wait()
	whole := f.log(id)
	for i, log := range logs {
		if !slices.EqualFunc(log, whole, func(a, b api.Event) bool { return a.ID == b.ID && a.Type == b.Type && string(a.Data) == string(b.Data) }) {
			t.Errorf("reader %d has seen %d events, the log has %d", i, len(log), len(whole))
		}
	}
}

// The end of the daemon: streams end, calls are recorded, and all of it soon.
func TestStoppingEndsStreamsAndRecordsCalls(t *testing.T) {
	server := fx(t, "fx", "--delay", "tools/call=1h")
	f := start(t, setup{servers: []config.Server{server}})
	id := f.create()
	s := f.follow(id, "", "")
	call := f.call(id, "echo", `{"message":"x"}`)
	s.until(api.EventCallStarted)
	f.stop()
	for {
		_, err := s.reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the stream ended with %v", err)
		}
	}
	g := start(t, setup{dir: f.dir})
	log := g.log(id)
	if end := data[api.CallFinished](t, log[len(log)-1]); end.CallID != call || end.Outcome != api.OutcomeCancelled || end.Error.Message != "Usher was stopped." {
		t.Errorf("call.finished = %+v %+v", end, end.Error)
	}
}
