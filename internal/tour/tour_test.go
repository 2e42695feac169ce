package tour_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/tour"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a client's end that speaks raw JSON lines, so that what it sends is all there is.
type lines struct {
	t   *testing.T
	in  io.Writer
	out *json.Decoder
	err *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// run starts the tour over pipes and ends it with the test, by the end of its input.
func run(t *testing.T) *lines {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &lines{t: t, in: inW, out: json.NewDecoder(outR), err: &buffer{}}
	done := make(chan error, 1)
	go func() {
		err := tour.Run(t.Context(), inR, outW, l.err)
		_ = outW.Close()
		done <- err
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
		if err := <-done; err != nil && t.Context().Err() == nil {
			t.Errorf("Run: %v", err)
		}
	})
	return l
}

func (l *lines) send(format string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, format+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lines) next() map[string]any {
	l.t.Helper()
	var m map[string]any
	if err := l.out.Decode(&m); err != nil {
		l.t.Fatalf("%v\nstderr: %s", err, l.err)
	}
	return m
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func TestAModernClientNeedsNoInitialize(t *testing.T) {
	t.Parallel()
	l := run(t)
	l.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
	got := l.next()
	versions, _ := dig(got, "result", "supportedVersions").([]any)
	if !slices.Contains(versions, any("2026-07-28")) {
		t.Fatalf("server/discover answered %v", got)
	}
	if dig(got, "result", "capabilities", "extensions", "io.modelcontextprotocol/ui") == nil {
		t.Errorf("the apps extension is not advertised: %v", dig(got, "result", "capabilities"))
	}
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},` + modernMeta + `}}`)
	got = l.next()
	if content, _ := dig(got, "result", "content").([]any); len(content) != 1 || dig(content[0], "text") != "hi" {
		t.Errorf("echo answered %v", got)
	}
	l.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + modernMeta + `}}`)
	if ttl, _ := dig(l.next(), "result", "ttlMs").(float64); ttl <= 0 {
		t.Errorf("the list carries no ttlMs")
	}
}

func TestALegacyClientInitializes(t *testing.T) {
	t.Parallel()
	l := run(t)
	l.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	got := l.next()
	if dig(got, "result", "protocolVersion") != "2025-11-25" || dig(got, "result", "capabilities", "extensions", "io.modelcontextprotocol/ui") == nil {
		t.Fatalf("initialize answered %v", got)
	}
	l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`)
	if content, _ := dig(l.next(), "result", "content").([]any); len(content) != 1 || dig(content[0], "text") != "hi" {
		t.Error("echo did not answer")
	}
}

// connect is an ordinary client of the tour in one era.
func connect(t *testing.T, version string, o *mcp.ClientOptions) (*mcp.ClientSession, *buffer) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	log := &buffer{}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- tour.Run(ctx, inR, outW, log) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, o)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = inW.Close()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		cancel()
	})
	return session, log
}

func eras(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func onlyText(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d blocks", len(res.Content))
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("a block of type %T", res.Content[0])
	}
	return block.Text
}

func TestTheDashboard(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		session, _ := connect(t, version, nil)
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "show_revenue_dashboard" })
		if i < 0 || dig(map[string]any(tools.Tools[i].Meta), "ui", "resourceUri") != "ui://revenue-dashboard" {
			t.Fatalf("the tool does not name its app: %+v", tools.Tools)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "show_revenue_dashboard", Arguments: map[string]any{"year": 2024}})
		if err != nil || res.IsError {
			t.Fatal(err, res)
		}
		if text := onlyText(t, res); !strings.Contains(text, "2024") || !strings.Contains(text, "| Europe | 2015 | 2132 | 2044 | 2466 | 8657 | +13.2 % |") {
			t.Errorf("the text is\n%s", text)
		}
		if dig(res.StructuredContent, "year") != 2024.0 {
			t.Errorf("the structured content is %v", res.StructuredContent)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://revenue-dashboard"})
		if err != nil {
			t.Fatal(err)
		}
		page := read.Contents[0]
		if page.MIMEType != "text/html;profile=mcp-app" || len(page.Text) > 60<<10 || !strings.HasPrefix(page.Text, "<!doctype html>") {
			t.Errorf("the page is %s, %d bytes", page.MIMEType, len(page.Text))
		}
		// The SVG namespace is a name, not an address.
		if rest := strings.ReplaceAll(page.Text, "http://www.w3.org/2000/svg", ""); strings.Contains(rest, "://") || strings.Contains(rest, "src=") || strings.Contains(rest, "@import") {
			t.Error("the page loads something from elsewhere")
		}
	})
}

func TestWrongArgumentsAreTheToolsError(t *testing.T) {
	t.Parallel()
	session, _ := connect(t, "2025-11-25", nil)
	for tool, args := range map[string]map[string]any{
		"show_revenue_dashboard": {"year": 1999}, "echo": {}, "slow": {"steps": 0}, "plan_trip": {"destination": "mars"},
	} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || !res.IsError || onlyText(t, res) == "" {
			t.Errorf("%s(%v) = %+v, %v; want an error for the model to read", tool, args, res, err)
		}
	}
}

func TestSlowReportsItsProgress(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		reports := make(chan *mcp.ProgressNotificationParams, 10)
		session, _ := connect(t, version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { reports <- req.Params },
		})
		params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"steps": 3, "stepMs": 10}}
		params.SetProgressToken("p")
		res, err := session.CallTool(t.Context(), params)
		if err != nil || res.IsError || !strings.HasPrefix(onlyText(t, res), "3 steps in ") {
			t.Fatal(res, err)
		}
		for step := 1.0; step <= 3; step++ {
			if r := <-reports; r.Progress != step || r.Total != 3 || r.Message == "" || r.ProgressToken != "p" {
				t.Errorf("report %v is %+v", step, r)
			}
		}
	})
}

func TestSlowStopsWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		started := make(chan struct{}, 100)
		session, log := connect(t, version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { started <- struct{}{} },
		})
		ctx, cancel := context.WithCancel(t.Context())
		params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"steps": 100, "stepMs": 50}}
		params.SetProgressToken("p")
		ended := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, params)
			ended <- err
		}()
		<-started
		cancel()
		if err := <-ended; err == nil {
			t.Error("the cancelled call has a result")
		}
		for !strings.Contains(log.String(), "slow was cancelled") {
			if t.Context().Err() != nil {
				t.Fatal("the server never heard of it")
			}
			time.Sleep(time.Millisecond) // polls what the server writes; nothing else depends on it
		}
	})
}

func TestPlanTrip(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		full := map[string]any{
			"destination": "kyo", "departure": "2026-04-02", "nights": 12, "budget": 4200.5, "pace": "slow", "train": true,
			"interests": []string{"food"}, "travellers": []map[string]any{{"name": "Ada", "age": 36}}, "contact": map[string]any{"name": "Ada"}, "notes": "Quiet rooms",
		}
		session, _ := connect(t, version, nil)
		call := func(s *mcp.ClientSession, args map[string]any) string {
			t.Helper()
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "plan_trip", Arguments: args})
			if err != nil || res.IsError {
				t.Fatal(res, err)
			}
			return onlyText(t, res)
		}
		for _, want := range []string{"Kyoto", "12 nights", "slow pace", "2026-04-02", "food", "Ada", "Quiet rooms", "4200.50"} {
			if got := call(session, full); !strings.Contains(got, want) {
				t.Errorf("%q lacks %q", got, want)
			}
		}
		if got := call(session, map[string]any{"destination": "lis"}); !strings.Contains(got, "Lisbon") || strings.Contains(got, "Contact") {
			t.Errorf("a client that cannot ask got %q", got)
		}

		for action, want := range map[string]string{"accept": "Contact: Grace grace@example.com", "decline": "not planned"} {
			var asked []string
			session, _ := connect(t, version, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, req.Params.Message)
					answer := &mcp.ElicitResult{Action: action}
					if action == "accept" {
						answer.Content = map[string]any{"name": "Grace", "email": "grace@example.com"}
					}
					return answer, nil
				},
			})
			if got := call(session, map[string]any{"destination": "lis"}); !strings.Contains(got, want) || len(asked) != 1 {
				t.Errorf("after %q to %q: %q", action, asked, got)
			}
		}
	})
}

func TestResourcesPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, version string) {
		session, _ := connect(t, version, nil)
		read := func(uri string) string {
			t.Helper()
			res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			return res.Contents[0].Text
		}
		if got := read("tour://welcome"); !strings.HasPrefix(got, "# Welcome") {
			t.Errorf("welcome is %q", got)
		}
		if got := read("tour://revenue/Asia%20Pacific"); !strings.Contains(got, "| 2025 | 1584 | 1790 | 2013 | 2385 |") {
			t.Errorf("Asia Pacific is %q", got)
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "tour://revenue/Atlantis"}); err == nil {
			t.Error("Atlantis has revenue")
		}
		templates, err := session.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Fatal(templates, err)
		}
		prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "revenue_briefing", Arguments: map[string]string{"region": "Europe"}})
		if err != nil || len(prompt.Messages) != 1 {
			t.Fatal(prompt, err)
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "revenue_briefing"}, {Type: "ref/resource", URI: templates.ResourceTemplates[0].URITemplate}} {
			got, err := session.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "region", Value: "a"}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"Americas", "Asia Pacific", "Africa & Middle East"}, got.Completion.Values); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestServerStartsThisProgram(t *testing.T) {
	t.Parallel()
	s := tour.Server("/opt/usher")
	if s.Name != "tour" || s.Command != "/opt/usher" || !slices.Equal(s.Args, []string{"tour"}) || s.VersionNegotiation != config.Auto || s.Source.Scope != config.ScopeBuiltin || s.Remote() {
		t.Errorf("Server = %+v", s)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	defer inW.Close()
	done := make(chan error, 1)
	go func() { done <- tour.Run(ctx, inR, io.Discard, io.Discard) }()
	cancel()
	if err := <-done; err == nil {
		t.Error("Run does not say that it was cancelled")
	}
}
