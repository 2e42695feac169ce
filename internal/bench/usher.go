package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/usher-mcp/usher"
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

// host is a server of a usher.Host.
type host struct {
	*usher.Host
	name string
}

func dialHost(ctx context.Context, command string, args []string) (session, error) {
	h, err := openHost(ctx, 1, command, args)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// dialHostOfMany opens one host of n servers, which is what a host is for.
func dialHostOfMany(ctx context.Context, n int, command string, args []string) (func() error, error) {
	h, err := openHost(ctx, n, command, args)
	if err != nil {
		return nil, err
	}
	return h.close, nil
}

func openHost(ctx context.Context, n int, command string, args []string) (host, error) {
	servers := make([]config.Server, n)
	for i := range servers {
		servers[i] = config.Server{Name: "bench" + strconv.Itoa(i), Command: command, Args: args}
	}
	opened, err := usher.Open(context.WithoutCancel(ctx), usher.Options{Servers: servers})
	if err != nil {
		return host{}, err
	}
	h := host{opened, servers[0].Name}
	if err := h.Wait(ctx); err != nil {
		return host{}, errors.Join(err, h.close())
	}
	return h, nil
}

func (h host) call(ctx context.Context, tool string, progress func()) (int, error) {
	args, err := arguments()
	if err != nil {
		return 0, err
	}
	call := usher.Call{Server: h.name, Tool: tool, Arguments: args}
	if progress != nil {
		call.OnProgress = func(client.Progress) { progress() }
	}
	result, err := h.Call(ctx, call)
	if err != nil {
		return 0, err
	}
	return textLength(result.Result)
}

// list counts the catalog's tools: a host has listed them when its server became ready.
func (h host) list(context.Context) (int, error) { return len(h.Catalog().Tools), nil }

func (h host) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime) //nolint:forbidigo // closing has its own time
	defer cancel()
	return h.Close(ctx)
}
