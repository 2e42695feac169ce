package interop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

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
		err = goSDK().Run(context.Background(), &mcp.StdioTransport{})
	case "go-sdk http":
		err = serveHTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return goSDK() }, nil))
	case "go-sdk http stateless":
		err = serveHTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return goSDK() },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	case "mcp-go":
		err = mcpgoserver.ServeStdio(mcpGo())
	case "mcp-go http":
		err = serveHTTP(mcpgoserver.NewStreamableHTTPServer(mcpGo()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveHTTP serves on a free loopback port, says the URL on stdout, and ends when stdin does.
func serveHTTP(h http.Handler) error {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(os.Stdout, "http://%s/mcp\n", l.Addr()); err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func goSDK() *mcp.Server {
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
	return s
}

func mcpGo() *mcpgoserver.MCPServer {
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
	return s
}
