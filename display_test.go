package usher_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/config"
)

// The bound on an app's HTML can be set for one server, to more than all have and to less.
func TestAppBoundOfOneServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     int64
		size    string
		problem string
	}{
		{"raised", 2 << 20, "2097152", ""},
		{"raised, and passed", 2 << 20, "2097153", "2,097,152"},
		{"lowered", 4096, "5000", "4,096"},
		{"beyond the most there is", 1 << 40, "8388609", "8,388,608"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := fx(t, "fx", "--app=size="+c.size)
			spec.AppMaxHTMLBytes = c.own
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard", Arguments: []byte(`{"year":2026}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Display.Problem; !strings.Contains(got, c.problem) || (c.problem == "") != (res.Display.Type == usher.DisplayApp) {
				t.Errorf("type %q, problem %q", res.Display.Type, got)
			}
		})
	}
}

// An app is shown without the origins that no policy may name, and the person and the log are told which.
func TestWhatAnAppDoesNotGetIsTold(t *testing.T) {
	read := func(domains string) string {
		return `resources/read={"contents":[{"uri":"ui://fx/dashboard","mimeType":"text/html;profile=mcp-app","text":"<p>app</p>",` +
			`"_meta":{"ui":{"csp":{"connectDomains":["https://api.example",` + domains + `]}}}}]}`
	}
	for _, c := range []struct{ name, domains, warning string }{
		{
			"one", `"*"`,
			`the app asks for connectDomains: "*", which is not allowed: only whole origins such as https://api.example.com are`,
		},
		{
			"many", `"*","'self'","x y",7,8`,
			`the app asks for connectDomains: "*", connectDomains: "'self'", connectDomains: "x y" and more, ` +
				`which is not allowed: only whole origins such as https://api.example.com are`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			h := open(t, usher.Options{
				Servers: []config.Server{fx(t, "fx", "--app", "--result", read(c.domains))},
				Logger:  slog.New(slog.NewJSONHandler(&log, nil)),
			})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard", Arguments: []byte(`{"year":2026}`)})
			if err != nil {
				t.Fatal(err)
			}
			if res.Display.Type != usher.DisplayApp || !cmp.Equal(res.Display.CSP, &apps.CSP{ConnectDomains: []string{"https://api.example"}}) {
				t.Errorf("type %q, %q, CSP %+v", res.Display.Type, res.Display.Problem, res.Display.CSP)
			}
			if diff := cmp.Diff([]string{c.warning}, res.Warnings); diff != "" {
				t.Error(diff)
			}
			if err := h.Close(within(t)); err != nil {
				t.Error(err)
			}
			if got := log.String(); !strings.Contains(got, `"msg":"app asks for what is not allowed"`) || !strings.Contains(got, `"tool":"app_dashboard"`) {
				t.Errorf("log: %s", got)
			}
		})
	}
}
