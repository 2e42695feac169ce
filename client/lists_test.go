package client_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/ushertest"
)

func names(l client.List[client.Tool]) []string {
	var out []string
	for _, t := range l.Items {
		out = append(out, t.Name)
	}
	return out
}

// TestPagesOfEveryList follows cursors, the empty one included (PAGE-01, PAGE-08), in both eras.
func TestPagesOfEveryList(t *testing.T) {
	plain := ushertest.Command(t)
	want := names(must(dial(t, plain, client.Options{}).Tools(t.Context())))
	for _, era := range []string{"legacy", "modern"} {
		for _, flags := range [][]string{{"--pages", "4"}, {"--pages", "2", "--empty-cursor"}} {
			t.Run(era+strings.Join(flags, " "), func(t *testing.T) {
				spec := ushertest.Command(t, append([]string{"--era", era}, flags...)...)
				if era == "modern" {
					spec = auto(spec)
				}
				s := dial(t, spec, client.Options{})
				tools := must(s.Tools(t.Context()))
				if diff := cmp.Diff(want, names(tools)); diff != "" || len(tools.Warnings) != 0 {
					t.Errorf("%s%v", diff, tools.Warnings)
				}
				if l := must(s.Prompts(t.Context())); len(l.Items) != 2 {
					t.Errorf("prompts: %+v", l)
				}
				if l := must(s.Resources(t.Context())); len(l.Items) < 2 {
					t.Errorf("resources: %+v", l)
				}
				if l := must(s.ResourceTemplates(t.Context())); len(l.Items) != 1 {
					t.Errorf("templates: %+v", l)
				}
				requests := ushertest.ReadLog(t, spec).Received("tools/list")
				if flags[0] == "--pages" && flags[1] == "4" && len(requests) != 4 {
					t.Errorf("%d requests for four pages", len(requests))
				}
				if _, ok := requests[0].Params()["cursor"]; ok {
					t.Error("the first request has a cursor (PAGE-03)")
				}
			})
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestStuckCursor(t *testing.T) {
	spec := ushertest.Command(t, "--stuck-cursor")
	l := must(dial(t, spec, client.Options{}).Tools(t.Context()))
	if len(l.Items) == 0 || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "repeats") {
		t.Errorf("%d tools, warnings %q", len(l.Items), l.Warnings)
	}
	if n := len(ushertest.ReadLog(t, spec).Received("tools/list")); n > 2 {
		t.Errorf("%d requests", n)
	}
}

// TestEndlessPages: cursors that never repeat must end at the bound, items or not.
func TestEndlessPages(t *testing.T) {
	requests := 0
	l := script(t, func(p *scripted) {
		p.handshake()
		for {
			m, ok := p.receive()
			if !ok {
				return
			}
			requests++
			p.answer(m, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, requests))
		}
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools.Warnings) != 1 || requests != 1000 {
		t.Errorf("%d requests, warnings %q, %v", requests, tools.Warnings, err)
	}
}

// TestCursorThatWentBad restarts the list once (PAGE-07).
func TestCursorThatWentBad(t *testing.T) {
	l := script(t, func(p *scripted) {
		p.handshake()
		p.answer(p.expect("tools/list"), `{"tools":[{"name":"old"}],"nextCursor":"2"}`)
		p.refuse(p.expect("tools/list"), -32602, `null`)
		m := p.expect("tools/list")
		if strings.Contains(string(m.Params), "cursor") {
			t.Errorf("the restart has params %s", m.Params)
		}
		p.answer(m, `{"tools":[{"name":"new"}]}`)
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	if diff := cmp.Diff([]string{"new"}, names(must(s.Tools(t.Context())))); diff != "" {
		t.Error(diff)
	}
}

// TestMalformedItemsCostOnlyThemselves also shows that what is kept is kept byte for byte (BASE-35, BASE-40).
func TestMalformedItemsCostOnlyThemselves(t *testing.T) {
	const good = `{"name":"good","inputSchema":{"z":1,"type":"object","a":{"maximum":9007199254740993}},"x-vendor":[1.0],"_meta":{"ui":{}}}`
	l := script(t, func(p *scripted) {
		p.handshake()
		p.answer(p.expect("tools/list"), `{"tools":[null,`+good+`,"x",{"name":7},{"title":"nameless"},{"name":"bool","inputSchema":true},`+
			`{"name":"good","description":"again"},{"name":"sloppy","description":5,"annotations":{"readOnlyHint":"yes","title":"Sloppy"},"icons":{}}],"nextCursor":null}`)
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	tools := must(s.Tools(t.Context()))
	if diff := cmp.Diff([]string{"good", "sloppy"}, names(tools)); diff != "" {
		t.Error(diff)
	}
	if g := tools.Items[0]; string(g.Raw) != good || string(g.InputSchema) != `{"z":1,"type":"object","a":{"maximum":9007199254740993}}` {
		t.Errorf("raw %s, schema %s", g.Raw, g.InputSchema)
	}
	if g := tools.Items[1]; g.Annotations.ReadOnly != nil || g.Title != "Sloppy" || string(g.InputSchema) != `{"type":"object"}` {
		t.Errorf("sloppy: %+v", g)
	}
	want := []client.Rejected{
		{Kind: "tool", Index: 0, Reason: "it is no object"},
		{Kind: "tool", Index: 2, Reason: "it is no object"},
		{Kind: "tool", Index: 3, Reason: "its name is no string or empty"},
		{Kind: "tool", Index: 4, Reason: "it has no name"},
		{Kind: "tool", Name: "bool", Index: 5, Reason: "inputSchema is no object"},
		{Kind: "tool", Name: "good", Index: 6, Reason: "its name was there before"},
	}
	if diff := cmp.Diff(want, tools.Rejected); diff != "" {
		t.Error(diff)
	}
}

// TestItemThatIsTooDeepCostsOnlyItself sends a schema too deep for any decoder, or one that is no JSON, between two good
// tools.
func TestItemThatIsTooDeepCostsOnlyItself(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, n) + `{}` + strings.Repeat(`}`, n) + `}}`
	}
	for _, c := range []struct{ name, schema, reason string }{
		{"deeper than the bound", deep(600), "it nests deeper than 512 levels"},
		{"deeper than a decoder goes", deep(20_000), "it nests deeper than 512 levels"},
		{"no JSON", `{"type":"object","default":nil}`, "it is no JSON"},
		{"as deep as may be", deep(500), ""},
	} {
		for _, era := range []client.Era{client.Legacy, client.Modern} {
			t.Run(c.name+", "+string(era), func(t *testing.T) {
				tool := func(name, schema string) string { return `{"name":"` + name + `","inputSchema":` + schema + `}` }
				list := `{"tools":[` + tool("first", `{}`) + `,` + tool("odd", c.schema) + `,` + tool("last", `{}`) + `]}`
				s := openEra(t, era, func(p *scripted) {
					p.answer(p.expect("tools/list"), list)
					p.answer(p.expect("tools/call"), `{"content":[]}`)
					p.drain()
				})
				tools := must(s.Tools(t.Context()))
				want, rejected := []string{"first", "last"}, []client.Rejected{{Kind: "tool", Name: "odd", Index: 1, Reason: c.reason}}
				if c.reason == "" {
					want, rejected = []string{"first", "odd", "last"}, nil
				}
				if diff := cmp.Diff(want, names(tools)) + cmp.Diff(rejected, tools.Rejected); diff != "" {
					t.Error(diff)
				}
				if _, err := s.Call(t.Context(), "first", nil, client.CallOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestListThatIsNone is an error, however much of it could be read: nobody may take a part for the whole.
func TestListThatIsNone(t *testing.T) {
	for _, sent := range []string{
		`null`, `[]`, `{"tools":[{"name":"a"},]}`, `{"tools":[{"name":"a"}],"nextCursor":}`, `{"tools":[{"name":"a"}]"nextCursor":"b"}`,
	} {
		t.Run(sent, func(t *testing.T) {
			s := openEra(t, client.Legacy, func(p *scripted) {
				p.answer(p.expect("tools/list"), sent)
				p.answer(p.expect("tools/list"), `{"tools":[{"name":"a"}]}`)
				p.drain()
			})
			_, err := s.Tools(t.Context())
			wantError(t, err, client.PhaseList, client.CodeProtocol)
			if got := names(must(s.Tools(t.Context()))); len(got) != 1 {
				t.Errorf("the next list: %v", got)
			}
		})
	}
}

// TestUndeclaredListsAreAskedInLegacy is M9.
func TestUndeclaredListsAreAskedInLegacy(t *testing.T) {
	s := dial(t, ushertest.Command(t, "--era", "legacy", "--undeclared"), client.Options{})
	if l := must(s.Prompts(t.Context())); len(l.Items) == 0 || !l.Supported {
		t.Errorf("prompts: %+v", l)
	}
	if l := must(s.Resources(t.Context())); len(l.Items) == 0 {
		t.Errorf("resources: %+v", l)
	}
}

// TestUndeclaredListsAreNotAskedInModern is DISC-07.
func TestUndeclaredListsAreNotAskedInModern(t *testing.T) {
	spec := auto(ushertest.Command(t, "--era", "modern", "--undeclared"))
	s := dial(t, spec, client.Options{})
	if l := must(s.Prompts(t.Context())); l.Supported || len(l.Items) != 0 {
		t.Errorf("prompts: %+v", l)
	}
	if got := ushertest.ReadLog(t, spec).Received("prompts/list"); len(got) != 0 {
		t.Error("prompts/list was sent")
	}
}

// TestCachedList is V4, with the rules of when not to keep.
func TestCachedList(t *testing.T) {
	for _, c := range []struct {
		name     string
		flags    []string
		requests int
		cached   bool
	}{
		{"fresh", []string{"--ttl", "60000"}, 1, true},
		{"no ttl", nil, 2, false},
		{"pages", []string{"--ttl", "60000", "--pages", "3"}, 3, true},
		{"stuck", []string{"--ttl", "60000", "--stuck-cursor"}, 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := auto(ushertest.Command(t, append([]string{"--era", "modern"}, c.flags...)...))
			s := dial(t, spec, client.Options{})
			first, second := must(s.Tools(t.Context())), must(s.Tools(t.Context()))
			if first.FromCache || second.FromCache != c.cached {
				t.Errorf("from cache: %v, %v", first.FromCache, second.FromCache)
			}
			if diff := cmp.Diff(first.Items, second.Items); diff != "" {
				t.Error(diff)
			}
			if n := len(ushertest.ReadLog(t, spec).Received("tools/list")); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
	t.Run("legacy never", func(t *testing.T) {
		spec := ushertest.Command(t, "--era", "legacy", "--ttl", "60000")
		s := dial(t, spec, client.Options{})
		must(s.Tools(t.Context()))
		if must(s.Tools(t.Context())).FromCache {
			t.Error("a legacy list came from the cache (CACHE-24)")
		}
	})
	t.Run("a caller's changes stay his", func(t *testing.T) {
		spec := auto(ushertest.Command(t, "--era", "modern", "--ttl", "60000"))
		s := dial(t, spec, client.Options{})
		want := names(must(s.Tools(t.Context())))
		must(s.Tools(t.Context())).Items[0].Name = "changed"
		if diff := cmp.Diff(want, names(must(s.Tools(t.Context())))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("many at once are one request", func(t *testing.T) {
		spec := auto(ushertest.Command(t, "--era", "modern", "--ttl", "60000"))
		s := dial(t, spec, client.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := s.Tools(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(ushertest.ReadLog(t, spec).Received("tools/list")); n != 1 {
			t.Errorf("%d requests (CACHE-25)", n)
		}
	})
}

// TestListChanged: the change is announced, the cache is dropped before (SUB-08), in both eras.
func TestListChanged(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			spec := ushertest.Command(t, "--era", era, "--ttl", "60000")
			if era == "modern" {
				spec = auto(spec)
			}
			changed := make(chan string, 10)
			var s *client.Session
			relisted := make(chan []string, 10)
			s = dial(t, spec, client.Options{OnListChanged: func(kind string) {
				changed <- kind
				l, err := s.Tools(t.Context()) // from within the callback
				if err != nil {
					t.Error(err)
				}
				relisted <- names(l)
			}})
			before := len(must(s.Tools(t.Context())).Items)
			if era == "modern" {
				awaitListen(t, s, spec)
			}
			if _, err := s.Call(t.Context(), "change_tools", []byte(`{"name":"brand_new"}`), client.CallOptions{}); err != nil {
				t.Fatal(err)
			}
			if kind := <-changed; kind != "tools" {
				t.Errorf("kind %q", kind)
			}
			if got := <-relisted; len(got) != before+1 {
				t.Errorf("%d tools after the change, %d before", len(got), before)
			}
		})
	}
}
