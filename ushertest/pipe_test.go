package ushertest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/ushertest"
)

// wire is a client of raw lines.
type wire struct {
	t *testing.T
	w io.Writer
	r *bufio.Reader
}

func dial(t *testing.T, flags ...string) (*wire, *ushertest.Pipe) {
	t.Helper()
	p := ushertest.NewPipe(t, flags...)
	return &wire{t, p.Writer, bufio.NewReader(p.Reader)}, p
}

func (c *wire) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.w, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *wire) line() string {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatalf("after %q: %v", line, err)
	}
	return strings.TrimRight(line, "\r\n")
}

type answer struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func (c *wire) answer() answer {
	c.t.Helper()
	line := c.line()
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	return a
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`

// modern renders a modern request; more is appended to its params, e.g. `,"name":"echo"`.
func modern(id int, method, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}%s}}`, id, method, modernMeta, more)
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// legacy opens a session.
func legacy(t *testing.T, flags ...string) (*wire, *ushertest.Pipe) {
	t.Helper()
	c, p := dial(t, flags...)
	c.send(initialize)
	if a := c.answer(); a.Result["protocolVersion"] != "2025-11-25" {
		t.Fatalf("initialize: %+v", a)
	}
	c.send(initialized)
	return c, p
}

func TestEraDecidesWhatTheFirstRequestGets(t *testing.T) {
	discover := modern(1, "server/discover", "")
	bare := request(1, "tools/list", `{}`)
	future := strings.ReplaceAll(discover, "2026-07-28", "2027-01-01")
	for _, tc := range []struct {
		name, era, send string
		code            int // 0: a result
		violations      int
	}{
		{"legacy does not know discover", "legacy", discover, -32601, 0},
		{"legacy answers initialize", "legacy", initialize, 0, 0},
		{"legacy wants initialize first", "legacy", bare, -32600, 1},
		{"modern answers discover", "modern", discover, 0, 0},
		{"modern refuses initialize", "modern", initialize, -32022, 0},
		{"modern wants _meta", "modern", bare, -32602, 1},
		{"modern does not know the future", "modern", future, -32022, 0},
		{"both answer discover", "both", discover, 0, 0},
		{"both answer initialize", "both", initialize, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, p := dial(t, "--era", tc.era)
			c.send(tc.send)
			a := c.answer()
			switch {
			case tc.code == 0 && a.Error != nil, tc.code != 0 && (a.Error == nil || a.Error.Code != tc.code):
				t.Errorf("got %+v, %+v", a, a.Error)
			}
			if got := p.Log(t).Violations(); len(got) != tc.violations {
				t.Errorf("violations %q", got)
			}
		})
	}
}

func TestModernResultsCarryWhatTheEraAsksFor(t *testing.T) {
	c, _ := dial(t, "--era", "modern", "--ttl", "60000.0", "--scope", "public")
	c.send(modern(1, "tools/list", ""))
	line := c.line()
	for _, want := range []string{`"resultType":"complete"`, `"ttlMs":60000.0`, `"cacheScope":"public"`, `"io.modelcontextprotocol/serverInfo"`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	c.send(modern(2, "tools/call", `,"name":"echo","arguments":{"message":"hi"}`))
	if line := c.line(); strings.Contains(line, "ttlMs") {
		t.Errorf("a call's result has a cache hint: %s", line)
	}
}

func TestLogHasFramesByteForByte(t *testing.T) {
	c, p := dial(t, "--era", "legacy")
	odd := `{ "jsonrpc":"2.0","id":0, "method":"initialize","params":{"protocolVersion":"2025-11-25","x":"<&> 9007199254740993"}}`
	c.send(odd)
	sent := c.line()
	log := p.Log(t)
	if got := log.Received("initialize"); len(got) != 1 || got[0].Text != odd {
		t.Errorf("received %+v", got)
	}
	if got := log.Events("sent"); len(got) != 1 || got[0].Text != sent || string(got[0].ID) != "0" {
		t.Errorf("sent %+v, want %s", got, sent)
	}
}

func TestFlagsThatSpoilOneMethod(t *testing.T) {
	c, p := legacy(t, "--silent", "prompts/list", "--error", "resources/list=-32099:no way", "--error-data", `resources/list={"why":"so"}`, "--result", "ping={\"odd\":1}",
		"--raw", `tools/list={"id":{{id}}} trailing`, "--delay", "prompts/get=1h")
	c.send(request(1, "prompts/list", `{}`))
	c.send(request(2, "prompts/get", `{"name":"plain"}`))
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	c.send(request(3, "resources/list", `{}`))
	if a := c.answer(); a.Error == nil || a.Error.Code != -32099 || a.Error.Message != "no way" || a.Error.Data["why"] != "so" {
		t.Errorf("got %+v", a)
	}
	c.send(request(4, "ping", `{}`))
	if a := c.answer(); a.Result["odd"] != 1.0 {
		t.Errorf("got %+v", a)
	}
	c.send(request(5, "tools/list", `{}`))
	if got := c.line(); got != `{"id":5} trailing` {
		t.Errorf("got %s", got)
	}
	for _, r := range p.Log(t).Events("sent") {
		if id := string(r.ID); id == "1" || id == "2" {
			t.Errorf("the silent or cancelled request %s was answered", id)
		}
	}
}

func TestPages(t *testing.T) {
	for _, tc := range []struct {
		name    string
		flags   []string
		cursors []any // the cursor each page gives; nil for none
	}{
		{"one page", nil, []any{nil}},
		{"three", []string{"--pages", "3"}, []any{"page-2", "page-3", nil}},
		{"empty cursor", []string{"--pages", "2", "--empty-cursor"}, []any{"", nil}},
		{"more pages than items", []string{"--pages", "30"}, []any{"page-2", "page-3"}},
		{"stuck", []string{"--pages", "2", "--stuck-cursor"}, []any{"stuck", "stuck", "stuck"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := legacy(t, tc.flags...)
			params := `{}`
			for i, want := range tc.cursors {
				c.send(request(i+1, "tools/list", params))
				got := c.answer().Result["nextCursor"]
				if got != want {
					t.Errorf("page %d gives the cursor %v, want %v", i+1, got, want)
				}
				params = fmt.Sprintf(`{"cursor":%q}`, got)
			}
		})
	}
	c, _ := legacy(t, "--pages", "3")
	c.send(request(1, "tools/list", `{"cursor":"bogus"}`))
	if a := c.answer(); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("a bogus cursor got %+v", a)
	}
}

func TestNoiseStandsBetweenFrames(t *testing.T) {
	c, _ := dial(t, "--noise", "stdout", "--banner")
	var got []string
	for range 4 {
		got = append(got, c.line())
	}
	want := []string{"fx is starting", "\ufeff\x1b[32mfx 1.0.0\x1b[0m listening on stdio", "", `{"level":30,"msg":"started"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	c.send(request(1, "ping", `{}`))
	if noise := c.line(); !strings.HasPrefix(noise, "debug: ") {
		t.Errorf("got %q", noise)
	}
	if a := c.answer(); a.Result == nil {
		t.Errorf("got %+v", a)
	}
}

func TestListenDeliversOnlyWhatWasAskedFor(t *testing.T) {
	c, _ := dial(t, "--era", "modern")
	c.send(modern(1, "subscriptions/listen", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["fx://readme"]}`))
	ack := c.answer()
	want := map[string]any{
		"_meta":         map[string]any{"io.modelcontextprotocol/subscriptionId": 1.0},
		"notifications": map[string]any{"toolsListChanged": true, "resourceSubscriptions": []any{"fx://readme"}},
	}
	if diff := cmp.Diff(want, ack.Params); ack.Method != "notifications/subscriptions/acknowledged" || diff != "" {
		t.Fatalf("%s (-want +got):\n%s", ack.Method, diff)
	}
	call := func(id int, tool, args string) []answer {
		t.Helper()
		c.send(modern(id, "tools/call", fmt.Sprintf(`,"name":%q,"arguments":%s`, tool, args)))
		var out []answer
		for {
			a := c.answer()
			out = append(out, a)
			if a.Method == "" {
				return out
			}
		}
	}
	if got := call(2, "update_resource", `{"uri":"fx://pixel"}`); len(got) != 1 {
		t.Errorf("an update nobody asked for was delivered: %+v", got)
	}
	if got := call(3, "update_resource", `{"uri":"fx://readme"}`); len(got) != 2 || got[0].Method != "notifications/resources/updated" {
		t.Errorf("got %+v", got)
	}
	if got := call(4, "change_tools", `{"name":"more"}`); len(got) != 2 || got[0].Method != "notifications/tools/list_changed" {
		t.Errorf("got %+v", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(modern(5, "tools/list", ""))
	tools, _ := c.answer().Result["tools"].([]any)
	if last, _ := tools[len(tools)-1].(map[string]any); last["name"] != "more" {
		t.Errorf("the new tool is not listed: %v", last)
	}
}

func TestQuestionInRounds(t *testing.T) {
	c, p := dial(t, "--era", "modern", "--elicit", "--rounds", "2")
	c.send(modern(1, "tools/call", `,"name":"ask","arguments":{}`))
	a := c.answer()
	for round := 2; round <= 3; round++ {
		if a.Result["resultType"] != "input_required" {
			t.Fatalf("got %+v", a)
		}
		state, err := json.Marshal(a.Result["requestState"])
		if err != nil {
			t.Fatal(err)
		}
		c.send(modern(round, "tools/call", `,"name":"ask","arguments":{},"requestState":`+string(state)+
			`,"inputResponses":{"q.1 ü":{"action":"accept","content":{"name":"Ada"}}}`))
		a = c.answer()
	}
	if a.Result["resultType"] != "complete" {
		t.Errorf("got %+v", a)
	}
	c.send(modern(4, "tools/call", `,"name":"ask","arguments":{},"requestState":"made up"`))
	if a := c.answer(); a.Error == nil {
		t.Errorf("a made-up state got %+v", a)
	}
	if got := p.Log(t).Violations(); len(got) != 1 || !strings.Contains(got[0], "MRTR-08") {
		t.Errorf("violations %q", got)
	}
	c.send(strings.ReplaceAll(modern(5, "tools/call", `,"name":"ask"`), `"elicitation":{}`, ""))
	if a := c.answer(); a.Error == nil || a.Error.Code != -32021 {
		t.Errorf("without the capability: %+v", a)
	}
}

func TestViolationsOfALegacyClient(t *testing.T) {
	c, p := dial(t, "--era", "both")
	c.send(initialize)
	c.answer()
	c.send(request(1, "tools/list", `{}`)) // before initialized
	c.answer()
	c.send(initialized)
	c.send(request(1, "ping", `{}`)) // the id again
	c.answer()
	c.send(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`)
	c.answer()
	c.send(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	c.send("hello")
	c.answer()
	var rules []string
	for _, v := range p.Log(t).Violations() {
		rules = append(rules, strings.SplitN(v, " ", 3)[0])
	}
	if diff := cmp.Diff([]string{"tools/list", "request", "request", "a", "not"}, rules); diff != "" {
		t.Errorf("violations (-want +got):\n%s\n%q", diff, p.Log(t).Violations())
	}
}

func TestContentAndResultShape(t *testing.T) {
	c, _ := legacy(t, "--content", "text,image,audio,link,embedded,structured,unknown", "--is-error")
	c.send(request(1, "tools/call", `{"name":"echo","arguments":{"message":"x"}}`))
	a := c.answer()
	var kinds []string
	blocks, _ := a.Result["content"].([]any)
	for _, b := range blocks {
		m, _ := b.(map[string]any)
		kind, _ := m["type"].(string)
		kinds = append(kinds, kind)
	}
	if diff := cmp.Diff([]string{"text", "image", "audio", "resource_link", "resource", "hologram"}, kinds); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if a.Result["isError"] != true || a.Result["structuredContent"] == nil {
		t.Errorf("got %+v", a.Result)
	}
}

func TestNamesAndSchemaFromFiles(t *testing.T) {
	dir := t.TempDir()
	names, schema := filepath.Join(dir, "names"), filepath.Join(dir, "schema")
	if err := os.WriteFile(names, []byte("ünïcode\nwith blank\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(schema, []byte(`{"type":"object","zeta":9007199254740993}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := legacy(t, "--names", names, "--schema", schema)
	c.send(request(1, "tools/list", `{}`))
	line := c.line()
	for _, want := range []string{`"name":"ünïcode"`, `"name":"with blank"`, `"inputSchema":{"type":"object","zeta":9007199254740993}`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	c.send(request(2, "tools/call", `{"name":"with blank","arguments":{"message":"m"}}`))
	if a := c.answer(); a.Error != nil {
		t.Errorf("got %+v", a.Error)
	}
}

func TestAppVariants(t *testing.T) {
	read := func(t *testing.T, option string) (line string, a answer) {
		t.Helper()
		c, _ := legacy(t, "--app="+option)
		c.send(request(1, "resources/read", `{"uri":"ui://fx/dashboard"}`))
		line = c.line()
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		return line, a
	}
	for option, want := range map[string]string{
		"mime=text/html": `"mimeType":"text/html"`,
		"uri=ui://other": `"uri":"ui://other"`,
		"blob":           `"blob":"PCFkb2N0eXBl`,
		"binary":         `"blob":"//48IWRv`,
		"csp":            `"csp":{"connectDomains":`,
		"missing":        `"code":-32002`,
		"error":          `"code":-32603`,
	} {
		if line, _ := read(t, option); !strings.Contains(line, want) {
			t.Errorf("%s: no %s in %.300s", option, want, line)
		}
	}
	_, a := read(t, "size=2MB")
	contents, _ := a.Result["contents"].([]any)
	content, _ := contents[0].(map[string]any)
	if text, _ := content["text"].(string); len(text) != 2<<20 {
		t.Errorf("size %d", len(text))
	}
}

func TestRunRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"},
		{"--era", "middle"},
		{"--delay", "x"},
		{"--delay", "m=soon"},
		{"--error", "m=notanumber"},
		{"--noise", "nowhere"},
		{"--noise", "stderr:many"},
		{"--content", "smell"},
		{"--elicit=nothing"},
		{"--app=bogus"},
		{"--pages", "0"},
		{"--schema", "/no/such/file"},
		{"--result", "m=notjson"},
		{"stray"},
		{"--http", "0.0.0.0:0"},
		{"--error-data", "m={}"},
	} {
		var out, errs strings.Builder
		if status := ushertest.Run(t.Context(), args, strings.NewReader(""), &out, &errs); status != 2 {
			t.Errorf("%q: status %d, want 2", args, status)
		}
		if !strings.HasPrefix(errs.String(), "fx: ") || out.Len() > 0 {
			t.Errorf("%q: stderr %q, stdout %q", args, errs.String(), out.String())
		}
	}
}
