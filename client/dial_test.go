package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// use lists and calls, so that a session has shown that it works.
func use(t *testing.T, s *client.Session) {
	t.Helper()
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools.Items) == 0 || !tools.Supported {
		t.Fatalf("Tools: %d, %v", len(tools.Items), err)
	}
	r, err := s.Call(t.Context(), "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{})
	if err != nil || r.IsError || len(r.Content) == 0 {
		t.Fatalf("Call: %+v, %v", r, err)
	}
}

// TestModernOnlyServer is V1: no initialize anywhere, and the metadata on every request.
func TestModernOnlyServer(t *testing.T) {
	spec := auto(ushertest.Command(t, "--era", "modern"))
	s := dial(t, spec, client.Options{})
	use(t, s)
	if s.Era() != client.Modern || s.ProtocolVersion() != "2026-07-28" || s.Negotiation().Verdict != client.VerdictModern {
		t.Errorf("era %s, version %s, %+v", s.Era(), s.ProtocolVersion(), s.Negotiation())
	}
	log := ushertest.ReadLog(t, spec)
	pids := log.PIDs()
	if len(pids) != 2 || s.PID() != pids[1] {
		t.Fatalf("processes %v, session %d; want a sibling and the session", pids, s.PID())
	}
	if diff := cmp.Diff([]string{"server/discover"}, log.Of(pids[0]).Methods()); diff != "" {
		t.Errorf("sibling:\n%s", diff)
	}
	methods := log.Of(pids[1]).Methods()
	if len(methods) < 2 || methods[0] != "tools/list" || slices.Contains(methods, "initialize") || slices.Contains(methods, "server/discover") {
		t.Errorf("session: %v", methods)
	}
	for _, r := range log.Events("received") {
		meta, _ := r.Params()["_meta"].(map[string]any)
		caps, _ := meta["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
		if meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" || meta["io.modelcontextprotocol/clientInfo"] == nil || caps["extensions"] == nil {
			t.Errorf("%s has the metadata %v", r.Method, meta)
		}
	}
	if v := log.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

// TestSiblingIsGoneFirst needs it: the server holds a lock that no second instance gets (M3).
func TestSiblingIsGoneFirst(t *testing.T) {
	spec := auto(ushertest.Command(t, "--lock", filepath.Join(t.TempDir(), "lock")))
	use(t, dial(t, spec, client.Options{}))
	if refused := ushertest.ReadLog(t, spec).Events("refused"); len(refused) != 0 {
		t.Errorf("two instances at once: %v", refused)
	}
}

// TestLegacyIsTheDefault is M2: one process, initialize first, no probe.
func TestLegacyIsTheDefault(t *testing.T) {
	spec := ushertest.Command(t)
	s := dial(t, spec, client.Options{})
	use(t, s)
	if s.Era() != client.Legacy || s.Negotiation().Probed || s.ProtocolVersion() != "2025-11-25" {
		t.Errorf("era %s, version %s, %+v", s.Era(), s.ProtocolVersion(), s.Negotiation())
	}
	log := ushertest.ReadLog(t, spec)
	want := []string{"initialize", "notifications/initialized", "tools/list", "tools/call"}
	if diff := cmp.Diff(want, log.Methods()); diff != "" {
		t.Error(diff)
	}
	caps, _ := log.Received("initialize")[0].Params()["capabilities"].(map[string]any)
	wantCaps := map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []any{"text/html;profile=mcp-app"}}}}
	if diff := cmp.Diff(wantCaps, caps); diff != "" {
		t.Errorf("M15:\n%s", diff)
	}
	if v := log.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

// TestFallback is V3 and M5: each kind of legacy server, and the bytes the session process got must be those it gets
// from a client that never probed.
func TestFallback(t *testing.T) {
	reference := ushertest.Command(t, "--era", "legacy")
	use(t, dial(t, reference, client.Options{}))
	want := received(ushertest.ReadLog(t, reference))

	for _, c := range []struct {
		name   string
		flags  []string
		window time.Duration
		probed bool
		reason string
	}{
		{"refuses", []string{"--era", "legacy"}, 0, true, "refused"},
		{"invalid params", []string{"--error", "server/discover=-32602"}, 0, true, "-32602"},
		{"old code", []string{"--error", "server/discover=-32000:not initialized"}, 0, true, "-32000"},
		{"exits", []string{"--exit-on", "server/discover=3"}, 0, true, "exit status 3"},
		{"empty result", []string{"--result", "server/discover={}"}, 0, true, "no discovery"},
		{"garbage", []string{"--raw", "server/discover=what?"}, 5500 * time.Millisecond, true, "no answer"},
		{"silent", []string{"--silent", "server/discover"}, 5500 * time.Millisecond, true, "no answer"},
		{"error without id", []string{"--raw", `server/discover={"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`}, 0, true, "-32700"},
		{"window too small for both", []string{"--era", "legacy"}, 5 * time.Second, false, "no probe"},
		{"noise", []string{"--era", "legacy", "--noise", "stdout", "--banner"}, 0, true, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := auto(ushertest.Command(t, c.flags...))
			spec.DiscoveryTimeout = c.window
			s := dial(t, spec, client.Options{})
			use(t, s)
			n := s.Negotiation()
			if s.Era() != client.Legacy || n.Probed != c.probed || !strings.Contains(n.Reason, c.reason) {
				t.Errorf("era %s, %+v", s.Era(), n)
			}
			log := ushertest.ReadLog(t, spec)
			processes := 1
			if c.probed {
				processes = 2
			}
			pids := log.PIDs()
			if len(pids) != processes {
				t.Fatalf("%d processes, want %d", len(pids), processes)
			}
			if diff := cmp.Diff(want, received(log.Of(pids[processes-1]))); diff != "" {
				t.Errorf("the session's frames differ from those of a client that never probed:\n%s", diff)
			}
		})
	}
}

func received(log ushertest.Log) []string {
	var out []string
	for _, r := range log.Events("received") {
		out = append(out, r.Text)
	}
	return out
}

func TestIncompatibleServers(t *testing.T) {
	t.Run("other modern version", func(t *testing.T) {
		spec := auto(ushertest.Command(t, "--error", "server/discover=-32022"))
		_, err := client.Dial(t.Context(), spec, client.Options{})
		wantError(t, err, client.PhaseProbe, client.CodeIncompat)
		if got := ushertest.ReadLog(t, spec).Received("initialize"); len(got) != 0 {
			t.Error("a modern server got initialize (NEG-26)")
		}
	})
	t.Run("list without ours", func(t *testing.T) {
		l := script(t, func(p *scripted) {
			p.refuse(p.expect("server/discover"), -32022, `{"supported":["2027-01-01"]}`)
			p.drain()
		})
		_, err := client.Dial(t.Context(), auto(scriptedServer()), client.Options{Launcher: l})
		e := wantError(t, err, client.PhaseProbe, client.CodeIncompat)
		if !strings.Contains(e.Message, "2027-01-01") || !strings.Contains(e.Message, "2026-07-28") {
			t.Errorf("message %q does not name both sides' versions", e.Message)
		}
	})
	t.Run("modern server, legacy setting", func(t *testing.T) {
		l := script(t, func(p *scripted) {
			p.refuse(p.expect("initialize"), -32022, `{"supported":["2026-07-28"]}`)
			p.drain()
		})
		_, err := client.Dial(t.Context(), scriptedServer(), client.Options{Launcher: l})
		e := wantError(t, err, client.PhaseHandshake, client.CodeIncompat)
		if !strings.Contains(e.Hint, `"versionNegotiation": "auto"`) || e.RPC == nil || e.RPC.Code != -32022 {
			t.Errorf("hint %q, rpc %v", e.Hint, e.RPC)
		}
	})
	for _, version := range []string{"2026-07-28", "1999-01-01", "2027-01-01", ""} {
		t.Run("initialize answered with "+version, func(t *testing.T) {
			l := script(t, func(p *scripted) {
				p.answer(p.expect("initialize"), `{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
				p.drain()
			})
			_, err := client.Dial(t.Context(), scriptedServer(), client.Options{Launcher: l})
			code := client.CodeIncompat
			if version == "" {
				code = client.CodeProtocol
			}
			wantError(t, err, client.PhaseHandshake, code)
		})
	}
}

// TestVersionThatTheServerNames is LEG-03: one more handshake with a version of the refusal's list, then an error.
func TestVersionThatTheServerNames(t *testing.T) {
	for _, c := range []struct {
		name      string
		code      int
		supported string
		second    string // the version asked for then, "" for none
	}{
		{"invalid params", -32602, `["2025-06-18","2024-11-05","2030-01-01"]`, "2025-06-18"},
		{"unsupported version", -32022, `["2024-11-05"]`, "2024-11-05"},
		{"an application's code", -32000, `["2025-03-26"]`, "2025-03-26"},
		{"only the version that was refused", -32602, `["2025-11-25"]`, ""},
		{"none that is spoken here", -32602, `["1999-01-01"]`, ""},
		{"no list", -32602, `"2025-06-18"`, ""},
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", refused again: ", again), func(t *testing.T) {
				var asked, ids []string
				l := script(t, func(p *scripted) {
					ask := func() message {
						m := p.expect("initialize")
						asked = append(asked, version(m.Params))
						ids = append(ids, string(m.ID))
						return m
					}
					p.refuse(ask(), c.code, `{"supported":`+c.supported+`}`)
					switch {
					case c.second == "":
					case again:
						p.refuse(ask(), c.code, `{"supported":`+c.supported+`}`)
					default:
						p.answer(ask(), `{"protocolVersion":"`+c.second+`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
						p.expect("notifications/initialized")
						p.answer(p.expect("tools/list"), `{"tools":[]}`)
					}
					p.drain()
				})
				s, err := client.Dial(t.Context(), scriptedServer(), client.Options{Launcher: l})
				if s != nil {
					t.Cleanup(func() { closeSession(t, s) })
				}
				want := []string{"2025-11-25"}
				if c.second != "" {
					want = append(want, c.second)
				}
				switch {
				case c.second == "" || again:
					if e, ok := errors.AsType[*client.Error](err); !ok || e.Phase != client.PhaseHandshake || e.RPC == nil || e.RPC.Code != int64(c.code) {
						t.Errorf("error %v, want the server's refusal", err)
					}
				case err != nil || s.ProtocolVersion() != c.second:
					t.Fatalf("session %v, %v", s, err)
				default:
					must(s.Tools(t.Context()))
				}
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Error(diff)
				}
				if len(ids) == 2 && ids[0] == ids[1] {
					t.Errorf("the id %s was used twice (BASE-03)", ids[0])
				}
			})
		}
	}
}

func version(params json.RawMessage) string {
	var p struct{ ProtocolVersion string }
	if err := json.Unmarshal(params, &p); err != nil {
		return err.Error()
	}
	return p.ProtocolVersion
}

// TestSlowModernServer answers no probe and refuses initialize: the refusal is proof that the silence was a wrong
// guess, and the session goes on as modern.
func TestSlowModernServer(t *testing.T) {
	l := script(t,
		func(p *scripted) { p.drain() },
		func(p *scripted) {
			p.refuse(p.expect("initialize"), -32022, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
			p.answer(p.expect("server/discover"), `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
			p.answer(p.expect("tools/list"), `{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
			p.drain()
		})
	spec := auto(scriptedServer())
	spec.DiscoveryTimeout = 5100 * time.Millisecond
	s := dial(t, spec, client.Options{Launcher: l})
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools.Items) != 1 || s.Era() != client.Modern {
		t.Errorf("era %s, tools %v, %v", s.Era(), tools, err)
	}
}

// TestSloppyHandshake: what is odd in the answer to initialize must not cost the session.
func TestSloppyHandshake(t *testing.T) {
	l := script(t, func(p *scripted) {
		p.answer(p.expect("initialize"), `{"protocolVersion":"2024-10-07","capabilities":{"tools":true,"prompts":[]},"serverInfo":{"name":"s","version":2},"instructions":["no"]}`)
		p.expect("notifications/initialized")
		p.refuse(p.expect("prompts/list"), -32601, `null`)
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	if prompts, err := s.Prompts(t.Context()); err != nil || prompts.Supported {
		t.Errorf("Prompts = %+v, %v; want an unsupported list (M9)", prompts, err)
	}
	if s.ProtocolVersion() != "2024-10-07" || s.Info().Version != "2" || !bytes.Contains(s.Capabilities(), []byte(`"tools":true`)) {
		t.Errorf("%s %+v %s", s.ProtocolVersion(), s.Info(), s.Capabilities())
	}
}

func TestFailuresToConnect(t *testing.T) {
	t.Run("no such command", func(t *testing.T) {
		_, err := client.Dial(t.Context(), config.Server{Name: "x", Command: "no-such-command-here"}, client.Options{})
		if e := wantError(t, err, client.PhaseSpawn, client.CodeUnavailable); e.Hint == "" {
			t.Error("no hint")
		}
	})
	t.Run("exits before it answers", func(t *testing.T) {
		spec := ushertest.Command(t, "--exit-on", "initialize=7", "--noise", "stderr:100")
		_, err := client.Dial(t.Context(), spec, client.Options{})
		e := wantError(t, err, client.PhaseHandshake, client.CodeUnavailable)
		if !strings.Contains(e.Message, "exit status 7") || e.Stderr == "" {
			t.Errorf("message %q, stderr %q", e.Message, e.Stderr)
		}
	})
	t.Run("never answers", func(t *testing.T) {
		spec := ushertest.Command(t, "--silent", "initialize")
		spec.DiscoveryTimeout = 300 * time.Millisecond
		_, err := client.Dial(t.Context(), spec, client.Options{})
		if e := wantError(t, err, client.PhaseHandshake, client.CodeTimeout); !strings.Contains(e.Hint, "discoveryTimeoutMs") {
			t.Errorf("hint %q", e.Hint)
		}
		if got := ushertest.ReadLog(t, spec).Received("notifications/cancelled"); len(got) != 0 {
			t.Error("initialize was cancelled (CAN-05)")
		}
	})
	t.Run("configuration problem", func(t *testing.T) {
		_, err := client.Dial(t.Context(), config.Server{Name: "x", Problem: errTest}, client.Options{})
		wantError(t, err, client.PhaseConfig, client.CodeConfig)
	})
}

func TestServerThatDies(t *testing.T) {
	spec := ushertest.Command(t, "--exit-on", "tools/call=5")
	s := dial(t, spec, client.Options{})
	_, err := s.Call(t.Context(), "echo", nil, client.CallOptions{})
	if e := wantError(t, err, client.PhaseCall, client.CodeUnknown); !strings.Contains(e.Message, "exit status 5") {
		t.Errorf("message %q", e.Message)
	}
	<-s.Done()
	if e := wantError(t, s.Err(), "", client.CodeUnavailable); !strings.Contains(e.Message, "exit status 5") {
		t.Errorf("message %q", e.Message)
	}
	_, err = s.Tools(t.Context())
	wantError(t, err, client.PhaseList, client.CodeUnavailable)
}

func TestCloseIsNoFailure(t *testing.T) {
	s := dial(t, ushertest.Command(t, "--ignore-eof"), client.Options{})
	calling := make(chan error, 1)
	go func() {
		_, err := s.Call(t.Context(), "slow", json.RawMessage(`{"ms":60000}`), client.CallOptions{OnProgress: func(client.Progress) {}})
		calling <- err
	}()
	closeSession(t, s)
	<-s.Done()
	if err := s.Err(); err != nil {
		t.Errorf("Err after Close: %v", err)
	}
	if err := <-calling; err == nil {
		t.Error("a call survived Close")
	}
}
