package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressToken is what the SDKs' clients send; the server sends it back.
const progressToken = "bench"

// goSDK is a session of the bare Go SDK.
type goSDK struct {
	*mcp.ClientSession
	// progress is called for each notification. Set between calls.
	progress func()
}

func dialGoSDK(ctx context.Context, command string, args []string) (session, error) {
	s := &goSDK{}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			s.progress()
		},
	})
	var err error
	// The version keeps it to the handshake that the others use.
	s.ClientSession, err = client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(context.WithoutCancel(ctx), command, args...)},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	return s, err
}

func (s *goSDK) call(ctx context.Context, tool string, progress func()) (int, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"message": message}}
	if progress != nil {
		s.progress = progress
		params.SetProgressToken(progressToken)
	}
	result, err := s.CallTool(ctx, params)
	if err != nil {
		return 0, err
	}
	if len(result.Content) != 1 {
		return 0, fmt.Errorf("%d content blocks", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return 0, errors.New("the content is no text")
	}
	return len(text.Text), nil
}

func (s *goSDK) list(ctx context.Context) (int, error) {
	result, err := s.ListTools(ctx, nil)
	if err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

func (s *goSDK) close() error { return s.Close() }

// mcpGo is a session of mcp-go.
type mcpGo struct {
	*mcpgoclient.Client
	progress func() // as in goSDK
}

func dialMCPGo(ctx context.Context, command string, args []string) (session, error) {
	client := mcpgoclient.NewClient(transport.NewStdio(command, nil, args...))
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	s := &mcpGo{Client: client}
	client.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			s.progress()
		}
	})
	request := mcpgo.InitializeRequest{}
	request.Params.ProtocolVersion = "2025-11-25"
	request.Params.ClientInfo = mcpgo.Implementation{Name: "mcp-go", Version: "1"}
	if _, err := client.Initialize(ctx, request); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return s, nil
}

func (s *mcpGo) call(ctx context.Context, tool string, progress func()) (int, error) {
	request := mcpgo.CallToolRequest{}
	request.Params.Name = tool
	request.Params.Arguments = map[string]any{"message": message}
	if progress != nil {
		s.progress = progress
		request.Params.Meta = &mcpgo.Meta{ProgressToken: progressToken}
	}
	result, err := s.CallTool(ctx, request)
	if err != nil {
		return 0, err
	}
	if len(result.Content) != 1 {
		return 0, fmt.Errorf("%d content blocks", len(result.Content))
	}
	text, ok := result.Content[0].(mcpgo.TextContent)
	if !ok {
		return 0, errors.New("the content is no text")
	}
	return len(text.Text), nil
}

func (s *mcpGo) list(ctx context.Context) (int, error) {
	result, err := s.ListTools(ctx, mcpgo.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

func (s *mcpGo) close() error { return s.Close() }
