//go:build unix

package ushertest_test

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/stdio"
	"github.com/usher-mcp/usher/ushertest"
)

// launch starts the server as a process and gives its end of the wire.
func launch(t *testing.T, server config.Server) (*stdio.Process, *wire) {
	t.Helper()
	env := map[string]string{}
	for name, value := range server.Env {
		env[name] = value.Reveal()
	}
	p, err := stdio.Start(t.Context(), stdio.Spec{Command: server.Command, Args: server.Args, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p, &wire{t, p.Stdin, bufio.NewReader(p.Stdout)}
}

// closeWithin ends p on a quick ladder.
func closeWithin(t *testing.T, p *stdio.Process, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func events(log ushertest.Log) []string {
	var out []string
	for _, r := range log {
		out = append(out, r.Event)
	}
	return out
}

func TestProcessLeavesWhenStdinEnds(t *testing.T) {
	t.Setenv("X_API_KEY", "canary")
	server := ushertest.Command(t)
	p, c := launch(t, server)
	c.send(request(1, "ping", `{}`))
	c.answer()
	closeWithin(t, p, 5*time.Second)
	if p.ExitStatus() != "exit status 0" {
		t.Errorf("status %q", p.ExitStatus())
	}
	log := ushertest.ReadLog(t, server)
	if diff := cmp.Diff([]string{"start", "received", "sent", "eof", "exit"}, events(log)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if _, leaked := log[0].Env["X_API_KEY"]; leaked || log[0].PID != p.PID() || log[0].Env["PATH"] == "" {
		t.Errorf("start %+v", log[0])
	}
}

func TestProcessThatWillNotLeave(t *testing.T) {
	for _, tc := range []struct {
		flags  []string
		status string
		signal bool // the server saw SIGTERM
	}{
		{[]string{"--ignore-eof"}, "signal: terminated", true},
		{[]string{"--ignore-eof", "--ignore-term"}, "signal: killed", true},
		{[]string{"--exit-on", "ping=7"}, "exit status 7", false},
	} {
		t.Run(strings.Join(tc.flags, " "), func(t *testing.T) {
			t.Parallel()
			server := ushertest.Command(t, tc.flags...)
			p, c := launch(t, server)
			c.send(request(1, "tools/list", `{}`))
			c.answer() // signals are watched from here on
			c.send(request(2, "ping", `{}`))
			if tc.signal {
				c.answer()
			} else {
				<-p.Done()
			}
			closeWithin(t, p, 5*time.Second)
			if p.ExitStatus() != tc.status {
				t.Errorf("status %q, want %q", p.ExitStatus(), tc.status)
			}
			if got := len(ushertest.ReadLog(t, server).Events("signal")) > 0; got != tc.signal {
				t.Errorf("signal logged: %v, want %v", got, tc.signal)
			}
		})
	}
}

func TestChildOutlivesTheServer(t *testing.T) {
	for _, flag := range []string{"--child", "--child=setsid"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			server := ushertest.Command(t, flag)
			p, c := launch(t, server)
			c.send(request(1, "ping", `{}`))
			c.answer()
			child := ushertest.ReadLog(t, server).Events("child")
			if len(child) != 1 {
				t.Fatalf("child records: %+v", child)
			}
			closeWithin(t, p, 2*time.Second)
			if diff := cmp.Diff([]int{child[0].Child}, p.Ending().Leftovers); diff != "" {
				t.Errorf("leftovers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLockRefusesASecondInstance(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	server := ushertest.Command(t, "--lock", lock)
	first, c := launch(t, server)
	c.send(request(1, "ping", `{}`))
	c.answer()
	second, _ := launch(t, server)
	<-second.Done()
	if text, _ := second.Stderr(); second.ExitStatus() != "exit status 75" || !strings.Contains(text, "held by another") {
		t.Errorf("%q, %q", second.ExitStatus(), text)
	}
	if got := ushertest.ReadLog(t, server).Events("refused"); len(got) != 1 || got[0].PID != second.PID() {
		t.Errorf("refused: %+v", got)
	}
	first.Kill()
	<-first.Done()
	_, c = launch(t, server) // a killed holder does not block the next one
	c.send(request(1, "ping", `{}`))
	c.answer()
}

func TestStderrNoise(t *testing.T) {
	p, c := launch(t, ushertest.Command(t, "--noise", "stderr:3MB"))
	c.send(request(1, "ping", `{}`))
	c.answer()
	closeWithin(t, p, 5*time.Second)
	if text, truncated := p.Stderr(); len(text) != stdio.StderrLimit || !truncated {
		t.Errorf("%d bytes, truncated %v", len(text), truncated)
	}
}

func TestBigResult(t *testing.T) {
	server := ushertest.Command(t, "--result-bytes", "8MB")
	_, c := launch(t, server)
	c.send(initialize)
	c.answer()
	c.send(initialized)
	c.send(request(1, "tools/call", `{"name":"big"}`))
	if line := c.line(); len(line) < 8<<20 {
		t.Errorf("%d bytes", len(line))
	}
	c.send(request(2, "ping", `{}`))
	c.answer()
	log := ushertest.ReadLog(t, server)
	if sent := log.Events("sent"); len(sent) != 3 || sent[1].Size < 8<<20 || sent[1].Text != "" || string(sent[1].ID) != "1" {
		t.Errorf("%d frames were logged as sent", len(sent))
	}
}

func TestHTTPProcess(t *testing.T) {
	server := ushertest.Command(t, "--http", "127.0.0.1:0")
	p, _ := launch(t, server)
	r := bufio.NewReader(stderrOf(p))
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "fx listens on "))
	if resp, body := post(t, url, initialize, nil); resp.StatusCode != 200 || !strings.Contains(body, "2025-11-25") {
		t.Errorf("%s %s", resp.Status, body)
	}
	closeWithin(t, p, 5*time.Second)
	if p.ExitStatus() != "exit status 0" {
		t.Errorf("status %q", p.ExitStatus())
	}
}

// stderrOf waits for the first line on stderr.
func stderrOf(p *stdio.Process) io.Reader {
	for {
		if text, _ := p.Stderr(); strings.Contains(text, "\n") {
			return strings.NewReader(text)
		}
		select {
		case <-p.Done():
			return strings.NewReader("")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
