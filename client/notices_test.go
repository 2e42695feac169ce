package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
)

const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`

// TestNoticesBeforeTheAcknowledgement are for nobody yet (SUB-03), those without an id are taken as ours (SUB-07), and
// what does not belong on a subscription is dropped (SUB-10). What was not granted is said (SUB-04).
func TestNoticesBeforeTheAcknowledgement(t *testing.T) {
	changed := make(chan string, 10)
	l := script(t, discoverable(`{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`), func(p *scripted) {
		p.answer(p.expect("tools/list"), `{"tools":[]}`)
		m := p.expect("subscriptions/listen")
		notice := `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
		p.send(notice, "prompts", m.ID)
		p.send(acknowledged, `"other"`, `{"promptsListChanged":true}`)
		p.send(notice, "prompts", m.ID)
		p.send(acknowledged, m.ID, `{"toolsListChanged":true}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID)
		p.send(notice, "tools", m.ID)
		p.send(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
		p.drain()
	})
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, OnListChanged: func(kind string) { changed <- kind }})
	must(s.Tools(t.Context()))
	var got []string
	for range 2 {
		got = append(got, <-changed)
	}
	if diff := cmp.Diff([]string{"tools", "resources"}, got); diff != "" {
		t.Error(diff)
	}
	if w := strings.Join(s.Warnings(), "; "); !strings.Contains(w, "does not announce changes of prompts") || strings.Contains(w, "changes of tools") {
		t.Errorf("warnings %q", w)
	}
}

// TestWhatANoticeInvalidates is CACHE-13, pair by pair, and SUB-09: a notice about a part of what was read.
func TestWhatANoticeInvalidates(t *testing.T) {
	for _, c := range []struct {
		notice string
		again  []string // what is asked for again
	}{
		{`"method":"notifications/tools/list_changed"`, []string{"tools/list"}},
		{`"method":"notifications/prompts/list_changed"`, []string{"prompts/list"}},
		{`"method":"notifications/resources/list_changed"`, []string{"resources/list", "resources/templates/list", "resources/read x:dir", "resources/read x:other"}},
		{`"method":"notifications/resources/updated","params":{"uri":"x:dir"}`, []string{"resources/read x:dir"}},
		{`"method":"notifications/resources/updated","params":{"uri":"x:dir/part"}`, []string{"resources/read x:dir"}},
		{`"method":"notifications/resources/updated","params":{"uri":7}`, nil},
		{`"method":"notifications/com.example/list_changed"`, nil},
	} {
		t.Run(c.notice, func(t *testing.T) {
			asked := make(chan string, 100)
			l := script(t, discoverable(`{"tools":{},"prompts":{},"resources":{}}`), func(p *scripted) {
				for {
					m, ok := p.receive()
					if !ok {
						return
					}
					if m.Method == "tools/call" {
						// Notices are handled in order: once the log message is seen, so is what came before it.
						p.send(`{"jsonrpc":"2.0",%s}`, c.notice)
						p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"seen"}}`)
						p.answer(m, `{"content":[]}`)
						continue
					}
					uri := strings.Trim(member(m.Params, "uri"), `"`)
					asked <- strings.TrimSpace(m.Method + " " + uri)
					p.answer(m, map[string]string{
						"tools/list": `{"tools":[]`, "prompts/list": `{"prompts":[]`, "resources/list": `{"resources":[]`,
						"resources/templates/list": `{"resourceTemplates":[]`, "resources/read": `{"contents":[]`,
					}[m.Method]+`,"ttlMs":60000}`)
				}
			})
			seen := make(chan struct{}, 1)
			s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, OnLog: func(string, string, json.RawMessage) { seen <- struct{}{} }})
			all := func() (got []string) {
				must(s.Tools(t.Context()))
				must(s.Prompts(t.Context()))
				must(s.Resources(t.Context()))
				must(s.ResourceTemplates(t.Context()))
				must(s.ReadResource(t.Context(), "x:dir"))
				must(s.ReadResource(t.Context(), "x:other"))
				for len(asked) > 0 {
					got = append(got, <-asked)
				}
				return got
			}
			if got := all(); len(got) != 6 {
				t.Fatalf("asked %v", got)
			}
			must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
			<-seen
			if diff := cmp.Diff(c.again, all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFreshnessOfAList: the shortest-lived page decides (CACHE-19), pages of one list are kept together, hints that are
// none keep nothing (CACHE-05), and a server that announces no changes is believed all the same (CACHE-15).
func TestFreshnessOfAList(t *testing.T) {
	for _, c := range []struct {
		first, second string
		kept          time.Duration
	}{
		{`,"ttlMs":60000`, `,"ttlMs":60000`, time.Minute},
		{`,"ttlMs":60000`, `,"ttlMs":1000`, time.Second},
		{`,"ttlMs":1000`, `,"ttlMs":60000.0`, time.Second},
		{`,"ttlMs":60000`, ``, 0},
		{`,"ttlMs":"60000"`, `,"ttlMs":60000`, 0},
		{`,"ttlMs":-5`, `,"ttlMs":60000`, 0},
		{`,"ttlMs":9e18`, `,"ttlMs":9e18`, 24 * time.Hour}, // CACHE-06
	} {
		t.Run(c.first+c.second, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				l := script(t, discoverable(`{"tools":{}}`), func(p *scripted) {
					for {
						m, ok := p.receive()
						if !ok {
							return
						}
						requests++
						if member(m.Params, "cursor") == "" {
							p.answer(m, `{"tools":[{"name":"a"}],"nextCursor":"2"`+c.first+`}`)
						} else {
							p.answer(m, `{"tools":[{"name":"b"}]`+c.second+`}`)
						}
					}
				})
				s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
				if err != nil {
					t.Fatal(err)
				}
				must(s.Tools(t.Context()))
				if c.kept > 0 {
					time.Sleep(c.kept - time.Millisecond)
					if !must(s.Tools(t.Context())).FromCache {
						t.Error("asked again before its time")
					}
					time.Sleep(time.Millisecond)
				}
				if must(s.Tools(t.Context())).FromCache {
					t.Error("served after its time")
				}
				if requests != 4 {
					t.Errorf("%d requests", requests)
				}
				closeSession(t, s)
			})
		})
	}
}

// TestAnIdleSessionIsSilent: a listen is bound by no clock (SUB-18), and what has expired is asked for when it is
// wanted and not before (CACHE-07).
func TestAnIdleSessionIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var methods []string
		l := script(t, discoverable(announcing), func(p *scripted) {
			for {
				m, ok := p.receive()
				if !ok {
					return
				}
				methods = append(methods, m.Method)
				switch m.Method {
				case "tools/list":
					p.answer(m, `{"tools":[],"ttlMs":1000}`)
				case "subscriptions/listen":
					p.send(acknowledged, m.ID, `{"toolsListChanged":true}`)
				}
			}
		})
		s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
		if err != nil {
			t.Fatal(err)
		}
		must(s.Tools(t.Context()))
		time.Sleep(48 * time.Hour)
		must(s.Tools(t.Context()))
		closeSession(t, s)
		want := []string{"tools/list", "subscriptions/listen", "tools/list", "notifications/cancelled"}
		if diff := cmp.Diff(want, methods); diff != "" {
			t.Error(diff)
		}
	})
}

// TestListenThatIsNotAcknowledged is given up on after five seconds, told so, and not tried again (SUB-03, SUB-19).
func TestListenThatIsNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var methods []string
		l := script(t, discoverable(announcing), func(p *scripted) {
			for {
				m, ok := p.receive()
				if !ok {
					return
				}
				methods = append(methods, m.Method)
				if m.Method == "tools/list" {
					p.answer(m, `{"tools":[]}`)
				}
			}
		})
		s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
		if err != nil {
			t.Fatal(err)
		}
		must(s.Tools(t.Context()))
		time.Sleep(5*time.Second - time.Millisecond)
		if w := s.Warnings(); len(w) != 0 {
			t.Errorf("warnings before the time is over: %q", w)
		}
		time.Sleep(time.Hour)
		if w := strings.Join(s.Warnings(), "; "); !strings.Contains(w, "did not acknowledge") {
			t.Errorf("warnings %q", w)
		}
		closeSession(t, s)
		want := []string{"tools/list", "subscriptions/listen", "notifications/cancelled"}
		if diff := cmp.Diff(want, methods); diff != "" {
			t.Error(diff)
		}
	})
}

// TestListenThatEndsAtOnce is not hammered: the pauses grow from one second to five minutes, with jitter (SUB-16,
// SUB-20).
func TestListenThatEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		l := script(t, discoverable(announcing), func(p *scripted) {
			for {
				m, ok := p.receive()
				if !ok {
					return
				}
				if m.Method == "tools/list" {
					p.answer(m, `{"tools":[]}`)
					continue
				}
				at = append(at, time.Now())
				p.answer(m, `{"resultType":"complete"}`)
			}
		})
		s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
		if err != nil {
			t.Fatal(err)
		}
		must(s.Tools(t.Context()))
		time.Sleep(3 * time.Hour)
		closeSession(t, s)
		if len(at) < 12 || len(at) > 100 {
			t.Fatalf("%d listens in three hours", len(at))
		}
		pause := time.Second
		for i := 1; i < len(at)-1; i++ { // the last one may be the goodbye
			if got := at[i].Sub(at[i-1]); got < pause/2 || got > 3*pause/2 {
				t.Errorf("pause %d is %s, want about %s", i, got, pause)
			}
			pause = min(2*pause, 5*time.Minute)
		}
	})
}

// TestFilterThatChanges: the filter of a subscription is changed by another listen, the earlier one is cancelled, and
// what both cover is taken as changed, because nothing is replayed (SUB-11, SUB-17, SUB-21).
func TestFilterThatChanges(t *testing.T) {
	var got []string
	l := script(t, discoverable(`{"tools":{"listChanged":true},"resources":{"subscribe":true}}`), func(p *scripted) {
		for {
			m, ok := p.receive()
			if !ok {
				return
			}
			switch m.Method {
			case "tools/list":
				p.answer(m, `{"tools":[]}`)
			case "subscriptions/listen":
				got = append(got, "listen "+member(m.Params, "notifications"))
				p.send(acknowledged, m.ID, member(m.Params, "notifications"))
			case "notifications/cancelled":
				got = append(got, "cancelled")
			}
		}
	})
	changed := make(chan string, 10)
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, OnListChanged: func(kind string) { changed <- kind }})
	for i := range 2 {
		if err := s.Subscribe(t.Context(), fmt.Sprint("x:", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Subscribe(t.Context(), "x:0"); err != nil { // is so already
		t.Fatal(err)
	}
	if err := s.Unsubscribe(t.Context(), "x:0"); err != nil {
		t.Fatal(err)
	}
	if kind := <-changed; kind != "tools" {
		t.Errorf("kind %q", kind)
	}
	if err := s.Unsubscribe(t.Context(), "x:1"); err != nil {
		t.Fatal(err)
	}
	closeSession(t, s)
	want := []string{
		`listen {"resourceSubscriptions":["x:0"]}`, "cancelled", `listen {"resourceSubscriptions":["x:0","x:1"]}`,
		"cancelled", `listen {"resourceSubscriptions":["x:1"]}`, "cancelled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
