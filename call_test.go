package usher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// M11: one path for both eras. What the server sent arrives, and the outcomes stay apart.
func TestCallInBothEras(t *testing.T) {
	for era, policy := range map[client.Era]config.Negotiation{client.Legacy: config.Legacy, client.Modern: config.Auto} {
		t.Run(string(era), func(t *testing.T) {
			spec := fx(t, "fx")
			spec.VersionNegotiation = policy
			h := open(t, usher.Options{Servers: []config.Server{spec}})

			// Nobody waited for the server: the call does.
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`)})
			if err != nil || res.IsError || res.Content[0].Text != "hi" || res.Era != era || res.Display.Type != usher.DisplayText || res.Display.FallbackText != "hi" {
				t.Fatalf("echo = %+v, %v", res, err)
			}
			res, err = h.Call(within(t), usher.Call{Server: "fx", Tool: "fail"})
			if err != nil || !res.IsError {
				t.Errorf("fail = %+v, %v; want the tool's own error and no Go error", res, err)
			}
			if _, err = h.Call(within(t), usher.Call{Server: "fx", Tool: "ehco"}); codeOf(err) != client.CodeNotFound || !strings.Contains(hintOf(err), `"echo"`) {
				t.Errorf("a misspelt tool = %v, hint %q", err, hintOf(err))
			}
			for _, args := range []string{`[]`, `"x"`, `{`, `1`, `null`} {
				if _, err = h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(args)}); codeOf(err) != client.CodeInvalid {
					t.Errorf("arguments %s: %v", args, err)
				}
			}
			var seen []float64
			res, err = h.Call(within(t), usher.Call{
				Server: "fx", Tool: "slow", Arguments: []byte(`{"steps":3,"seconds":0.1}`),
				OnProgress: func(p client.Progress) { seen = append(seen, p.Progress) },
			})
			if err != nil || len(seen) == 0 || !slices.IsSorted(seen) {
				t.Errorf("slow = %+v, %v with progress %v", res, err, seen)
			}
			if got := ushertest.ReadLog(t, spec).Violations(); len(got) != 0 {
				t.Errorf("violations: %q", got)
			}
		})
	}
}

func TestACancelledCallReachesTheServer(t *testing.T) {
	for _, policy := range []config.Negotiation{config.Legacy, config.Auto} {
		t.Run(string(policy), func(t *testing.T) {
			spec := fx(t, "fx")
			spec.VersionNegotiation = policy
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			ctx, cancel := context.WithCancel(within(t))
			_, err := h.Call(ctx, usher.Call{
				Server: "fx", Tool: "slow", Arguments: []byte(`{"seconds":600,"steps":6000}`),
				OnProgress: func(client.Progress) { cancel() },
			})
			if codeOf(err) != client.CodeCancelled {
				t.Fatalf("error = %v", err)
			}
			// The session is fine, and the server has heard of it before it answers the next request.
			if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"x"}`)}); err != nil {
				t.Fatal(err)
			}
			if got := ushertest.ReadLog(t, spec).Received("notifications/cancelled"); len(got) != 1 {
				t.Errorf("the server received %d cancellations", len(got))
			}
		})
	}
}

func TestTheIdleClockEndsACall(t *testing.T) {
	spec := fx(t, "fx", "--silent", "tools/call")
	spec.Timeout = 50 * time.Millisecond
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	_, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo"})
	if codeOf(err) != client.CodeTimeout {
		t.Errorf("error = %v", err)
	}
}

// The replay rule: a trusted server's word counts, and nobody else's.
func TestACallIsRepeatedOnlyOnATrustedServersWord(t *testing.T) {
	for _, c := range []struct {
		name  string
		trust bool
		tool  string
		want  int
	}{
		{"trusted and read-only", true, "echo", 2},
		{"trusted, no word", true, "change_tools", 1},
		{"read-only, not trusted", false, "echo", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := fx(t, "fx", "--exit-on", "tools/call")
			spec.Trust = c.trust
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			_, err := h.Call(within(t), usher.Call{Server: "fx", Tool: c.tool})
			if codeOf(err) != client.CodeUnknown {
				t.Errorf("error = %v, want that the outcome is unknown", err)
			}
			if got := ushertest.ReadLog(t, spec).Received("tools/call"); len(got) != c.want {
				t.Errorf("the server received the call %d times, want %d", len(got), c.want)
			}
		})
	}
}

// M16-M18, V7: the app beside the result, or the result with the reason.
func TestAppsBesideResults(t *testing.T) {
	for _, c := range []struct {
		name, flag string
		apps       usher.AppOptions
		app        bool
		problem    string
	}{
		{name: "as it should be", flag: "--app", app: true},
		{name: "in the old key", flag: "--app=flat", app: true},
		{name: "as base64", flag: "--app=blob", app: true},
		{name: "another media type", flag: "--app=mime=text/html", problem: "text/html"},
		{name: "too large", flag: "--app=size=1048577", problem: "1,048,577"},
		{name: "just small enough", flag: "--app=size=1048576", app: true},
		{name: "a smaller bound", flag: "--app=size=5000", apps: usher.AppOptions{MaxHTMLBytes: 4096}, problem: "4,096"},
		{name: "missing", flag: "--app=missing", problem: "ui://"},
		{name: "not readable", flag: "--app=error", problem: "could not be read"},
		{name: "turned off", flag: "--app", apps: usher.AppOptions{Disabled: true}, problem: "mcpApps.enabled"},
		{name: "not advertised", flag: "--app=undeclared", app: true},
		{name: "not advertised and required", flag: "--app=undeclared", apps: usher.AppOptions{RequireServerCapability: true}, problem: "requireServerCapability"},
		{name: "advertised and required", flag: "--app", apps: usher.AppOptions{RequireServerCapability: true}, app: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := fx(t, "fx", c.flag)
			h := open(t, usher.Options{Servers: []config.Server{spec}, Apps: c.apps})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard", Arguments: []byte(`{"year":2026}`)})
			if err != nil || res.IsError || len(res.Content) == 0 {
				t.Fatalf("call = %+v, %v", res, err)
			}
			d := res.Display
			if d.FallbackText == "" || strings.Contains(d.FallbackText, "<html") {
				t.Errorf("fallback text = %q", d.FallbackText)
			}
			if !c.app {
				if d.Type != usher.DisplayText || d.HTML != "" || !strings.Contains(d.Problem, c.problem) || d.Problem == "" {
					t.Errorf("display = %s, problem %q; want text with %q", d.Type, d.Problem, c.problem)
				}
				return
			}
			if d.Type != usher.DisplayApp || d.HTML == "" || d.Problem != "" || !strings.HasPrefix(d.ResourceURI, "ui://") || d.Server != "fx" || d.Tool != "app_dashboard" {
				t.Errorf("display = %+v", d)
			}
			if string(d.ToolInput) != `{"year":2026}` || !json.Valid(d.ToolResult) || string(d.ToolResult) != string(res.Raw) {
				t.Errorf("tool input %s, result %s", d.ToolInput, d.ToolResult)
			}
		})
	}
}

func TestAFailedToolShowsNoApp(t *testing.T) {
	spec := fx(t, "fx", "--app", "--is-error")
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard"})
	if err != nil || !res.IsError || res.Display.Type == usher.DisplayApp {
		t.Errorf("call = %+v, %v", res, err)
	}
	if got := ushertest.ReadLog(t, spec).Received("resources/read"); len(got) != 0 {
		t.Errorf("the app of a failed call was read %d times", len(got))
	}
}

func TestEveryKindOfContentHasAText(t *testing.T) {
	spec := fx(t, "fx", "--content", "text,image,audio,link,embedded,structured,unknown")
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if res.Display.Type != usher.DisplayImage || len(res.StructuredContent) == 0 {
		t.Errorf("display %s, structured %s", res.Display.Type, res.StructuredContent)
	}
	for _, want := range []string{"[image, image/png, ", "[audio, audio/", "[resource ", "[content of type "} {
		if !strings.Contains(res.Display.FallbackText, want) {
			t.Errorf("no %q in %q", want, res.Display.FallbackText)
		}
	}
}

// What only the resource list says of an app counts, however early the call.
func TestAnAppsMetadataMayStandInTheList(t *testing.T) {
	spec := fx(t, "fx", "--app=listed", "--delay", "resources/list=300ms")
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Display.Type != usher.DisplayApp || res.Display.CSP == nil {
		t.Errorf("display = %+v", res.Display)
	}
}

// What the server saw is the oracle: with maxParallel 1 no call arrives before the one ahead was answered.
func TestMaxParallelKeepsCallsApart(t *testing.T) {
	for _, limit := range []int{0, 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			spec := fx(t, "fx", "--delay", "tools/call=100ms")
			spec.MaxParallel = limit
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() {
					if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`)}); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			running, most := 0, 0
			waiting := map[string]bool{}
			for _, r := range ushertest.ReadLog(t, spec) {
				switch {
				case r.Event == "received" && r.Method == "tools/call":
					waiting[string(r.ID)] = true
					running++
					most = max(most, running)
				case r.Event == "sent" && r.Method == "" && waiting[string(r.ID)]:
					running--
				}
			}
			if limit == 1 && most != 1 || limit == 0 && most < 2 {
				t.Errorf("the server had %d calls at once with maxParallel %d", most, limit)
			}
			// A call that waits for its turn is free at once when its caller gives up.
			if limit == 1 {
				ctx, cancel := context.WithCancel(within(t))
				first := make(chan error, 1)
				go func() {
					_, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "slow", Arguments: []byte(`{"seconds":1,"steps":1}`), OnProgress: func(client.Progress) { cancel() }})
					first <- err
				}()
				<-ctx.Done()
				if _, err := h.Call(ctx, usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeCancelled {
					t.Errorf("a call that gave up waiting: %v", err)
				}
				if err := <-first; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
