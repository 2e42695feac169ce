package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// remote starts the server of a stdio entry, which says its URL on stdout, and returns the entry that reaches it there.
// The server ends with the test.
func remote(t *testing.T, spec config.Server) config.Server {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), spec.Command, spec.Args...)
	cmd.Dir = spec.Cwd
	cmd.Env = os.Environ()
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value.Reveal())
	}
	var said strings.Builder
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // the signal to leave
		late := time.AfterFunc(closeTime, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\nstderr: %s", spec.Name, err, said.String())
		}
	})
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	address, parseErr := url.Parse(strings.TrimSpace(line))
	if err != nil || parseErr != nil || address.Hostname() != "127.0.0.1" {
		t.Fatalf("%s said %q, %v; want a loopback URL", spec.Name, line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return config.Server{Name: spec.Name, Type: config.TypeHTTP, URL: address.String()}
}

// everythingServer is the reference server with all there is in it, held to a loopback port.
func everythingServer(t *testing.T) config.Server {
	t.Helper()
	spec := nodeServer(t, "loopback.mjs")
	spec.Args = []string{
		"--import", "file://" + spec.Args[0],
		filepath.Join(spec.Cwd, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp",
	}
	return remote(t, spec)
}

// TestEverySDKOverHTTP: remote servers are legacy for now (M6), whichever eras they speak.
func TestEverySDKOverHTTP(t *testing.T) {
	for _, c := range []struct {
		name   string
		server func(*testing.T) config.Server
		use    func(*testing.T, *client.Session) // use where it is nil
	}{
		{"go-sdk", func(t *testing.T) config.Server { return remote(t, goServer(t, "go-sdk http")) }, nil},
		{"go-sdk, stateless and without streams", func(t *testing.T) config.Server { return remote(t, goServer(t, "go-sdk http stateless")) }, nil},
		{"mcp-go", func(t *testing.T) config.Server { return remote(t, goServer(t, "mcp-go http")) }, nil},
		{"TypeScript 1.x", func(t *testing.T) config.Server { return remote(t, nodeServer(t, "typescript-v1.mjs", "http")) }, nil},
		{"TypeScript 2.x", func(t *testing.T) config.Server { return remote(t, nodeServer(t, "typescript-v2.mjs", "both", "http")) }, nil},
		{"server-everything", everythingServer, useEverything},
		{"fx", func(t *testing.T) config.Server { return ushertest.NewHTTP(t).Server() }, useFx},
		{"fx, legacy only", func(t *testing.T) config.Server { return ushertest.NewHTTP(t, "--era", "legacy").Server() }, useFx},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames := &transcript{}
			sess, err := client.Dial(t.Context(), c.server(t), client.Options{Trace: frames.add})
			if err != nil {
				t.Fatalf("Dial: %v (hint %q)", err, hint(err))
			}
			defer func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), closeTime)
				defer cancel()
				if err := sess.Close(ctx); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			if sess.Era() != client.Legacy || sess.ProtocolVersion() != "2025-11-25" {
				t.Fatalf("era %s, version %s", sess.Era(), sess.ProtocolVersion())
			}
			if c.use == nil {
				c.use = use
			}
			c.use(t, sess)
			frames.check(t, config.Legacy, client.Legacy)
		})
	}
}

// TestModernOnlyOverHTTP: a remote server that speaks nothing we may use says so, and so do we.
func TestModernOnlyOverHTTP(t *testing.T) {
	for name, server := range map[string]func() config.Server{
		"TypeScript 2.x": func() config.Server { return remote(t, nodeServer(t, "typescript-v2.mjs", "modern", "http")) },
		"fx":             func() config.Server { return ushertest.NewHTTP(t, "--era", "modern").Server() },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Dial(t.Context(), server(), client.Options{})
			var e *client.Error
			if !asError(err, &e) || e.Code != client.CodeIncompat || e.Phase != client.PhaseHandshake || !strings.Contains(e.Message, "2026-07-28") {
				t.Errorf("error = %v, want a version mismatch that names the version", err)
			}
			if strings.Contains(hint(err), "auto") { // which is for servers with a command
				t.Errorf("hint %q", hint(err))
			}
		})
	}
}

// useEverything uses what the reference server is known for: progress on the stream of a call, a resource, a prompt.
func useEverything(t *testing.T, sess *client.Session) {
	t.Helper()
	ctx := t.Context()
	tools, err := sess.Tools(ctx)
	if err != nil || len(tools.Items) < 5 || len(tools.Rejected) != 0 {
		t.Fatalf("tools = %d, rejected %v, %v", len(tools.Items), tools.Rejected, err)
	}
	res, err := sess.Call(ctx, "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{})
	if err != nil || len(res.Content) != 1 || !strings.Contains(res.Content[0].Text, "hi") {
		t.Errorf("echo = %+v, %v", res, err)
	}
	reports := 0
	if _, err := sess.Call(ctx, "trigger-long-running-operation", json.RawMessage(`{"duration":0.2,"steps":4}`),
		client.CallOptions{OnProgress: func(client.Progress) { reports++ }}); err != nil || reports == 0 {
		t.Errorf("%d reports, %v", reports, err)
	}
	resources, err := sess.Resources(ctx)
	if err != nil || len(resources.Items) == 0 {
		t.Fatalf("resources = %+v, %v", resources, err)
	}
	if read, err := sess.ReadResource(ctx, resources.Items[0].URI); err != nil || len(read.Contents) == 0 {
		t.Errorf("read = %+v, %v", read, err)
	}
	if prompts, err := sess.Prompts(ctx); err != nil || len(prompts.Items) == 0 {
		t.Errorf("prompts = %+v, %v", prompts, err)
	}
}

func useFx(t *testing.T, sess *client.Session) {
	t.Helper()
	ctx := t.Context()
	if tools, err := sess.Tools(ctx); err != nil || len(tools.Items) == 0 {
		t.Errorf("tools = %+v, %v", tools, err)
	}
	if res, err := sess.Call(ctx, "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{}); err != nil || res.Content[0].Text != "hi" {
		t.Errorf("echo = %+v, %v", res, err)
	}
	if read, err := sess.ReadResource(ctx, "fx://readme"); err != nil || len(read.Contents) == 0 {
		t.Errorf("read = %+v, %v", read, err)
	}
}
