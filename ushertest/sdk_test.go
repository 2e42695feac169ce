package ushertest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// command turns a configuration entry into what the SDK starts.
func command(ctx context.Context, s config.Server) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Command, s.Args...)
	cmd.Env = os.Environ()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value.Reveal())
	}
	return cmd
}

// TestSDKClientTalksToFx is the independent check: the official client, in both eras, finds nothing wrong with fx.
func TestSDKClientTalksToFx(t *testing.T) {
	for _, tc := range []struct {
		name, version, wantVersion string
		flags                      []string
		first                      string
	}{
		{"legacy server", "2025-11-25", "2025-11-25", []string{"--era", "legacy"}, "initialize"},
		{"old legacy server", "2025-11-25", "2024-11-05", []string{"--era", "legacy", "--versions", "2024-11-05"}, "initialize"},
		{"modern server", "2026-07-28", "2026-07-28", []string{"--era", "modern"}, "server/discover"},
		{"server of both eras, asked the old way", "2025-11-25", "2025-11-25", []string{"--era", "both"}, "initialize"},
		{"server of both eras, asked the new way", "2026-07-28", "2026-07-28", []string{"--era", "both"}, "server/discover"},
		{"pages", "2026-07-28", "2026-07-28", []string{"--pages", "3"}, "server/discover"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := ushertest.Command(t, append(tc.flags, "--elicit", "--app", "--instructions", "Be kind.")...)
			client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
			})
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command(t.Context(), server)},
				&mcp.ClientSessionOptions{ProtocolVersion: tc.version})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := session.Close(); err != nil {
					t.Error(err)
				}
				log := ushertest.ReadLog(t, server)
				if got := log.Methods(); got[0] != tc.first {
					t.Errorf("the first message was %s, want %s", got[0], tc.first)
				}
				if diff := cmp.Diff([]string(nil), log.Violations()); diff != "" {
					t.Errorf("violations (-want +got):\n%s", diff)
				}
			}()
			if init := session.InitializeResult(); init.ProtocolVersion != tc.wantVersion || init.Instructions != "Be kind." {
				t.Errorf("version %q, instructions %q", init.ProtocolVersion, init.Instructions)
			}
			talk(t, session)
		})
	}
}

func talk(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	ctx := t.Context()
	var tools []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	want := []string{
		"echo", "add", "slow", "fail", "big", "image", "structured", "change_tools", "update_resource", "ask", "app_dashboard",
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	call := func(name string, args any) *mcp.CallToolResult {
		t.Helper()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	text := func(r *mcp.CallToolResult) string {
		t.Helper()
		c, ok := r.Content[0].(*mcp.TextContent)
		if !ok {
			t.Fatalf("got %T, want text", r.Content[0])
		}
		return c.Text
	}
	if got := text(call("echo", map[string]any{"message": "<hello>"})); got != "<hello>" {
		t.Errorf("echo said %q", got)
	}
	sum, err := json.Marshal(call("add", map[string]any{"a": 2, "b": 0.5}).StructuredContent)
	if err != nil || string(sum) != `{"sum":2.5}` {
		t.Errorf("add gave %s, %v", sum, err)
	}
	if r := call("fail", nil); !r.IsError {
		t.Error("fail did not fail")
	}
	if got := text(call("slow", map[string]any{"ms": 10, "steps": 2})); got != "done after 2 steps" {
		t.Errorf("slow said %q", got)
	}
	if got := text(call("ask", nil)); !strings.Contains(got, `"name":"Ada"`) {
		t.Errorf("ask said %q", got)
	}
	if _, ok := call("image", nil).Content[0].(*mcp.ImageContent); !ok {
		t.Error("image gave no image")
	}
	if got := text(call("big", map[string]any{"bytes": 100_000})); len(got) != 100_000 {
		t.Errorf("big gave %d bytes", len(got))
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("prompt %+v, %v", prompt, err)
	}
	for _, uri := range []string{"fx://readme", "fx://pixel", "fx://item/7", "ui://fx/dashboard"} {
		if r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil || len(r.Contents) != 1 {
			t.Errorf("%s: %+v, %v", uri, r, err)
		}
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "fx://nothing"}); err == nil {
		t.Error("an unknown resource was read")
	}
	completion, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcp.CompleteParamsArgument{Name: "name", Value: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Ada", "Alan"}, completion.Completion.Values); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
}
