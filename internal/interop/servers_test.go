package interop_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverVar makes the test binary a server built on the named SDK.
const serverVar = "USHER_INTEROP_SERVER"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(serverVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "go-sdk":
		err = serveGoSDK()
	case "mcp-go":
		err = serveMCPGo()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveGoSDK() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, &mcp.ServerOptions{Instructions: "Say hello."})
	type message struct {
		Message string `json:"message"`
	}
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type sum struct {
		Sum float64 `json:"sum"`
	}
	text := func(t string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: t}} }
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it back", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: text("echo: " + in.Message)}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Always fails"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: text("it failed"), IsError: true}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "sum", Description: "Adds"},
		func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
			return &mcp.CallToolResult{Content: text(fmt.Sprint(in.A + in.B))}, sum{in.A + in.B}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hello, " + r.Params.Arguments["name"]}}}}, nil
		})
	s.AddResource(&mcp.Resource{URI: "memo://note", Name: "note", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "a note"}}}, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func serveMCPGo() error {
	s := mcpgoserver.NewMCPServer("mcp-go", "1.0.0", mcpgoserver.WithInstructions("Say hello."),
		mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithResourceCapabilities(true, true), mcpgoserver.WithPromptCapabilities(true))
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithDescription("Says it back"), mcpgo.WithReadOnlyHintAnnotation(true), mcpgo.WithString("message", mcpgo.Required())),
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText("echo: " + r.GetString("message", "")), nil
		})
	s.AddTool(mcpgo.NewTool("fail", mcpgo.WithDescription("Always fails")),
		func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultError("it failed"), nil
		})
	s.AddTool(mcpgo.NewTool("sum", mcpgo.WithDescription("Adds"), mcpgo.WithNumber("a", mcpgo.Required()), mcpgo.WithNumber("b", mcpgo.Required())),
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			sum := r.GetFloat("a", 0) + r.GetFloat("b", 0)
			return mcpgo.NewToolResultStructured(map[string]any{"sum": sum}, fmt.Sprint(sum)), nil
		})
	s.AddPrompt(mcpgo.NewPrompt("greet", mcpgo.WithPromptDescription("Greets"), mcpgo.WithArgument("name", mcpgo.RequiredArgument())),
		func(_ context.Context, r mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewTextContent("Hello, "+r.Params.Arguments["name"]))}), nil
		})
	s.AddResource(mcpgo.NewResource("memo://note", "note", mcpgo.WithMIMEType("text/plain")),
		func(_ context.Context, r mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "a note"}}, nil
		})
	return mcpgoserver.ServeStdio(s)
}
