package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/ushertest"
)

// TestRefusalsOfAModernServer: a server that refuses server/discover as only a modern one does never gets initialize,
// even when it goes on refusing (NEG-07); what it misses is said (BASE-21).
func TestRefusalsOfAModernServer(t *testing.T) {
	for code, data := range map[string]string{
		"-32021": `{"requiredCapabilities":{"sampling":{}}}`,
		"-32020": `null`,
	} {
		t.Run(code, func(t *testing.T) {
			spec := auto(ushertest.Command(t, "--error", "server/discover="+code, "--error-data", "server/discover="+data))
			_, err := client.Dial(t.Context(), spec, client.Options{})
			e := wantError(t, err, client.PhaseHandshake, client.CodeIncompat)
			if fmt.Sprint(e.RPC.Code) != code || code == "-32021" && !strings.Contains(e.Hint, "sampling") {
				t.Errorf("%+v, hint %q", e.RPC, e.Hint)
			}
			if diff := cmp.Diff([]string{"server/discover", "server/discover"}, ushertest.ReadLog(t, spec).Methods()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProbeHearsNothingElse: whatever a server says before it answers the probe bothers nobody and is not answered
// (NEG-11, NEG-12).
func TestProbeHearsNothingElse(t *testing.T) {
	probed := make(chan []string, 1)
	l := script(t, func(p *scripted) {
		m := p.expect("server/discover")
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`)
		p.send(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}`) // of another type
		p.answer(m, `{"supportedVersions":["2026-07-28"],"capabilities":{}}`)
		var more []string
		for {
			m, ok := p.receive()
			if !ok {
				break
			}
			more = append(more, m.Method)
		}
		probed <- more
	}, func(p *scripted) { p.drain() })
	var a answering
	s := dial(t, auto(scriptedServer()), client.Options{Launcher: l, Handler: a.handler(), OnListChanged: func(string) { t.Error("told of a change") }})
	if more := <-probed; len(more) != 0 || len(a.asked) != 0 || s.Era() != client.Modern {
		t.Errorf("the probe sent %v, asked %v, era %s", more, a.asked, s.Era())
	}
}

// TestServerThatDiesTwice: the second death ends the attempt, with what the server wrote (NEG-13).
func TestServerThatDiesTwice(t *testing.T) {
	spec := auto(ushertest.Command(t, "--exit-on", "server/discover", "--exit-on", "initialize=4", "--noise", "stderr:100"))
	_, err := client.Dial(t.Context(), spec, client.Options{})
	if e := wantError(t, err, client.PhaseHandshake, client.CodeUnavailable); !strings.Contains(e.Message, "exit status 4") || e.Stderr == "" {
		t.Errorf("message %q, stderr %q", e.Message, e.Stderr)
	}
	if n := len(ushertest.ReadLog(t, spec).PIDs()); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// TestProbeClock: a server that is slow to start is waited for as long as the window has room (NEG-14, M4), and the
// time it gets is exact.
func TestProbeClock(t *testing.T) {
	for _, c := range []struct {
		window, answer time.Duration
		era            client.Era
		took           time.Duration
	}{
		{0, 3 * time.Second, client.Modern, 3 * time.Second},
		{0, 5*time.Second - time.Millisecond, client.Modern, 5*time.Second - time.Millisecond},
		{0, 6 * time.Second, client.Legacy, 5 * time.Second},
		{7 * time.Second, 1999 * time.Millisecond, client.Modern, 1999 * time.Millisecond},
		{7 * time.Second, 2001 * time.Millisecond, client.Legacy, 2 * time.Second},
		{5001 * time.Millisecond, time.Second, client.Legacy, time.Millisecond},
		{time.Hour, 6 * time.Second, client.Legacy, 5 * time.Second}, // taken as 300 s
	} {
		t.Run(fmt.Sprint(c.window, c.answer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := script(t, func(p *scripted) {
					m := p.expect("server/discover")
					time.Sleep(c.answer) // of the test's own clock
					p.answer(m, `{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{}}`)
					p.drain()
				}, func(p *scripted) {
					if c.era == client.Legacy {
						p.handshake()
					}
					p.drain()
				})
				spec := auto(scriptedServer())
				spec.DiscoveryTimeout = c.window
				s, err := client.Dial(t.Context(), spec, client.Options{Launcher: l})
				if err != nil {
					t.Fatal(err)
				}
				if s.Era() != c.era {
					t.Errorf("era %s, %+v", s.Era(), s.Negotiation())
				}
				// Ending the probed process, which sleeps on here, is part of the time a probe takes.
				if took := s.Negotiation().Probe; took != max(c.took, c.answer) {
					t.Errorf("the probe took %s", took)
				}
				closeSession(t, s)
			})
		})
	}
}

// TestServersOfOlderVersionsOnly that know server/discover get initialize and settle on a version of theirs (NEG-25,
// NEG-27).
func TestServersOfOlderVersionsOnly(t *testing.T) {
	for name, flags := range map[string][]string{
		"discovery": {"--result", `server/discover={"supportedVersions":["2025-06-18"]}`},
		"refusal":   {"--error", "server/discover=-32022", "--error-data", `server/discover={"supported":["2025-06-18"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := auto(ushertest.Command(t, append(flags, "--versions", "2025-06-18")...))
			s := dial(t, spec, client.Options{})
			use(t, s)
			if s.Era() != client.Legacy || s.ProtocolVersion() != "2025-06-18" {
				t.Errorf("%s %s", s.Era(), s.ProtocolVersion())
			}
		})
	}
}

// TestEachConnectionProbesAnew: what one connection learned is good for its process only (NEG-29, STD-14).
func TestEachConnectionProbesAnew(t *testing.T) {
	spec := auto(ushertest.Command(t))
	for range 2 {
		closeSession(t, dial(t, spec, client.Options{}))
	}
	if n := len(ushertest.ReadLog(t, spec).Received("server/discover")); n != 2 {
		t.Errorf("%d probes", n)
	}
}

// TestWhatAServerSaysOfItself is DISC-02 and DISC-03: both places of its name, and nothing that is required but the
// versions. Extensions nobody here knows are kept (EXT-05). The session's server is the configured one, whatever it calls
// itself (BASE-24).
func TestWhatAServerSaysOfItself(t *testing.T) {
	for _, c := range []struct{ name, discovery, info, instructions, capabilities string }{
		{
			"everything", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"com.example/x":{"a":1}}},"instructions":"be kind","ttlMs":1,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`,
			"n", "be kind", `{"extensions":{"com.example/x":{"a":1}}}`,
		},
		{"name at the top", `{"supportedVersions":["2026-07-28"],"serverInfo":{"name":"top","version":"1"}}`, "top", "", ""},
		{"versions alone", `{"supportedVersions":["2026-07-28"]}`, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := script(t, func(p *scripted) {
				p.answer(p.expect("server/discover"), c.discovery)
				p.drain()
			}, func(p *scripted) { p.drain() })
			s := dial(t, auto(scriptedServer()), client.Options{Launcher: l})
			if s.Info().Name != c.info || s.Instructions() != c.instructions || string(s.Capabilities()) != c.capabilities || s.Server() != "script" {
				t.Errorf("%+v %q %s of %s", s.Info(), s.Instructions(), s.Capabilities(), s.Server())
			}
		})
	}
}

// TestModernSessionsAnswerNothing is BASE-05 and BASE-06: a request of the server in a modern session is dropped,
// nobody is asked, nothing is written. Unknown notifications are nothing either (BASE-11).
func TestModernSessionsAnswerNothing(t *testing.T) {
	var a answering
	s := modernScript(t, a.handler(), func(p *scripted) {
		m := p.expect("tools/call")
		p.send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`)
		p.send(`{"jsonrpc":"2.0","id":"8","method":"ping"}`)
		p.send(`{"jsonrpc":"2.0","id":9,"method":"com.example/unknown"}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/com.example/unknown","params":{}}`)
		p.answer(m, `{"content":[]}`)
		p.answer(p.expect("tools/call"), `{"content":[]}`) // the next thing that was written
	})
	for range 2 {
		must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
	}
	if len(a.asked) != 0 {
		t.Errorf("asked %v", a.asked)
	}
	if w := strings.Join(s.Warnings(), "; "); !strings.Contains(w, "requests of the server that were dropped: 3") {
		t.Errorf("warnings %q", w)
	}
}

// TestResultTypes is BASE-07 and BASE-08 in a modern session that has declared no extension which adds a type.
func TestResultTypes(t *testing.T) {
	for member, good := range map[string]bool{
		``: true, `"resultType":"complete",`: true,
		`"resultType":"task",`: false, `"resultType":"foo",`: false, `"resultType":"",`: false, `"resultType":7,`: false,
		`"resultType":null,`: false, `"resultType":{},`: false,
	} {
		t.Run(member, func(t *testing.T) {
			s := modernScript(t, nil, func(p *scripted) { p.answer(p.expect("tools/call"), "{"+member+`"content":[],"x":{"kept":1}}`) })
			r, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
			if !good {
				wantError(t, err, client.PhaseCall, client.CodeProtocol)
			} else if err != nil || member != "" && !strings.Contains(string(r.Raw), `"kept":1`) { // BASE-09
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestTitles is BASE-39.
func TestTitles(t *testing.T) {
	l := script(t, func(p *scripted) {
		p.handshake()
		p.answer(p.expect("tools/list"), `{"tools":[{"name":"a","title":"A","annotations":{"title":"no"}},{"name":"b","annotations":{"title":"B"}},{"name":"c"},{"name":"d","title":""}]}`)
		p.answer(p.expect("prompts/list"), `{"prompts":[{"name":"a","title":"A"},{"name":"b"}]}`)
		p.answer(p.expect("resources/list"), `{"resources":[{"uri":"x:a","name":"a","title":"A"},{"uri":"x:b","name":"b"},{"uri":"x:c"}]}`)
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	var got []string
	for _, tool := range must(s.Tools(t.Context())).Items {
		got = append(got, tool.Title)
	}
	for _, p := range must(s.Prompts(t.Context())).Items {
		got = append(got, p.Title)
	}
	for _, r := range must(s.Resources(t.Context())).Items {
		got = append(got, r.Title)
	}
	if diff := cmp.Diff([]string{"A", "B", "c", "d", "A", "b", "A", "b", "x:c"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHeaderAnnotationsMeanNothingOnStdio: a tool whose x-mcp-header is wrong is listed and called all the same (STD-08).
func TestHeaderAnnotationsMeanNothingOnStdio(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"object","properties":{"message":{"type":["string","null"],"x-mcp-header":"not a token"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := auto(ushertest.Command(t, "--era", "modern", "--schema", file))
	s := dial(t, spec, client.Options{})
	tools := must(s.Tools(t.Context()))
	if !slices.Contains(names(tools), "echo") || len(tools.Rejected) != 0 {
		t.Errorf("%v, rejected %v", names(tools), tools.Rejected)
	}
	must(s.Call(t.Context(), "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{}))
}

// TestProgressThatMakesNoSense is PRG-03: reports that do not increase or are malformed are dropped, the others stand.
func TestProgressThatMakesNoSense(t *testing.T) {
	l := script(t, func(p *scripted) {
		p.handshake()
		m := p.expect("tools/call")
		for _, params := range []string{
			`"progress":1,"total":10`, `"progress":0.5`, `"progress":1`, `"progress":"2"`, `"progress":null`, `"total":3`,
			`"progress":1.5,"total":"x","message":7`, `"progress":9,"message":"nearly"`,
		} {
			p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`, m.ID, params)
		}
		p.answer(m, `{"content":[]}`)
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	var got []client.Progress
	must(s.Call(t.Context(), "t", nil, client.CallOptions{OnProgress: func(p client.Progress) { got = append(got, p) }}))
	ten := 10.0
	want := []client.Progress{{Progress: 1, Total: &ten}, {Progress: 1.5}, {Progress: 9, Message: "nearly"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStatesStayWithTheirCalls is MRTR-12: calls of one tool at once, each with the state that it was given.
func TestStatesStayWithTheirCalls(t *testing.T) {
	var a answering
	s := modernScript(t, a.handler(), func(p *scripted) {
		states := make(map[string]string)
		for range 6 {
			m := p.expect("tools/call")
			who := member(json.RawMessage(member(m.Params, "arguments")), "who")
			if state := member(m.Params, "requestState"); state != states[who] {
				p.t.Errorf("%s came back with the state %s, want %s", who, state, states[who])
			}
			if states[who] == "" {
				states[who] = `"state of ` + strings.Trim(who, `"`) + `"`
				p.answer(m, `{"resultType":"input_required","requestState":`+states[who]+`,"inputRequests":{"k":`+form+`}}`)
				continue
			}
			p.answer(m, `{"resultType":"complete","content":[]}`)
		}
	})
	var wg sync.WaitGroup
	for _, who := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if _, err := s.Call(t.Context(), "t", json.RawMessage(`{"who":"`+who+`"}`), client.CallOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestRefusedRetry is MRTR-24: the refusal of a retry is the caller's, and nothing starts over by itself.
func TestRefusedRetry(t *testing.T) {
	var a answering
	s := modernScript(t, a.handler(), func(p *scripted) {
		p.answer(p.expect("prompts/get"), `{"resultType":"input_required","requestState":"s","inputRequests":{"k":`+form+`}}`)
		p.refuse(p.expect("prompts/get"), -32602, `null`)
		p.answer(p.expect("tools/list"), `{"tools":[]}`)
	})
	_, err := s.Prompt(t.Context(), "p", nil)
	if e := wantError(t, err, client.PhaseRead, client.CodeRPC); e.RPC.Code != -32602 {
		t.Errorf("%+v", e.RPC)
	}
	must(s.Tools(t.Context()))
}

// TestServerPacedRounds is MRTR-06: a state without a question is sent back after a pause that grows, and the rounds
// are counted (MRTR-16).
func TestServerPacedRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		l := script(t, discoverable(`{"tools":{}}`), func(p *scripted) {
			for {
				m, ok := p.receive()
				if !ok {
					return
				}
				at = append(at, time.Since(began))
				p.answer(m, `{"resultType":"input_required","requestState":"again"}`)
			}
		})
		s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Call(t.Context(), "t", nil, client.CallOptions{})
		wantError(t, err, client.PhaseCall, client.CodeProtocol)
		closeSession(t, s)
		ms := time.Millisecond
		want := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 6300 * ms, 11300 * ms}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPersonWhoTakesTheTime is MRTR-17: the clocks of a call do not run while somebody thinks.
func TestPersonWhoTakesTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &client.Handler{Elicit: func(context.Context, client.Elicitation) (client.ElicitAnswer, error) {
			time.Sleep(3 * time.Hour)
			return client.ElicitAnswer{Action: client.ActionDecline}, nil
		}}
		l := script(t, discoverable(`{"tools":{}}`), func(p *scripted) {
			p.answer(p.expect("tools/call"), `{"resultType":"input_required","inputRequests":{"k":`+form+`}}`)
			p.answer(p.expect("tools/call"), `{"content":[]}`)
			p.drain()
		})
		s, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l, Handler: h})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Call(t.Context(), "t", nil, client.CallOptions{Idle: time.Second, Total: time.Minute}); err != nil {
			t.Error(err)
		}
		closeSession(t, s)
	})
}

// TestDialectsOfOutputSchemas is BASE-28 and BASE-29: 2020-12 where nothing is said, draft-07 by its own rules, and no
// judgement by the rules of another dialect.
func TestDialectsOfOutputSchemas(t *testing.T) {
	for _, c := range []struct{ schema, warning string }{
		{`{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}]}}}`, "breaks outputSchema"},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependentRequired":{"a":["b"]}}`, "breaks outputSchema"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string"}]}}}`, "breaks outputSchema"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, "breaks outputSchema"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"string"}`, "dialect"},
		{`{"$schema":"https://example.com/mine","type":"string"}`, "dialect"},
	} {
		t.Run(c.schema, func(t *testing.T) {
			s := modernScript(t, nil, func(p *scripted) {
				p.answer(p.expect("tools/call"), `{"content":[],"structuredContent":{"a":[7]}}`)
			})
			r := must(s.Call(t.Context(), "t", nil, client.CallOptions{OutputSchema: json.RawMessage(c.schema)}))
			if w := strings.Join(r.Warnings, "; "); !strings.Contains(w, c.warning) || c.warning == "dialect" && !strings.Contains(w, "not checked") {
				t.Errorf("warnings %q, want %q", w, c.warning)
			}
		})
	}
}
