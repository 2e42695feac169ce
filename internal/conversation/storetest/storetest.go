// Package storetest is what every implementation of conversation.Store must pass.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/conversation"
)

// Run tests the stores that open makes. Each call of open gives a new, empty store.
func Run(t *testing.T, open func(t *testing.T) conversation.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, conversation.Store){
		"IDs have no gaps":                   idsHaveNoGaps,
		"concurrent appends have no gaps":    concurrentAppends,
		"an append is whole or nothing":      appendIsWhole,
		"what is appended changes a session": appendChangesSession,
		"pages of events":                    pagesOfEvents,
		"pages of sessions":                  pagesOfSessions,
		"open work":                          openWork,
		"work is closed once":                closedOnce,
		"data is kept as it is":              dataIsKept,
		"replace":                            replace,
		"outputs":                            outputs,
		"delete":                             deleteSession,
		"what is not there":                  notThere,
		"a cancelled context":                cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

var start = time.Date(2026, 12, 1, 10, 0, 0, int(7*time.Millisecond), time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func entry(seconds int, kind, data string) conversation.Entry {
	return conversation.Entry{Time: at(seconds), Type: kind, Data: json.RawMessage(data)}
}

func create(t *testing.T, s conversation.Store, id string, entries ...conversation.Entry) []conversation.Event {
	t.Helper()
	if len(entries) == 0 {
		entries = []conversation.Entry{entry(0, "session.created", `{"title":""}`)}
	}
	events, err := s.Create(t.Context(), conversation.Session{ID: id, CreatedAt: at(0)}, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func mustAppend(t *testing.T, s conversation.Store, id string, entries ...conversation.Entry) []conversation.Event {
	t.Helper()
	events, err := s.Append(t.Context(), id, conversation.Change{}, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func events(t *testing.T, s conversation.Store, id string, after int64, limit, maxBytes int) []conversation.Event {
	t.Helper()
	got, err := s.Events(t.Context(), id, after, limit, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func idsHaveNoGaps(t *testing.T, s conversation.Store) {
	made := create(t, s, "a")
	create(t, s, "b")
	made = append(made, mustAppend(t, s, "a", entry(1, "x", `1`), entry(2, "y", `2`))...)
	mustAppend(t, s, "b", entry(3, "x", `3`))
	made = append(made, mustAppend(t, s, "a", entry(4, "z", `4`))...)
	want := []conversation.Event{
		{ID: 1, Session: "a", Time: at(0), Type: "session.created", Data: json.RawMessage(`{"title":""}`)},
		{ID: 2, Session: "a", Time: at(1), Type: "x", Data: json.RawMessage(`1`)},
		{ID: 3, Session: "a", Time: at(2), Type: "y", Data: json.RawMessage(`2`)},
		{ID: 4, Session: "a", Time: at(4), Type: "z", Data: json.RawMessage(`4`)},
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("what was told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, events(t, s, "a", 0, 10, 1<<20)); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
}

func concurrentAppends(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	var wg sync.WaitGroup
	for writer := range 8 {
		wg.Go(func() {
			for n := range 20 {
				if _, err := s.Append(context.WithoutCancel(t.Context()), "a", conversation.Change{},
					entry(n, "x", fmt.Sprintf(`[%d,%d]`, writer, n)), entry(n, "y", `0`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := events(t, s, "a", 0, 1000, 1<<20)
	if len(got) != 1+8*20*2 {
		t.Fatalf("%d events", len(got))
	}
	for i, e := range got {
		if e.ID != int64(i+1) {
			t.Fatalf("event %d has id %d", i, e.ID)
		}
		if e.Type == "x" && got[i+1].Type != "y" {
			t.Errorf("event %d: another append came between the entries of one", i)
		}
	}
}

func appendIsWhole(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	bad := entry(1, "y", `2`)
	bad.Closes = "never opened"
	title := "changed"
	_, err := s.Append(t.Context(), "a", conversation.Change{Title: &title}, entry(1, "x", `1`), bad)
	if !errors.Is(err, conversation.ErrNotOpen) {
		t.Fatalf("err = %v", err)
	}
	if got := events(t, s, "a", 0, 10, 1<<20); len(got) != 1 {
		t.Errorf("%d events are there, want the first alone", len(got))
	}
	if got, _ := s.Session(t.Context(), "a"); got.Title != "" || got.LastEventID != 1 {
		t.Errorf("session = %+v", got)
	}
	if got := mustAppend(t, s, "a", entry(2, "z", `3`)); got[0].ID != 2 {
		t.Errorf("the next id is %d, want 2", got[0].ID)
	}
}

func appendChangesSession(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	title, yes := "A title — 题", true
	if _, err := s.Append(t.Context(), "a", conversation.Change{Title: &title, Archived: &yes}, entry(5, "x", `1`)); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "a", entry(9, "x", `1`))
	got, err := s.Session(t.Context(), "a")
	want := conversation.Session{ID: "a", Title: title, Archived: true, CreatedAt: at(0), UpdatedAt: at(9), LastEventID: 3}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v, session (-want +got):\n%s", err, diff)
	}
}

func pagesOfEvents(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	for i := range 9 {
		mustAppend(t, s, "a", entry(i, "x", `"`+strings.Repeat("x", 98)+`"`)) // 100 bytes
	}
	ids := func(events []conversation.Event) (ids []int64) {
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for _, test := range []struct {
		after           int64
		limit, maxBytes int
		want            []int64
	}{
		{0, 3, 1 << 20, []int64{1, 2, 3}},
		{3, 3, 1 << 20, []int64{4, 5, 6}},
		{8, 3, 1 << 20, []int64{9, 10}},
		{10, 3, 1 << 20, nil},
		{99, 3, 1 << 20, nil},
		{4, 100, 250, []int64{5, 6}},
		{4, 100, 300, []int64{5, 6, 7}},
		{4, 100, 10, []int64{5}},
	} {
		if diff := cmp.Diff(test.want, ids(events(t, s, "a", test.after, test.limit, test.maxBytes))); diff != "" {
			t.Errorf("after %d, limit %d, bytes %d (-want +got):\n%s", test.after, test.limit, test.maxBytes, diff)
		}
	}
}

func pagesOfSessions(t *testing.T, s conversation.Store) {
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		create(t, s, id, entry(i/2, "session.created", `{}`)) // a b, c d, e
	}
	yes := true
	if _, err := s.Append(t.Context(), "d", conversation.Change{Archived: &yes}, entry(1, "x", `1`)); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "a", entry(100, "x", `1`))
	var got [][]string
	page := conversation.Page{Limit: 2}
	for {
		list, err := s.List(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		var ids []string
		for _, session := range list {
			ids = append(ids, session.ID)
			page.BeforeTime, page.BeforeID = session.UpdatedAt, session.ID
		}
		got = append(got, ids)
	}
	if diff := cmp.Diff([][]string{{"a", "e"}, {"c", "b"}}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	archived, err := s.List(t.Context(), conversation.Page{Limit: 10, Archived: true})
	if err != nil || len(archived) != 1 || archived[0].ID != "d" || !archived[0].Archived {
		t.Errorf("archived = %+v, %v", archived, err)
	}
	if n, err := s.Count(t.Context()); n != 5 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
}

func openWork(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	create(t, s, "b")
	opens := func(seconds int, name string) conversation.Entry {
		e := entry(seconds, "opened", `{}`)
		e.Opens = name
		return e
	}
	mustAppend(t, s, "b", opens(1, "first"))
	mustAppend(t, s, "a", opens(2, "second"), opens(3, "third"))
	closing := entry(4, "closed", `{}`)
	closing.Closes = "second"
	mustAppend(t, s, "a", closing)
	got, err := s.Open(t.Context())
	want := []conversation.OpenWork{
		{Session: "b", Name: "first", Opened: at(1)},
		{Session: "a", Name: "third", Opened: at(3)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v, open (-want +got):\n%s", err, diff)
	}
}

func closedOnce(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	create(t, s, "b")
	open := entry(1, "opened", `{}`)
	open.Opens = "work"
	mustAppend(t, s, "a", open)
	closing := entry(2, "closed", `{}`)
	closing.Closes = "work"
	if _, err := s.Append(t.Context(), "b", conversation.Change{}, closing); !errors.Is(err, conversation.ErrNotOpen) {
		t.Errorf("closing another session's work: %v", err)
	}
	var wg sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		wg.Go(func() {
			_, err := s.Append(context.WithoutCancel(t.Context()), "a", conversation.Change{}, closing)
			results <- err
		})
	}
	wg.Wait()
	close(results)
	closed := 0
	for err := range results {
		switch {
		case err == nil:
			closed++
		case !errors.Is(err, conversation.ErrNotOpen):
			t.Error(err)
		}
	}
	if got := events(t, s, "a", 2, 10, 1<<20); closed != 1 || len(got) != 1 {
		t.Errorf("closed %d times with %d events, want once", closed, len(got))
	}
}

func dataIsKept(t *testing.T, s conversation.Store) {
	for i, data := range []string{
		`{"z":1,"a":12345678901234567890.10,"b":"<b>&amp;\u2028\u0000"}`,
		`{ "spaces" :  [ 1 , 2 ] }`,
		`"` + strings.Repeat("0123456789", 200_000) + `"`,
		`"'); DROP TABLE event; --"`,
	} {
		id := fmt.Sprint(i)
		create(t, s, id, entry(0, "x", data))
		if got := events(t, s, id, 0, 1, 1<<30); len(got) != 1 || string(got[0].Data) != data {
			t.Errorf("data %d has changed", i)
		}
	}
}

func replace(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	mustAppend(t, s, "a", entry(1, "x", `{"html":"long"}`), entry(2, "y", `{}`))
	if err := s.Replace(t.Context(), "a", 2, json.RawMessage(`{"html":""}`)); err != nil {
		t.Fatal(err)
	}
	got := events(t, s, "a", 1, 1, 1<<20)
	want := []conversation.Event{{ID: 2, Session: "a", Time: at(1), Type: "x", Data: json.RawMessage(`{"html":""}`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if err := s.Replace(t.Context(), "a", 99, json.RawMessage(`{}`)); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("replacing nothing: %v", err)
	}
}

func deleteSession(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	create(t, s, "b")
	open := entry(1, "opened", `{}`)
	open.Opens = "work"
	mustAppend(t, s, "a", open)
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(t.Context(), "a"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Session: %v", err)
	}
	if got := events(t, s, "a", 0, 10, 1<<20); len(got) != 0 {
		t.Errorf("%d events are left", len(got))
	}
	if got, err := s.Open(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("open work is left: %v, %v", got, err)
	}
	if got := events(t, s, "b", 0, 10, 1<<20); len(got) != 1 {
		t.Errorf("the other session has %d events", len(got))
	}
	if got := create(t, s, "a"); got[0].ID != 1 {
		t.Errorf("a new session of that name starts at %d", got[0].ID)
	}
}

func notThere(t *testing.T, s conversation.Store) {
	if _, err := s.Session(t.Context(), "x"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Session: %v", err)
	}
	if _, err := s.Append(t.Context(), "x", conversation.Change{}, entry(1, "x", `1`)); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Append: %v", err)
	}
	if err := s.Delete(t.Context(), "x"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Delete: %v", err)
	}
	create(t, s, "a")
	if _, err := s.Create(t.Context(), conversation.Session{ID: "a", CreatedAt: at(0)}, entry(0, "x", `1`)); !errors.Is(err, conversation.ErrExists) {
		t.Errorf("Create: %v", err)
	}
}

func cancelled(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, "a", conversation.Change{}, entry(1, "x", `1`)); !errors.Is(err, context.Canceled) {
		t.Errorf("Append: %v", err)
	}
	if got := mustAppend(t, s, "a", entry(2, "y", `1`)); got[0].ID != 2 {
		t.Errorf("the next id is %d, want 2", got[0].ID)
	}
}

func outputs(t *testing.T, s conversation.Store) {
	create(t, s, "a")
	create(t, s, "b")
	if _, err := s.Output(t.Context(), "a", "c_1"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("an output that is not there: %v", err)
	}
	if err := s.SetOutput(t.Context(), "nobody", "c_1", []byte("x")); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("an output of no session: %v", err)
	}
	for _, text := range []string{"first", "", "wh\xffole \x00"} {
		if err := s.SetOutput(t.Context(), "a", "c_1", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Output(t.Context(), "a", "c_1"); err != nil || string(got) != text {
			t.Errorf("output %q, %v; want %q", got, err, text)
		}
	}
	if _, err := s.Output(t.Context(), "b", "c_1"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("another session has it: %v", err)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	create(t, s, "a")
	if _, err := s.Output(t.Context(), "a", "c_1"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("the output of a deleted session: %v", err)
	}
}
