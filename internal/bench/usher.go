package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// closeTime bounds the end of a session.
const closeTime = 10 * time.Second

// arguments of every call of ours, encoded once per call like the other clients do.
func arguments() (json.RawMessage, error) { return json.Marshal(map[string]any{"message": message}) }

// own is a session of package client.
type own struct{ *client.Session }

func dialClient(ctx context.Context, command string, args []string) (session, error) {
	s, err := client.Dial(ctx, config.Server{Name: "bench", Command: command, Args: args}, client.Options{})
	if err != nil {
		return nil, err
	}
	return own{s}, nil
}

func (s own) call(ctx context.Context, tool string, progress func()) (int, error) {
	args, err := arguments()
	if err != nil {
		return 0, err
	}
	var options client.CallOptions
	if progress != nil {
		options.OnProgress = func(client.Progress) { progress() }
	}
	result, err := s.Call(ctx, tool, args, options)
	if err != nil {
		return 0, err
	}
	return textLength(result)
}

func textLength(result *client.Result) (int, error) {
	if len(result.Content) != 1 {
		return 0, fmt.Errorf("%d content blocks", len(result.Content))
	}
	return len(result.Content[0].Text), nil
}

func (s own) list(ctx context.Context) (int, error) {
	result, err := s.Tools(ctx)
	if err != nil {
		return 0, err
	}
	return len(result.Items), nil
}

func (s own) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime) //nolint:forbidigo // closing has its own time
	defer cancel()
	return s.Close(ctx)
}
