package client_test

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

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/ushertest"
)

type ownerKey struct{}

// answering is a handler that can do everything and notes what it was asked.
type answering struct {
	mu    sync.Mutex
	asked []client.Elicitation
	owner []any
}

func (a *answering) handler() *client.Handler {
	return &client.Handler{
		Elicit: func(ctx context.Context, e client.Elicitation) (client.ElicitAnswer, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.asked = append(a.asked, e)
			a.owner = append(a.owner, ctx.Value(ownerKey{}))
			return client.ElicitAnswer{Action: client.ActionAccept, Content: json.RawMessage(`{"name":"Ada","go_on":true}`)}, nil
		},
		ElicitURL: true,
		Sample: func(context.Context, client.Sampling) (json.RawMessage, error) {
			return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"word"},"model":"m"}`), nil
		},
		Roots: func(context.Context) ([]client.Root, error) {
			return []client.Root{{URI: "file:///tmp/x", Name: "x"}}, nil
		},
	}
}

// TestQuestionsOfBothEras reach the same handler (MRTR-25), with the values of the call they belong to.
func TestQuestionsOfBothEras(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		var a answering
		s, log := open(client.Options{Handler: a.handler()}, "--elicit=all", "--rounds", "3")
		ctx := context.WithValue(t.Context(), ownerKey{}, "conversation 7")
		for _, tool := range []string{"ask", "ask_url", "ask_model", "ask_roots"} {
			r, err := s.Call(ctx, tool, nil, client.CallOptions{})
			if err != nil || r.IsError {
				t.Fatalf("%s: %+v, %v", tool, r, err)
			}
		}
		if len(a.asked) == 0 || a.asked[0].Mode != "form" || !strings.Contains(string(a.asked[0].Schema), `"required"`) || a.asked[0].Server != "fx" {
			t.Errorf("asked %+v", a.asked)
		}
		urls := 0
		for i, e := range a.asked {
			if !e.Attributed || a.owner[i] != "conversation 7" {
				t.Errorf("question %d belongs to %v", i, a.owner[i])
			}
			if e.Mode == "url" && strings.HasPrefix(e.URL, "https://") {
				urls++
			}
			if modern := s.Era() == client.Modern; modern != (e.Round > 0) {
				t.Errorf("round %d", e.Round)
			}
		}
		if urls == 0 {
			t.Error("no question to open a URL")
		}
		if v := log().Violations(); len(v) != 0 {
			t.Error(v)
		}
	})
}

func TestNothingIsDeclaredWithoutAHandler(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, _ := open(client.Options{}, "--elicit=all")
		r, err := s.Call(t.Context(), "ask", nil, client.CallOptions{})
		if s.Era() == client.Legacy && (err != nil || !r.IsError) {
			t.Errorf("%+v, %v", r, err)
		}
		if s.Era() == client.Modern {
			if e := wantError(t, err, client.PhaseCall, client.CodeRPC); e.RPC.Code != -32021 || !strings.Contains(e.Hint, "elicitation") {
				t.Errorf("%+v", e)
			}
		}
	})
}

// modernScript dials a modern session that speaks to f.
func modernScript(t *testing.T, h *client.Handler, f func(*scripted)) *client.Session {
	t.Helper()
	l := script(t, discoverable(`{"tools":{},"resources":{}}`), func(p *scripted) {
		f(p)
		p.drain()
	})
	return dial(t, auto(scriptedServer()), client.Options{Launcher: l, Handler: h})
}

const form = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}}`

// TestInputRounds is MRTR-07 to MRTR-14: what a retry repeats, adds and leaves out.
func TestInputRounds(t *testing.T) {
	var rounds []message
	var a answering
	state := `"\u0000 \u00fc ü \/ \ud83d\ude00"`
	s := modernScript(t, a.handler(), func(p *scripted) {
		m := p.expect("tools/call")
		rounds = append(rounds, m)
		p.answer(m, `{"resultType":"input_required","requestState":`+state+`,"inputRequests":{"":`+form+`,"a.b":`+form+`,"__proto__":`+form+`,"\u00fc":{"method":"roots/list"}}}`)
		m = p.expect("tools/call")
		rounds = append(rounds, m)
		p.answer(m, `{"resultType":"input_required","inputRequests":{"k":`+form+`}}`)
		m = p.expect("tools/call")
		rounds = append(rounds, m)
		p.answer(m, `{"resultType":"input_required","requestState":"s2"}`)
		m = p.expect("tools/call")
		rounds = append(rounds, m)
		p.answer(m, `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
	})
	r, err := s.Call(t.Context(), "t", json.RawMessage(`{"x":1}`), client.CallOptions{})
	if err != nil || r.Content[0].Text != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	ids := make(map[string]bool)
	for _, m := range rounds {
		if ids[string(m.ID)] {
			t.Errorf("id %s is used twice (MRTR-11)", m.ID)
		}
		ids[string(m.ID)] = true
		if member(m.Params, "arguments") != `{"x":1}` || member(m.Params, "name") != `"t"` || member(json.RawMessage(member(m.Params, "_meta")), "progressToken") != string(m.ID) {
			t.Errorf("round sent %s", m.Params)
		}
	}
	const accepted = `{"action":"accept","content":{"name":"Ada","go_on":true}}`
	got := [][2]string{}
	for _, m := range rounds {
		got = append(got, [2]string{member(m.Params, "inputResponses"), member(m.Params, "requestState")})
	}
	want := [][2]string{
		{"", ""},
		{`{"":` + accepted + `,"a.b":` + accepted + `,"__proto__":` + accepted + `,"\u00fc":{"roots":[{"uri":"file:///tmp/x","name":"x"}]}}`, state},
		{`{"k":` + accepted + `}`, ""},
		{"", `"s2"`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(a.asked) != 4 || a.asked[3].Round != 2 || !strings.Contains(string(a.asked[0].Schema), `{"z":{"type":"string"},"a":`) {
		t.Errorf("asked %+v", a.asked)
	}
}

// TestUnusableQuestionsBotherNobody is MRTR-01 to MRTR-04: the whole result is refused before anything is asked.
func TestUnusableQuestionsBotherNobody(t *testing.T) {
	noURL := &client.Handler{Elicit: func(context.Context, client.Elicitation) (client.ElicitAnswer, error) {
		t.Error("somebody was asked")
		return client.ElicitAnswer{Action: client.ActionDecline}, nil
	}}
	for _, sent := range []string{
		`{"resultType":"input_required"}`,
		`{"resultType":"input_required","inputRequests":{}}`,
		`{"resultType":"input_required","inputRequests":[]}`,
		`{"resultType":"input_required","inputRequests":null}`,
		`{"resultType":"input_required","inputRequests":{"x":null}}`,
		`{"resultType":"input_required","requestState":7,"inputRequests":{"a":` + form + `}}`,
		`{"resultType":"input_required","inputRequests":{"a":` + form + `,"b":{"method":"tools/call","params":{}}}}`,
		`{"resultType":"input_required","inputRequests":{"a":` + form + `,"b":{"method":"sampling/createMessage","params":{"messages":[]}}}}`,
		`{"resultType":"input_required","inputRequests":{"a":` + form + `,"b":{"method":"roots/list"}}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}}}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://x"}}}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"voice"}}}}`,
		`{"resultType":"input_required","inputRequests":{"a":` + form + `,"\u0061":` + form + `}}`,
	} {
		t.Run(sent, func(t *testing.T) {
			s := modernScript(t, noURL, func(p *scripted) { p.answer(p.expect("tools/call"), sent) })
			_, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
			wantError(t, err, client.PhaseCall, client.CodeProtocol)
		})
	}
	t.Run("other methods", func(t *testing.T) {
		s := modernScript(t, noURL, func(p *scripted) {
			p.answer(p.expect("tools/list"), `{"resultType":"input_required","inputRequests":{"a":`+form+`}}`)
		})
		_, err := s.Tools(t.Context())
		wantError(t, err, client.PhaseList, client.CodeProtocol)
	})
}

func TestEndlessInputIsBounded(t *testing.T) {
	var a answering
	calls := 0
	s := modernScript(t, a.handler(), func(p *scripted) {
		for {
			m, ok := p.receive()
			if !ok {
				return
			}
			calls++
			p.answer(m, `{"resultType":"input_required","inputRequests":{"a":`+form+`}}`)
		}
	})
	_, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
	wantError(t, err, client.PhaseCall, client.CodeProtocol)
	if calls != 8 {
		t.Errorf("%d rounds", calls)
	}
}

// TestReadThatTookInputIsNotKept is MRTR-19.
func TestReadThatTookInputIsNotKept(t *testing.T) {
	var a answering
	s := modernScript(t, a.handler(), func(p *scripted) {
		for range 2 {
			p.answer(p.expect("resources/read"), `{"resultType":"input_required","inputRequests":{"a":`+form+`}}`)
			p.answer(p.expect("resources/read"), `{"resultType":"complete","contents":[],"ttlMs":60000}`)
		}
	})
	for range 2 {
		if r, err := s.ReadResource(t.Context(), "a://b"); err != nil || r.FromCache {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestPersonWhoRefuses: a declined or failed form is an answer (MRTR-15), refused sampling ends the call.
func TestPersonWhoRefuses(t *testing.T) {
	h := &client.Handler{
		Elicit: func(context.Context, client.Elicitation) (client.ElicitAnswer, error) {
			return client.ElicitAnswer{}, errors.New("the window was closed")
		},
		Sample: func(context.Context, client.Sampling) (json.RawMessage, error) { return nil, errors.New("no") },
	}
	s := modernScript(t, h, func(p *scripted) {
		p.answer(p.expect("tools/call"), `{"resultType":"input_required","inputRequests":{"a":`+form+`}}`)
		m := p.expect("tools/call")
		p.answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, member(m.Params, "inputResponses")))
		p.answer(p.expect("tools/call"), `{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[]}}}}`)
	})
	r, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
	if err != nil || r.Content[0].Text != `{"a":{"action":"cancel"}}` {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = s.Call(t.Context(), "t", nil, client.CallOptions{})
	wantError(t, err, client.PhaseCall, client.CodeDenied)
}

// TestCancelledWhileAsking writes nothing: no request is under way then (MRTR-18).
func TestCancelledWhileAsking(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &client.Handler{Elicit: func(asking context.Context, _ client.Elicitation) (client.ElicitAnswer, error) {
		cancel()
		<-asking.Done()
		return client.ElicitAnswer{}, asking.Err()
	}}
	s := modernScript(t, h, func(p *scripted) {
		p.answer(p.expect("tools/call"), `{"resultType":"input_required","inputRequests":{"a":`+form+`}}`)
		p.answer(p.expect("tools/list"), `{"tools":[]}`) // the next thing that comes
	})
	_, err := s.Call(ctx, "t", nil, client.CallOptions{})
	wantError(t, err, client.PhaseCall, client.CodeCancelled)
	must(s.Tools(t.Context()))
}

// TestLegacyQuestions covers what only the legacy era has.
func TestLegacyQuestions(t *testing.T) {
	question := `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`
	t.Run("before initialized", func(t *testing.T) {
		var a answering
		answers := make(chan message, 1)
		l := script(t, func(p *scripted) {
			m := p.expect("initialize")
			p.send(question, "1")
			early, _ := p.receive()
			answers <- early
			p.answer(m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
			p.drain()
		})
		dial(t, scriptedServer(), client.Options{Launcher: l, Handler: a.handler()})
		if got := <-answers; member(got.Error, "code") != "-32602" || len(a.asked) != 0 {
			t.Errorf("answered %+v (LEG-39)", got)
		}
	})
	t.Run("two calls at once", func(t *testing.T) {
		var a answering
		l := script(t, func(p *scripted) {
			p.handshake()
			one, two := p.expect("tools/call"), p.expect("tools/call")
			p.send(question, `"q"`)
			if m, _ := p.receive(); member(m.Result, "action") != `"accept"` {
				p.t.Errorf("answered %+v", m)
			}
			p.answer(one, `{}`)
			p.answer(two, `{}`)
			p.drain()
		})
		s := dial(t, scriptedServer(), client.Options{Launcher: l, Handler: a.handler()})
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				ctx := context.WithValue(t.Context(), ownerKey{}, i)
				if _, err := s.Call(ctx, "t", nil, client.CallOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(a.asked) != 1 || a.asked[0].Attributed || a.owner[0] != nil {
			t.Errorf("a question that could be anybody's was given to %v", a.owner)
		}
	})
	t.Run("idle clock stands still", func(t *testing.T) {
		release := make(chan struct{})
		h := &client.Handler{Elicit: func(context.Context, client.Elicitation) (client.ElicitAnswer, error) {
			<-release
			return client.ElicitAnswer{Action: client.ActionDecline}, nil
		}}
		l := script(t, func(p *scripted) {
			p.handshake()
			m := p.expect("tools/call")
			p.send(question, `"q"`)
			if a, _ := p.receive(); member(a.Result, "action") != `"decline"` {
				p.t.Errorf("received %+v", a)
			}
			p.answer(m, `{}`)
			p.drain()
		})
		s := dial(t, scriptedServer(), client.Options{Launcher: l, Handler: h})
		time.AfterFunc(900*time.Millisecond, func() { close(release) })
		if _, err := s.Call(t.Context(), "t", nil, client.CallOptions{Idle: 300 * time.Millisecond}); err != nil {
			t.Error(err)
		}
	})
}
