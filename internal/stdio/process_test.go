//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/stdio"
)

func spec(role string, args ...string) stdio.Spec {
	// A program built with -race sleeps a second before it exits, unless told otherwise.
	return stdio.Spec{Command: os.Args[0], Args: args, Env: map[string]string{roleVar: role, "GORACE": "atexit_sleep_ms=0"}}
}

func start(t *testing.T, s stdio.Spec) *stdio.Process {
	t.Helper()
	p, err := stdio.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func lines(t *testing.T, p *stdio.Process, n int) []string {
	t.Helper()
	var out []string
	sc := bufio.NewScanner(p.Stdout)
	for len(out) < n && sc.Scan() {
		out = append(out, sc.Text())
	}
	if n < 1<<20 && len(out) < n {
		t.Fatalf("stdout ended after %d of %d lines; stderr: %s", len(out), n, tail(p))
	}
	return out
}

func tail(p *stdio.Process) string {
	s, _ := p.Stderr()
	return s
}

func pidOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// running reports whether pid is alive. A zombie whose parent has not looked yet is not.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		_, statErr := os.Stat("/proc/self")
		return statErr != nil // a system without /proc, whose orphans are reaped at once
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(rest, " Z")
}

// within gives a context whose ladder is quick.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestCloseEndsServerAndDescendants(t *testing.T) {
	for _, tc := range []struct {
		role       string
		wantStatus string
		wantSignal string
		children   int
	}{
		{"ready", "exit status 0", "", 0},
		{"ignore-eof,ready", "signal: terminated", "terminate", 0},
		{"ignore-eof,ignore-term,ready", "signal: killed", "kill", 0},
		{"child,ready", "exit status 0", "kill", 1},
		{"escaped-child,ready", "exit status 0", "kill", 1},
		{"escaped-child,ignore-eof,ready", "signal: terminated", "kill", 1},
		{"child,escaped-child,ignore-eof,ignore-term,ready", "signal: killed", "kill", 2},
	} {
		t.Run(tc.role, func(t *testing.T) {
			t.Parallel()
			p := start(t, spec(tc.role))
			var pids []int
			for _, l := range lines(t, p, tc.children+1) {
				pids = append(pids, pidOf(t, l))
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			end := p.Ending()
			if end.Status != tc.wantStatus || p.ExitStatus() != tc.wantStatus || end.Signal != tc.wantSignal {
				t.Errorf("ending %+v, want status %q and signal %q", end, tc.wantStatus, tc.wantSignal)
			}
			for _, pid := range pids {
				if running(pid) {
					t.Errorf("process %d still runs", pid)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func TestCloseWithCancelledContextKillsAtOnce(t *testing.T) {
	p := start(t, spec("escaped-child,ignore-eof,ignore-term,ready"))
	child := pidOf(t, lines(t, p, 2)[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if p.ExitStatus() != "signal: killed" || running(child) {
		t.Errorf("status %q, child running: %v", p.ExitStatus(), running(child))
	}
}

func TestKillEndsEverythingWithoutWaiting(t *testing.T) {
	p := start(t, spec("escaped-child,ignore-eof,ignore-term,ready"))
	child := pidOf(t, lines(t, p, 2)[0])
	p.Kill()
	p.Kill()
	<-p.Done()
	if p.ExitStatus() != "signal: killed" || running(child) {
		t.Errorf("status %q, child running: %v", p.ExitStatus(), running(child))
	}
}

func TestServerThatExitsByItselfLeavesNothing(t *testing.T) {
	p := start(t, spec("escaped-child,exit=3"))
	child := pidOf(t, lines(t, p, 1)[0])
	<-p.Done()
	if p.ExitStatus() != "exit status 3" {
		t.Errorf("status %q", p.ExitStatus())
	}
	if running(child) {
		t.Error("its child still runs")
	}
	if diff := cmp.Diff([]int{child}, p.Ending().Leftovers); diff != "" {
		t.Errorf("leftovers (-want +got):\n%s", diff)
	}
}

func TestOutputWrittenBeforeExitIsStillRead(t *testing.T) {
	p := start(t, spec("ready,exit=0"))
	<-p.Done()
	if got := lines(t, p, 1); pidOf(t, got[0]) != p.PID() {
		t.Errorf("got %q, want the pid %d", got, p.PID())
	}
}

func TestStderrIsDrainedAndBounded(t *testing.T) {
	p := start(t, spec("stderr=20000000,exit=1"))
	<-p.Done()
	got, truncated := p.Stderr()
	if len(got) != stdio.StderrLimit || !truncated || !strings.HasSuffix(got, "x\nthe last line\n") {
		t.Errorf("kept %d bytes, truncated %v, end %q", len(got), truncated, got[max(0, len(got)-20):])
	}
}

func TestChildSeesOnlyAllowedAndConfiguredVariables(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "canary")
	t.Setenv("X_API_KEY", "canary")
	t.Setenv("LC_TIME", "C")
	t.Setenv("TZ", "UTC")
	s := spec("env")
	s.Env["CONFIGURED"] = "yes"
	s.Env["TZ"] = "Asia/Tokyo"
	p := start(t, s)
	env := map[string]string{}
	for _, l := range lines(t, p, 1<<20) {
		k, v, _ := strings.Cut(l, "=")
		env[k] = v
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "X_API_KEY"} {
		if _, ok := env[name]; ok {
			t.Errorf("the child sees %s", name)
		}
	}
	want := map[string]string{"CONFIGURED": "yes", "TZ": "Asia/Tokyo", "LC_TIME": "C", "PATH": os.Getenv("PATH")}
	for name, value := range want {
		if env[name] != value {
			t.Errorf("%s = %q, want %q", name, env[name], value)
		}
	}
}

func TestArgumentsReachTheServerUnchanged(t *testing.T) {
	args := []string{"; touch x", "$HOME", "a b", "", "é\n"}
	p := start(t, spec("args", args...))
	var want []string
	for _, a := range args {
		want = append(want, strconv.Quote(a))
	}
	if diff := cmp.Diff(want, lines(t, p, len(args))); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := spec("cwd")
	s.Dir = dir
	if got := lines(t, start(t, s), 1)[0]; got != dir {
		t.Errorf("cwd %q, want %q", got, dir)
	}
}

func TestStartErrorsTellTheCausesApart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "hello", 0o600)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)
	foreign := write("foreign", "\x7fELFnot really", 0o700)
	write("server", "#!/bin/sh\n", 0o600)
	for _, tc := range []struct {
		name string
		spec stdio.Spec
		want stdio.Reason
		is   error
		text string
	}{
		{"no command", stdio.Spec{}, stdio.ReasonNotFound, fs.ErrNotExist, ""},
		{"unknown name", stdio.Spec{Command: "no-such-server", Env: map[string]string{"PATH": "/nowhere:relative:" + dir}}, stdio.ReasonNotFound, fs.ErrNotExist, "/nowhere:" + dir},
		{"unknown path", stdio.Spec{Command: "./gone", Dir: dir}, stdio.ReasonNotFound, fs.ErrNotExist, "gone"},
		{"shell text", stdio.Spec{Command: "a; touch x"}, stdio.ReasonNotFound, fs.ErrNotExist, "a; touch x"},
		{"not executable", stdio.Spec{Command: plain}, stdio.ReasonNotExecutable, nil, plain},
		{"not executable in PATH", stdio.Spec{Command: "server", Env: map[string]string{"PATH": dir}}, stdio.ReasonNotExecutable, nil, filepath.Join(dir, "server")},
		{"directory", stdio.Spec{Command: dir}, stdio.ReasonNotExecutable, nil, dir},
		{"interpreter", stdio.Spec{Command: orphan}, stdio.ReasonInterpreter, fs.ErrNotExist, orphan},
		{"foreign format", stdio.Spec{Command: foreign}, stdio.ReasonNotExecutable, syscall.ENOEXEC, foreign},
		{"missing cwd", stdio.Spec{Command: "sh", Dir: filepath.Join(dir, "gone")}, stdio.ReasonDirectory, fs.ErrNotExist, "gone"},
		{"cwd is a file", stdio.Spec{Command: "sh", Dir: plain}, stdio.ReasonDirectory, nil, "not a directory"},
		{"NUL", stdio.Spec{Command: "sh", Args: []string{"secret\x00"}}, stdio.ReasonArguments, nil, "NUL"},
		{"variable name", stdio.Spec{Command: "sh", Env: map[string]string{"a=b": "secret"}}, stdio.ReasonArguments, nil, "a=b"},
		{"tilde", stdio.Spec{Command: "~/server"}, stdio.ReasonNotFound, fs.ErrNotExist, "${HOME}"},
		{"too long", stdio.Spec{Command: "sh", Args: []string{strings.Repeat("x", 4<<20)}}, stdio.ReasonArguments, syscall.E2BIG, "Pass a file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := stdio.Start(t.Context(), tc.spec)
			got, ok := errors.AsType[*stdio.StartError](err)
			if !ok {
				t.Fatalf("got %v, want a *StartError", err)
			}
			if got.Reason != tc.want || (tc.is != nil && !errors.Is(err, tc.is)) {
				t.Errorf("reason %q, cause %v; want %q, %v", got.Reason, got.Err, tc.want, tc.is)
			}
			if !strings.Contains(err.Error()+got.Hint, tc.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("text %q should hold %q and no secret", err, tc.text)
			}
			if tc.want != stdio.ReasonArguments && got.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestStartObeysContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stdio.Start(ctx, spec("ready")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
