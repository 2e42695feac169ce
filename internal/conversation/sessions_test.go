package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
)

func TestTitles(t *testing.T) {
	f := open(t, text("x"), conversation.Options{})
	for said, want := range map[string]string{
		"Hello there":            "Hello there",
		"  two\n lines\tand\x00": "two lines and",
		"What is the weather going to be like in the mountains tomorrow, and should I go?": "What is the weather going to be like in the mountains…",
		strings.Repeat("x", 100):   strings.Repeat("x", 60) + "…",
		strings.Repeat("日本", 1000): strings.Repeat("日本", 30) + "…",
	} {
		id := f.create()
		if _, err := f.Message(t.Context(), id, said); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Session(t.Context(), id); err != nil || got.Title != want {
			t.Errorf("title = %q, %v; want %q", got.Title, err, want)
		}
	}
	id := f.create()
	if err := f.Rename(t.Context(), id, "Mine"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Message(t.Context(), id, "something else"); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Session(t.Context(), id); got.Title != "Mine" {
		t.Errorf("a given title became %q", got.Title)
	}
	for _, title := range []string{"", "  \n", strings.Repeat("x", 201)} {
		var invalid *conversation.InvalidError
		if err := f.Rename(t.Context(), id, title); !errors.As(err, &invalid) {
			t.Errorf("Rename(%.10q) = %v", title, err)
		}
	}
}

func TestAMessageWithoutAModelIsKeptAndAnswered(t *testing.T) {
	f := open(t, text("x"), conversation.Options{})
	id := f.create()
	event, err := f.Message(t.Context(), id, "Hello\nthere")
	if err != nil {
		t.Fatal(err)
	}
	log := f.until(id, func(e conversation.Event) bool { return e.Type == api.EventNotice })
	if got := data[api.MessageReceived](t, log[event-1]).Text; got != "Hello\nthere" {
		t.Errorf("the message is %q", got)
	}
	if got := data[api.NoticeRaised](t, log[len(log)-1]); !strings.Contains(got.Text, "No model is configured") {
		t.Errorf("notice = %+v", got)
	}
	for _, text := range []string{"", " \n", strings.Repeat("x", conversation.MaxMessage+1), "\xff"} {
		var invalid *conversation.InvalidError
		if _, err := f.Message(t.Context(), id, text); !errors.As(err, &invalid) {
			t.Errorf("Message(%.10q) = %v", text, err)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	f := open(t, text("x"), conversation.Options{MaxSessions: 2})
	f.create()
	f.create()
	if _, err := f.Create(t.Context(), ""); !errors.Is(err, conversation.ErrBusy) {
		t.Errorf("a third session: %v", err)
	}
}

// Every watcher sees each event once and in order, whether it reads at once or much later.
func TestWatchersMissNothing(t *testing.T) {
	const messages = 150
	f := open(t, text("x"), conversation.Options{})
	id := f.create()
	last := func(e conversation.Event) bool {
		return strings.Contains(string(e.Data), fmt.Sprintf(`"message %d"`, messages-1))
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { f.until(id, last) }) // it checks the ids
	}
	for i := range messages {
		if _, err := f.Message(t.Context(), id, fmt.Sprintf("message %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	f.until(id, last)
}

// A watcher that never reads makes nobody wait.
func TestASleepingWatcherSlowsNobody(t *testing.T) {
	f := open(t, text("x"), conversation.Options{})
	id := f.create()
	asleep := f.Watch(id)
	defer asleep.Close()
	for i := range 100 {
		if _, err := f.Message(t.Context(), id, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	<-asleep.More()
	select {
	case <-asleep.More():
		t.Error("more than one hint was kept")
	default:
	}
}

func TestDeleteEndsWhatRuns(t *testing.T) {
	h, calls := held()
	f := open(t, h, conversation.Options{})
	id := f.create()
	f.begin(id, "t", "")
	<-calls
	w := f.Watch(id)
	defer w.Close()
	if err := f.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Gone():
	case <-time.After(20 * time.Second):
		t.Fatal("a watcher was not told")
	}
	if f.Running() != 0 {
		t.Errorf("%d calls are running", f.Running())
	}
	for name, err := range map[string]error{
		"Events":  second(f.Events(t.Context(), id, 0, 0)),
		"Message": second(f.Message(t.Context(), id, "x")),
		"Call":    second(f.Call(t.Context(), id, conversation.Direct{Server: "s", Tool: "t"})),
		"Cancel":  f.Cancel(t.Context(), id, ""),
		"Rename":  f.Rename(t.Context(), id, "x"),
		"Compact": second(f.Compact(t.Context(), id)),
		"Delete":  f.Delete(t.Context(), id),
	} {
		if !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("%s of a deleted session: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// V6: a compacted app keeps its type and its text and has no HTML, for everyone who reads the log from then on.
func TestCompactionKeepsTheTextOfApps(t *testing.T) {
	h := &host{call: func(_ context.Context, c usher.Call) (*usher.Result, error) {
		r := result("text of " + c.Tool)
		if c.Tool == "app" {
			r.Display = usher.Display{
				Type: usher.DisplayApp, FallbackText: "text of app", HTML: "<html>" + strings.Repeat("x", 1000), ResourceURI: "ui://x",
				Server: "s", Tool: "app",
			}
		}
		return r, nil
	}}
	f := open(t, h, conversation.Options{})
	id := f.create()
	w := f.Watch(id) // so that events are in memory too
	defer w.Close()
	first := f.begin(id, "app", `{"n":12345678901234567890}`)
	f.finished(id, first)
	plain := f.begin(id, "plain", "")
	f.finished(id, plain)
	second := f.begin(id, "app", "")
	_, before := f.finished(id, second)

	if n, err := f.Compact(t.Context(), id); n != 2 || err != nil {
		t.Fatalf("Compact = %d, %v", n, err)
	}
	log := f.until(id, func(e conversation.Event) bool { return e.Type == api.EventSessionCompacted })
	if len(log) != len(before)+1 {
		t.Errorf("the log has %d events, had %d", len(log), len(before))
	}
	apps := 0
	for i, e := range before {
		now := log[i]
		if now.ID != e.ID || now.Type != e.Type || !now.Time.Equal(e.Time) {
			t.Errorf("event %d has become %d %s", e.ID, now.ID, now.Type)
		}
		if e.Type != api.EventCallFinished || data[api.CallFinished](t, e).Display.Type != usher.DisplayApp {
			if string(e.Data) != string(now.Data) {
				t.Errorf("event %d %s has changed", e.ID, e.Type)
			}
			continue
		}
		apps++
		was, is := data[api.CallFinished](t, e), data[api.CallFinished](t, now)
		if is.Display.HTML != "" || is.Display.Type != "mcp_app" || is.Display.FallbackText != "text of app" {
			t.Errorf("display = %+v", is.Display)
		}
		if !json.Valid(is.Result) || string(is.Result) != string(was.Result) || is.Outcome != was.Outcome {
			t.Errorf("the result has changed: %s", is.Result)
		}
	}
	if got := data[api.SessionCompacted](t, log[len(log)-1]); apps != 2 || got.Displays != 2 || got.Through != before[len(before)-1].ID {
		t.Errorf("session.compacted = %+v, %d apps", got, apps)
	}
	if n, err := f.Compact(t.Context(), id); n != 0 || err != nil {
		t.Errorf("a second Compact = %d, %v", n, err)
	}
	if s, _ := f.Session(t.Context(), id); s.LastEventID != int64(len(log)) {
		t.Errorf("the second compaction added an event")
	}
}

func TestArchive(t *testing.T) {
	f := open(t, text("x"), conversation.Options{})
	id := f.create()
	if err := f.Archive(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	list, err := f.List(t.Context(), conversation.Page{Limit: 10})
	if err != nil || len(list) != 0 {
		t.Errorf("list = %v, %v", list, err)
	}
	log := f.until(id, func(e conversation.Event) bool { return e.Type == api.EventSessionArchived })
	if !data[api.SessionArchived](t, log[1]).Archived || log[1].Time.IsZero() || time.Since(log[1].Time) > time.Minute {
		t.Errorf("event = %s at %v", log[1].Data, log[1].Time)
	}
}
