package conversation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/model/modeltest"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/ushertest"
)

// An app is the person's alone: what a model is sent holds nothing of its HTML, and is to the byte what it would be
// with apps turned off, whether the app is shown, refused, or emptied by compaction (M15, M25).
func TestAModelNeverSeesAnApp(t *testing.T) {
	const marker = "only-in-the-page"
	page := func(mime string) string {
		return `resources/read={"contents":[{"uri":"ui://fx/dashboard","mimeType":"` + mime + `","text":"<p>` + marker + `</p>",` +
			`"_meta":{"ui":{"csp":{"connectDomains":["*"]}}}}]}`
	}
	for name, c := range map[string]struct{ mime, shown string }{
		"shown":   {"text/html;profile=mcp-app", usher.DisplayApp},
		"refused": {"text/html", usher.DisplayText},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(apps usher.AppOptions) (requests []string, display api.Display) {
				t.Helper()
				h := realHost(t, apps, ushertest.Command(t, "--app", "--result", page(c.mime)))
				f, server := chat(t, h, conversation.Options{},
					modeltest.Calls(modeltest.Call{ID: "c1", Name: "s__app_dashboard", Arguments: `{"year":2026}`}),
					modeltest.Text("Here it is."), modeltest.Text("Again."))
				id := f.create()
				f.finished(id, f.begin(id, "app_dashboard", `{"year":2025}`)) // the person's own
				f.say(id, "Show the dashboard")
				kind, end, log := f.turnEnd(id, 1)
				if kind != api.EventTurnFinished || end.Calls != 1 {
					t.Fatalf("%s %+v", kind, end)
				}
				for _, e := range log {
					if e.Type == api.EventCallFinished {
						display = *data[api.CallFinished](t, e).Display
					}
				}
				if _, err := f.Compact(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				f.say(id, "And now?")
				f.turnEnd(id, 2)
				for n := range 3 {
					requests = append(requests, string(server.Await(n+1).Body))
				}
				return requests, display
			}
			on, display := run(usher.AppOptions{})
			off, none := run(usher.AppOptions{Disabled: true})
			if display.Type != c.shown || (c.shown == usher.DisplayApp) != strings.Contains(display.HTML, marker) || none.Type != usher.DisplayText {
				t.Fatalf("the person saw %+v, and without apps %+v", display, none)
			}
			if diff := cmp.Diff(off, on); diff != "" {
				t.Errorf("with apps the model is sent something else (-off +on):\n%s", diff)
			}
			for _, body := range on {
				if strings.Contains(body, marker) || strings.Contains(body, "mcp_app") || strings.Contains(body, "ui://") {
					t.Errorf("the model was sent the app: %s", body)
				}
			}
			if last := on[len(on)-1]; !strings.Contains(last, "app_dashboard") || !strings.Contains(last, "And now?") {
				t.Errorf("the last request is %s", last)
			}
		})
	}
}

// realHost is a host with one server, whose tools and lists are there, and that lets every tool run.
func realHost(t *testing.T, apps usher.AppOptions, server config.Server) *usher.Host {
	t.Helper()
	server.Name = "s"
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []config.Server{server}, Apps: apps, Permissions: permission.NewGate(permission.GateOptions{Policy: permission.Policy{Mode: permission.Auto}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := h.Wait(t.Context(), server.Name); err != nil {
		t.Fatal(err)
	}
	return h
}
