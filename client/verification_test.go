package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// The verifications V1 to V4. What the server received decides, not what the session says of itself.

// everything uses each method that a session has, once or more.
func everything(t *testing.T, s *client.Session) {
	t.Helper()
	ctx := t.Context()
	use(t, s)
	if l := must(s.Prompts(ctx)); len(l.Items) == 0 {
		t.Error("no prompts")
	}
	if l := must(s.Resources(ctx)); len(l.Items) == 0 {
		t.Error("no resources")
	}
	if l := must(s.ResourceTemplates(ctx)); len(l.Items) == 0 {
		t.Error("no templates")
	}
	if r := must(s.ReadResource(ctx, "fx://readme")); len(r.Contents) == 0 {
		t.Error("the resource is empty")
	}
	if p := must(s.Prompt(ctx, "greet", map[string]string{"name": "Ada"})); len(p.Messages) == 0 {
		t.Error("the prompt is empty")
	}
	must(s.Complete(ctx, client.CompletionRef{Prompt: "greet"}, "name", "A", nil))
	if r := must(s.Call(ctx, "ask", nil, client.CallOptions{})); r.IsError {
		t.Errorf("a tool that asks: %s", r.Raw)
	}
	if err := s.Subscribe(ctx, "fx://readme"); err != nil {
		t.Error(err)
	}
	if err := s.Unsubscribe(ctx, "fx://readme"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	_, err := s.Call(ctx, "slow", json.RawMessage(`{"ms":60000,"steps":6000}`), client.CallOptions{OnProgress: func(client.Progress) { cancel() }})
	wantError(t, err, client.PhaseCall, client.CodeCancelled)
	must(s.Tools(t.Context())) // what was sent before has arrived
}

// TestV1 is V1: a server of the modern era alone is found by server/discover and used without initialize, and every
// request says its version, client and capabilities (BASE-17, BASE-18, NEG-01). Nothing of the legacy era is sent
// (BASE-27), no id twice (BASE-03), and nothing that is no request or notification (BASE-05, STD-03).
func TestV1(t *testing.T) {
	var a answering
	spec := auto(ushertest.Command(t, "--era", "modern", "--elicit", "--pages", "2"))
	s := dial(t, spec, client.Options{Handler: a.handler()})
	everything(t, s)
	closeSession(t, s)

	log := ushertest.ReadLog(t, spec)
	pids := log.PIDs()
	if len(pids) != 2 {
		t.Fatalf("processes %v; want the probed one and the session's", pids)
	}
	if diff := cmp.Diff([]string{"server/discover"}, log.Of(pids[0]).Methods()); diff != "" {
		t.Errorf("the probed process received:\n%s", diff)
	}
	if params := log.Of(pids[0]).Received("server/discover")[0].Params(); len(params) != 1 {
		t.Errorf("server/discover has the params %v, want _meta alone (DISC-01)", params)
	}
	session := log.Of(pids[1])
	modern := []string{
		"completion/complete", "notifications/cancelled", "prompts/get", "prompts/list", "resources/list", "resources/read",
		"resources/templates/list", "subscriptions/listen", "tools/call", "tools/list",
	}
	if diff := cmp.Diff(modern, slices.Compact(slices.Sorted(slices.Values(session.Methods())))); diff != "" {
		t.Errorf("the session received:\n%s", diff)
	}
	for _, r := range session.Events("received") {
		if len(r.ID) == 0 {
			continue // a notification
		}
		meta, _ := r.Params()["_meta"].(map[string]any)
		info, _ := meta["io.modelcontextprotocol/clientInfo"].(map[string]any)
		capabilities, _ := meta["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
		if meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" || info["name"] != "usher" || capabilities["elicitation"] == nil {
			t.Errorf("%s says of itself %v", r.Text, meta)
		}
	}
	if v := log.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

// TestV2 is V2: over real Streamable HTTP the handshake is the legacy one, server/discover is never sent (M6), and every
// request has the headers of M13. A session id goes with all that comes after the handshake, the version that was
// agreed on with all of it.
func TestV2(t *testing.T) {
	var a answering
	h := ushertest.NewHTTP(t, "--elicit", "--versions", "2025-06-18", "--pages", "2")
	spec := h.Server()
	spec.Headers = map[string]config.Secret{"X-Api-Key": "k3y"}
	s := dial(t, spec, client.Options{Handler: a.handler()})
	everything(t, s)
	if s.ProtocolVersion() != "2025-06-18" {
		t.Errorf("version %s", s.ProtocolVersion())
	}
	closeSession(t, s)

	log := h.Log(t)
	if methods := log.Methods(); len(methods) < 2 || methods[0] != "initialize" || methods[1] != "notifications/initialized" || slices.Contains(methods, "server/discover") {
		t.Errorf("methods %v", methods)
	}
	id := ""
	for i, r := range log {
		if r.HTTP == "" {
			continue
		}
		header := http.Header(r.Header)
		if header.Get("X-Api-Key") != "k3y" {
			t.Errorf("%s lacks the configured header", r.HTTP)
		}
		switch got := header.Get("Mcp-Session-Id"); {
		case r.Method == "initialize":
			if got != "" {
				t.Error("initialize has a session id")
			}
		case got == "" || id != "" && got != id:
			t.Errorf("%s %s has the session id %q, want %q", r.HTTP, r.Method, got, id)
		default:
			id = got
		}
		version := "2025-06-18"
		if r.Method == "initialize" {
			version = "2025-11-25" // what is asked for
		}
		if got := header.Get("Mcp-Protocol-Version"); got != version {
			t.Errorf("record %d, %s %s: version header %q, want %q", i, r.HTTP, r.Method, got, version)
		}
		if !strings.HasPrefix(r.HTTP, "POST") {
			continue
		}
		if got := header.Get("Mcp-Method"); got != r.Method {
			t.Errorf("%s: Mcp-Method %q", r.Method, got)
		}
		name, _ := r.Params()["name"].(string)
		if r.Method == "resources/read" {
			name, _ = r.Params()["uri"].(string)
		}
		if got := header.Get("Mcp-Name"); (r.Method == "tools/call" || r.Method == "prompts/get" || r.Method == "resources/read") && (name == "" || got != name) {
			t.Errorf("%s: Mcp-Name %q, want %q", r.Method, got, name)
		}
	}
	if v := log.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

// TestV3 is V3: a legacy server that refuses server/discover gets initialize on a process of its own, and discovery and
// calls are as ever. Nothing of the modern era reaches that process (NEG-34, NEG-35).
func TestV3(t *testing.T) {
	var a answering
	spec := auto(ushertest.Command(t, "--era", "legacy", "--elicit", "--pages", "2"))
	s := dial(t, spec, client.Options{Handler: a.handler()})
	everything(t, s)
	closeSession(t, s)

	log := ushertest.ReadLog(t, spec)
	pids := log.PIDs()
	if len(pids) != 2 {
		t.Fatalf("processes %v", pids)
	}
	session := log.Of(pids[1])
	if methods := session.Methods(); len(methods) < 2 || methods[0] != "initialize" || methods[1] != "notifications/initialized" {
		t.Errorf("the session began with %v", methods)
	}
	for _, r := range session.Events("received") {
		if strings.Contains(r.Text, "io.modelcontextprotocol/protocolVersion") || r.Method == "server/discover" || r.Method == "subscriptions/listen" {
			t.Errorf("a legacy process received %s", r.Text)
		}
	}
	if n := len(session.Received("resources/subscribe")); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	if v := session.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

// TestV4 is V4: a list or read that the server let us keep is not asked for again, whichever it is (CACHE-01), and no
// other session has any use of it (M12, CACHE-10 to CACHE-12), were it called public.
func TestV4(t *testing.T) {
	for _, scope := range []string{"private", "public", "unheard-of"} {
		t.Run(scope, func(t *testing.T) {
			spec := auto(ushertest.Command(t, "--era", "modern", "--ttl", "60000", "--scope", scope))
			first := dial(t, spec, client.Options{})
			second := dial(t, spec, client.Options{})
			for _, s := range []*client.Session{first, second} {
				for range 3 {
					must(s.Tools(t.Context()))
					must(s.Prompts(t.Context()))
					must(s.Resources(t.Context()))
					must(s.ResourceTemplates(t.Context()))
					must(s.ReadResource(t.Context(), "fx://readme"))
				}
				must(s.ReadResource(t.Context(), "fx://pixel")) // another uri is another result (CACHE-02)
			}
			log := ushertest.ReadLog(t, spec)
			for _, s := range []*client.Session{first, second} {
				requests := make(map[string]int)
				for _, method := range log.Of(s.PID()).Methods() {
					requests[method]++
				}
				want := map[string]int{
					"tools/list": 1, "prompts/list": 1, "resources/list": 1, "resources/templates/list": 1, "resources/read": 2,
				}
				delete(requests, "subscriptions/listen")
				if diff := cmp.Diff(want, requests); diff != "" {
					t.Errorf("the process %d received:\n%s", s.PID(), diff)
				}
			}
		})
	}
}
