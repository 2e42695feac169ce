package interop_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// closeTime bounds the end of a session in a test.
const closeTime = 10 * time.Second

// goServer is this test binary as a server.
func goServer(t *testing.T, sdk string) config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{Name: sdk, Command: exe, Env: map[string]config.Secret{serverVar: config.Secret(sdk)}}
}

// nodeServer is one of the JavaScript servers beside this test.
func nodeServer(t *testing.T, script string, args ...string) config.Server {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("USHER_REQUIRE_NODE") != "" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed: %v", err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "node_modules/@modelcontextprotocol/server")); err != nil {
		missing("the npm packages are not installed, run npm ci: %v", err)
	}
	path, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{Name: strings.TrimSuffix(script, ".mjs"), Command: node, Args: append([]string{path}, args...), Cwd: root}
}

func TestEverySDKInEveryEraItSpeaks(t *testing.T) {
	for _, c := range []struct {
		name     string
		server   func(*testing.T) config.Server
		policy   config.Negotiation
		era      client.Era
		version  string
		declined bool // the connection must fail with CodeIncompat
	}{
		{"go-sdk legacy", func(t *testing.T) config.Server { return goServer(t, "go-sdk") }, config.Legacy, client.Legacy, "2025-11-25", false},
		{"go-sdk auto", func(t *testing.T) config.Server { return goServer(t, "go-sdk") }, config.Auto, client.Modern, "2026-07-28", false},
		{"mcp-go legacy", func(t *testing.T) config.Server { return goServer(t, "mcp-go") }, config.Legacy, client.Legacy, "2025-11-25", false},
		{"mcp-go auto", func(t *testing.T) config.Server { return goServer(t, "mcp-go") }, config.Auto, client.Modern, "2026-07-28", false},
		{"TypeScript 1.x legacy", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v1.mjs") }, config.Legacy, client.Legacy, "2025-11-25", false},
		{"TypeScript 1.x auto", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v1.mjs") }, config.Auto, client.Legacy, "2025-11-25", false},
		{"TypeScript 2.x legacy", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v2.mjs", "both") }, config.Legacy, client.Legacy, "2025-11-25", false},
		{"TypeScript 2.x auto", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v2.mjs", "both") }, config.Auto, client.Modern, "2026-07-28", false},
		{"TypeScript 2.x modern only, auto", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v2.mjs", "modern") }, config.Auto, client.Modern, "2026-07-28", false},
		{"TypeScript 2.x modern only, legacy", func(t *testing.T) config.Server { return nodeServer(t, "typescript-v2.mjs", "modern") }, config.Legacy, "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := c.server(t)
			spec.VersionNegotiation = c.policy
			frames := &transcript{}
			sess, err := client.Dial(t.Context(), spec, client.Options{Trace: frames.add})
			if c.declined {
				var e *client.Error
				if !asError(err, &e) || e.Code != client.CodeIncompat || !strings.Contains(e.Hint, `"auto"`) {
					t.Fatalf("error = %v (hint %q), want a version mismatch that names the setting", err, hint(err))
				}
				return
			}
			if err != nil {
				t.Fatalf("Dial: %v\nstderr: %s", err, stderr(err))
			}
			defer func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closeTime)
				defer cancel()
				if err := sess.Close(ctx); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			if sess.Era() != c.era || sess.ProtocolVersion() != c.version {
				t.Fatalf("era %s, version %s; want %s, %s", sess.Era(), sess.ProtocolVersion(), c.era, c.version)
			}
			use(t, sess)
			frames.check(t, c.policy, c.era)
		})
	}
}

// use does with a session what people do.
func use(t *testing.T, sess *client.Session) {
	t.Helper()
	ctx := t.Context()
	if sess.Instructions() != "Say hello." {
		t.Errorf("instructions = %q", sess.Instructions())
	}
	tools, err := sess.Tools(ctx)
	if err != nil {
		t.Fatalf("Tools: %v", err)
	}
	if len(tools.Items) != 3 || len(tools.Rejected) != 0 {
		t.Errorf("tools = %v, rejected %v; want three", tools.Items, tools.Rejected)
	}
	res, err := sess.Call(ctx, "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{})
	if err != nil || len(res.Content) != 1 || res.Content[0].Text != "echo: hi" || res.IsError {
		t.Errorf("echo = %+v, %v", res, err)
	}
	res, err = sess.Call(ctx, "fail", nil, client.CallOptions{})
	if err != nil || !res.IsError || len(res.Content) != 1 || res.Content[0].Text != "it failed" {
		t.Errorf("fail = %+v, %v; want the tool's own error and no Go error", res, err)
	}
	res, err = sess.Call(ctx, "sum", json.RawMessage(`{"a":1,"b":2}`), client.CallOptions{})
	var sum struct{ Sum float64 }
	if err != nil || json.Unmarshal(res.StructuredContent, &sum) != nil || sum.Sum != 3 {
		t.Errorf("sum = %+v, %v", res, err)
	}
	prompts, err := sess.Prompts(ctx)
	if err != nil || len(prompts.Items) != 1 || prompts.Items[0].Name != "greet" || len(prompts.Items[0].Arguments) != 1 {
		t.Errorf("prompts = %+v, %v", prompts, err)
	}
	prompt, err := sess.Prompt(ctx, "greet", map[string]string{"name": "Ada"})
	if err != nil || len(prompt.Messages) != 1 || prompt.Messages[0].Content.Text != "Hello, Ada" {
		t.Errorf("prompt = %+v, %v", prompt, err)
	}
	resources, err := sess.Resources(ctx)
	if err != nil || len(resources.Items) != 1 || resources.Items[0].URI != "memo://note" {
		t.Errorf("resources = %+v, %v", resources, err)
	}
	read, err := sess.ReadResource(ctx, "memo://note")
	if err != nil || len(read.Contents) != 1 || read.Contents[0].Text == nil || *read.Contents[0].Text != "a note" {
		t.Errorf("read = %+v, %v", read, err)
	}
	if _, err := sess.ResourceTemplates(ctx); err != nil {
		t.Errorf("ResourceTemplates: %v", err)
	}
}

// transcript is what crossed the wire.
type transcript struct {
	mu   sync.Mutex
	sent map[string][]string // methods by process
}

func (tr *transcript) add(f client.Frame) {
	if !f.Sent {
		return
	}
	var m struct{ Method string }
	_ = json.Unmarshal(f.Data, &m)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.sent == nil {
		tr.sent = make(map[string][]string)
	}
	tr.sent[f.Process] = append(tr.sent[f.Process], m.Method)
}

// check holds M2, M3 and M5: who is asked what, and never anything else.
func (tr *transcript) check(t *testing.T, policy config.Negotiation, era client.Era) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	probe, session := tr.sent["probe"], tr.sent["session"]
	switch {
	case policy == config.Legacy && len(probe) != 0:
		t.Errorf("a legacy server was probed: %v", probe)
	case policy == config.Auto && (len(probe) != 1 || probe[0] != "server/discover"):
		t.Errorf("the probe sent %v, want server/discover alone", probe)
	}
	for _, method := range session {
		if method == "server/discover" || era == client.Modern && (method == "initialize" || method == "notifications/initialized") {
			t.Errorf("the %s session process received %s", era, method)
		}
	}
	if era == client.Legacy && (len(session) < 2 || session[0] != "initialize" || session[1] != "notifications/initialized") {
		t.Errorf("the session began with %v", session[:min(2, len(session))])
	}
}
