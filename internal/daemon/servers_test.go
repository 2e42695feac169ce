package daemon_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/ushertest"
)

// ready waits until a server is.
func ready(t *testing.T, f *fixture, name string) {
	t.Helper()
	if err := f.host.Wait(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// listed waits until a server's prompts and resources are in the catalog too, which may be after its tools.
func listed(t *testing.T, f *fixture, name string) {
	t.Helper()
	if err := f.host.WaitLists(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

func TestServersAreTold(t *testing.T) {
	good := fx(t, "good", "--noise", "stderr:1KB", "--instructions", "Use it well.")
	good.Env = maps.Clone(good.Env)
	good.Env["API_TOKEN"] = "hunter2-hunter2"
	bad := config.Server{Name: "bad", Type: config.TypeStdio, Command: "usher-test-no-such-command"}
	off := fx(t, "off")
	off.Disabled = true
	f := start(t, setup{servers: []config.Server{good, bad, off}})
	ready(t, f, "good")
	if err := f.host.Wait(t.Context(), "bad"); err == nil {
		t.Fatal("the server bad is ready")
	}
	list := do[api.ServerList](f, 200, "GET", "/v1/servers", nil).Servers
	if len(list) != 3 || list[0].Name != "good" || list[1].Name != "bad" || list[2].Name != "off" {
		t.Fatalf("servers = %+v", list)
	}
	g, b, o := list[0], list[1], list[2]
	if g.State != "ready" || g.Transport != "stdio" || g.Era == "" || g.ProtocolVersion == "" || g.PID == 0 || g.Tools == 0 ||
		g.Starts != 1 || g.Error != nil || g.Negotiation.Policy != "legacy" || g.Instructions != "Use it well." || !json.Valid(g.Capabilities) {
		t.Errorf("good = %+v", g)
	}
	if len(g.Settings) == 0 || strings.Contains(toJSON(t, list), "hunter2") {
		t.Error("its settings are missing, or hold the secret")
	}
	if b.State != "failed" || b.Error == nil || b.Error.Code != "server_unavailable" || b.Error.Phase != "spawn" || b.Error.Hint == "" {
		t.Errorf("bad = %+v, %+v", b, b.Error)
	}
	if o.State != "disabled" || o.Error != nil {
		t.Errorf("off = %+v", o)
	}
	status := do[api.Status](f, 200, "GET", "/v1/status", nil)
	if status.Servers != 3 || status.ServersReady != 1 || status.Version != "1.2.3" || status.StartedAt.IsZero() {
		t.Errorf("status = %+v", status)
	}
	stderr := do[api.Stderr](f, 200, "GET", "/v1/servers/good/stderr", nil)
	if len(stderr.Text) < 1000 || stderr.Truncated {
		t.Errorf("stderr = %q", stderr.Text)
	}
	for _, path := range []string{"/v1/servers/god", "/v1/servers/god/stderr"} {
		if a := f.send(f.request("GET", path, nil)); a.StatusCode != 404 || !strings.Contains(a.problem().Hint, `"good"`) {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServersAreTurnedOffAndOn(t *testing.T) {
	f := start(t, setup{servers: []config.Server{
		fx(t, "a/b c"), {Name: "bad", Type: config.TypeStdio, Command: "usher-test-no-such-command"},
	}})
	ready(t, f, "a/b c")
	act := func(name, what string) api.Server {
		return do[api.Server](f, 200, "POST", "/v1/servers/"+name+"/"+what, nil)
	}
	first := do[api.Server](f, 200, "GET", "/v1/servers/a%2Fb%20c", nil)
	if s := act("a%2Fb%20c", "reconnect"); s.State != "ready" || s.PID == first.PID || s.Starts != 2 {
		t.Errorf("reconnected: %+v", s)
	}
	if s := act("a%2Fb%20c", "disable"); s.State != "disabled" || s.PID != 0 {
		t.Errorf("disabled: %+v", s)
	}
	if tools := do[api.Catalog](f, 200, "GET", "/v1/catalog", nil).Tools; len(tools) != 0 {
		t.Errorf("a disabled server has %d tools in the catalog", len(tools))
	}
	if s := act("a%2Fb%20c", "enable"); s.State != "ready" {
		t.Errorf("enabled: %+v", s)
	}
	// A server that does not come up is a state to be shown, not a failure of the request.
	if s := act("bad", "reconnect"); s.State != "failed" || s.Error == nil {
		t.Errorf("bad: %+v", s)
	}
	if a := f.send(f.request("POST", "/v1/servers/nothing/reconnect", nil)); a.StatusCode != 404 {
		t.Errorf("no such server: %s", a.Status)
	}
}

func TestTheCatalogHasATag(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx", "--app")}})
	listed(t, f, "fx")
	a := f.send(f.request("GET", "/v1/catalog", nil))
	tag := a.Header.Get("ETag")
	var catalog api.Catalog
	if err := json.Unmarshal(a.body, &catalog); err != nil || tag == "" {
		t.Fatalf("ETag %q, %v", tag, err)
	}
	app := false
	for _, tool := range catalog.Tools {
		if tool.Server != "fx" || tool.Label != "fx__"+tool.Name || tool.Title == "" || !json.Valid(tool.InputSchema) || !tool.ForModel {
			t.Errorf("tool = %+v", tool)
		}
		app = app || tool.AppURI != ""
	}
	if len(catalog.Tools) == 0 || len(catalog.Prompts) == 0 || len(catalog.Resources) == 0 || len(catalog.Templates) == 0 || !app {
		t.Errorf("catalog: %d tools, %d prompts, %d resources, %d templates, app %t",
			len(catalog.Tools), len(catalog.Prompts), len(catalog.Resources), len(catalog.Templates), app)
	}
	r := f.request("GET", "/v1/catalog", nil)
	r.Header.Set("If-None-Match", `"other", W/`+tag)
	if a := f.send(r); a.StatusCode != 304 || len(a.body) != 0 {
		t.Errorf("with its tag: %s, %d bytes", a.Status, len(a.body))
	}
	do[api.Server](f, 200, "POST", "/v1/servers/fx/disable", nil)
	if a := f.send(r.Clone(t.Context())); a.StatusCode != 200 || a.Header.Get("ETag") == tag {
		t.Errorf("after a change: %s, %s", a.Status, a.Header.Get("ETag"))
	}
}

func TestReadsReachTheServer(t *testing.T) {
	server := fx(t, "fx")
	f := start(t, setup{servers: []config.Server{server}})
	listed(t, f, "fx")
	read := do[api.ReadResponse](f, 200, "POST", "/v1/resources/read", api.ReadRequest{Server: "fx", URI: "fx://readme"})
	var content struct{ URI, Text string }
	if len(read.Contents) != 1 || json.Unmarshal(read.Contents[0], &content) != nil || content.URI != "fx://readme" || content.Text == "" {
		t.Errorf("read = %s", toJSON(t, read))
	}
	catalog := do[api.Catalog](f, 200, "GET", "/v1/catalog", nil)
	var argument string
	for _, p := range catalog.Prompts {
		if p.Name == "greet" && len(p.Arguments) > 0 {
			argument = p.Arguments[0].Name
		}
	}
	prompt := do[api.PromptResponse](f, 200, "POST", "/v1/prompts/get",
		api.PromptRequest{Server: "fx", Name: "greet", Arguments: map[string]string{argument: "Ada"}})
	if len(prompt.Messages) == 0 || !strings.Contains(toJSON(t, prompt), "Ada") {
		t.Errorf("prompt = %s", toJSON(t, prompt))
	}
	completion := do[api.CompleteResponse](f, 200, "POST", "/v1/complete",
		api.CompleteRequest{Server: "fx", Prompt: "greet", Argument: argument, Value: ""})
	if len(completion.Values) == 0 {
		t.Errorf("completion = %+v", completion)
	}
	for name, test := range map[string]struct {
		path, body, code string
		status           int
	}{
		"a resource that is not there": {"/v1/resources/read", `{"server":"fx","uri":"fx://nothing"}`, "", 0},
		"a server that is not there":   {"/v1/resources/read", `{"server":"no","uri":"fx://readme"}`, "not_found", 404},
		"no uri":                       {"/v1/resources/read", `{"server":"fx"}`, "invalid_argument", 400},
		"no server":                    {"/v1/prompts/get", `{"name":"greet"}`, "invalid_argument", 400},
		"nothing to complete":          {"/v1/complete", `{"server":"fx","argument":"x","value":""}`, "invalid_argument", 400},
		"both to complete":             {"/v1/complete", `{"server":"fx","argument":"x","value":"","prompt":"a","template":"b"}`, "invalid_argument", 400},
	} {
		a := f.send(f.request("POST", test.path, test.body))
		problem := a.problem()
		if problem.Code == "" || problem.Code == "internal" || test.code != "" && (problem.Code != test.code || a.StatusCode != test.status) {
			t.Errorf("%s: %s %s", name, a.Status, a.body)
		}
	}
	if got := ushertest.ReadLog(t, server).Received("resources/read"); len(got) != 2 {
		t.Errorf("the server was asked to read %d times, want 2", len(got))
	}
}

// An app of a real server: its HTML is in the log once, and compaction takes it away (M25, V6).
func TestAnAppIsKeptAndCompacted(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx", "--app")}})
	id := f.create()
	s := f.follow(id, "", "")
	f.call(id, "app_dashboard", `{}`)
	log := s.until(api.EventCallFinished)
	end := data[api.CallFinished](t, log[len(log)-1])
	if end.Display == nil || end.Display.Type != "mcp_app" || !strings.Contains(end.Display.HTML, "<") || end.Display.FallbackText == "" {
		t.Fatalf("display = %+v", end.Display)
	}
	if strings.Contains(string(log[len(log)-1].Data), `"toolInput"`) {
		t.Error("the display repeats the tool's input")
	}
	if got := do[api.Compacted](f, 200, "POST", "/v1/sessions/"+id+"/compact", nil); got.Displays != 1 {
		t.Errorf("compacted = %+v", got)
	}
	s.until(api.EventSessionCompacted)
	for _, e := range append(f.log(id), f.follow(id, "", "").until(api.EventSessionCompacted)...) {
		if e.Type != api.EventCallFinished {
			continue
		}
		now := data[api.CallFinished](t, e)
		if now.Display.HTML != "" || now.Display.Type != "mcp_app" || now.Display.FallbackText != end.Display.FallbackText {
			t.Errorf("display = %+v", now.Display)
		}
		if string(now.Result) != string(end.Result) {
			t.Error("the result has changed")
		}
	}
}

func TestSessionsAreListedRenamedArchivedAndDeleted(t *testing.T) {
	f := start(t, setup{})
	var ids []string
	for range 5 {
		ids = append(ids, f.create())
	}
	do[api.Session](f, 200, "PATCH", "/v1/sessions/"+ids[0], api.UpdateSessionRequest{Title: new("Renamed")})
	if s := do[api.Session](f, 200, "PATCH", "/v1/sessions/"+ids[1], api.UpdateSessionRequest{Archived: new(true)}); !s.Archived {
		t.Errorf("session = %+v", s)
	}
	do[none](f, 204, "DELETE", "/v1/sessions/"+ids[2], nil)
	seen := map[string]api.Session{}
	cursor := ""
	for pages := 0; ; pages++ {
		list := do[api.SessionList](f, 200, "GET", "/v1/sessions?limit=1&cursor="+cursor, nil)
		for _, s := range list.Sessions {
			seen[s.ID] = s
		}
		if cursor = list.NextCursor; cursor == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	if len(seen) != 3 || seen[ids[0]].Title != "Renamed" || seen[ids[3]].ID == "" || seen[ids[4]].ID == "" {
		t.Errorf("sessions = %+v", seen)
	}
	archived := do[api.SessionList](f, 200, "GET", "/v1/sessions?archived=true", nil).Sessions
	if len(archived) != 1 || archived[0].ID != ids[1] {
		t.Errorf("archived = %+v", archived)
	}
	for _, r := range [][2]string{{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/messages"}, {"POST", "/cancel"}, {"POST", "/compact"}} {
		var body any
		switch r[1] {
		case "/messages":
			body = api.MessageRequest{Text: "x"}
		case "/cancel":
			body = api.CancelRequest{}
		}
		if a := f.send(f.request(r[0], "/v1/sessions/"+ids[2]+r[1], body)); a.StatusCode != 404 {
			t.Errorf("%s %s of a deleted session: %s", r[0], r[1], a.Status)
		}
	}
	if a := f.send(f.request("POST", "/v1/sessions/"+ids[0]+"/calls", api.CallRequest{Server: "nothing", Tool: "x"})); a.StatusCode != 404 {
		t.Errorf("a call of no server: %s", a.Status)
	}
	log := f.log(ids[0])
	if last := log[len(log)-1]; last.Type != api.EventSessionRenamed || data[api.SessionRenamed](t, last).Title != "Renamed" {
		t.Errorf("the last event is %+v", last)
	}
}
