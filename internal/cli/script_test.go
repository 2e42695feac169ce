//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/cli"
	"github.com/usher-mcp/usher/ushertest"
)

func TestMain(m *testing.M) {
	ushertest.Main()
	testscript.Main(leakChecked{m}, map[string]func(){"usher": usherMain, "fx": fxMain})
}

// leakChecked runs the tests and then looks for goroutines that they left.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// usherMain is cmd/usher.
func usherMain() { os.Exit(cli.Run(context.Background())) }

// fxMain is the server the scripts talk to. A program built with -race sleeps for a second before it exits unless
// the environment it was started with says otherwise, so it starts itself again.
func fxMain() {
	if os.Getenv("GORACE") == "" {
		if exe, err := os.Executable(); err == nil {
			_ = syscall.Exec(exe, os.Args, append(os.Environ(), "GORACE=atexit_sleep_ms=0")) // returns on failure only
		}
	}
	os.Exit(ushertest.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func TestScripts(t *testing.T) {
	model := &scriptedModel{tb: t}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("NO_COLOR", "1")
			// What a script cannot hold, or not quote.
			const evil = "a\x1b[2J\u009b31m\x7f\u202eb\u2066\u061cé𝄞"
			env.Setenv("evil_text", evil)
			env.Setenv("evil", `"{\"content\":[{\"type\":\"text\",\"text\":\"`+strings.ReplaceAll(evil, "\x1b", `\\u001b`)+`\"}]}"`)
			env.Setenv("notutf8", "message=\xff")
			env.Setenv("tools", `"{\"tools\":[{\"name\":\"ok\",\"inputSchema\":{\"type\":\"object\"}}`+strings.Repeat(`,{\"name\":\"\"}`, 8)+`]}"`)
			env.Setenv("prompts", `"{\"prompts\":[{\"name\":\"a\"},{\"name\":\"a\"}]}"`)
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"json":       jsonPath,
			"received":   received,
			"cancelled":  cancelled,
			"trace":      traceSummary,
			"mode":       fileMode,
			"interrupts": interrupts,
			"model":      model.command,
			"lastline":   lastLine,
			"session":    session,
		},
	})
}

// exits CODE PROGRAM ARGUMENTS… runs a program that must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENTS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// json PATH WANT looks into the one line of JSON on the last command's standard output. PATH is keys and indices with
// dots between; "len" as its last part counts. WANT is the value as text, or as JSON without spaces.
func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH WANT")
	}
	text := ts.ReadFile("stdout")
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("standard output is not one line: %q", text)
	}
	got := valueAt(ts, json.RawMessage(text), args[0])
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %q in %s", args[0], got, text)
	}
}

// valueAt is what stands at a path in JSON: text as it is, anything else as JSON.
func valueAt(ts *testscript.TestScript, raw json.RawMessage, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		var list []json.RawMessage
		var object map[string]json.RawMessage
		i, err := strconv.Atoi(part)
		switch {
		case part == "len":
			ts.Check(json.Unmarshal(raw, &list))
			raw = json.RawMessage(strconv.Itoa(len(list)))
		case err == nil:
			ts.Check(json.Unmarshal(raw, &list))
			if i >= len(list) {
				ts.Fatalf("%s: there are %d in %s", path, len(list), raw)
			}
			raw = list[i]
		default:
			ts.Check(json.Unmarshal(raw, &object))
			raw = object[part]
		}
	}
	got := string(raw)
	var plain string
	if bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &plain) == nil {
		got = plain
	}
	return got
}

// received LOG METHOD COUNT looks into the log of fx: how many frames with this method the server saw.
func received(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: received LOG METHOD COUNT")
	}
	log, err := ushertest.ReadLogFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := len(log.Received(args[1])); strconv.Itoa(got) != args[2] {
		ts.Fatalf("the server saw %d × %s, want %s; it saw %q", got, args[1], args[2], log.Methods())
	}
	if broken := log.Violations(); len(broken) > 0 {
		ts.Fatalf("the client broke the protocol: %q", broken)
	}
}

// cancelled LOG METHOD looks into the log of fx: the last request with this method was cancelled by its id, once.
func cancelled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cancelled LOG METHOD")
	}
	log, err := ushertest.ReadLogFile(ts.MkAbs(args[0]))
	ts.Check(err)
	requests := log.Received(args[1])
	if len(requests) == 0 {
		ts.Fatalf("the server saw no %s, but %q", args[1], log.Methods())
	}
	var id any
	ts.Check(json.Unmarshal(requests[len(requests)-1].ID, &id))
	count := 0
	for _, r := range log.Of(requests[len(requests)-1].PID).Received("notifications/cancelled") {
		if fmt.Sprint(r.Params()["requestId"]) == fmt.Sprint(id) {
			count++
		}
	}
	if count != 1 {
		ts.Fatalf("the server was told %d times that %v is cancelled; it saw %q", count, id, log.Methods())
	}
}

// trace FILE PROCESS [METHOD…] looks into a trace file: the first frame that went to this process must be the first
// METHOD, and each other one must have been sent. With ! no frame of the process is there, or with METHODs none of
// those was sent to it. Every line must have the documented shape.
func traceSummary(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: trace FILE PROCESS [METHOD…]")
	}
	var sent []string
	seen := false
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			T                    time.Time
			Server, Process, Dir string
			Frame                json.RawMessage
		}
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&line); err != nil || line.T.IsZero() || line.Server == "" || line.Frame == nil ||
			line.Dir != "send" && line.Dir != "recv" || line.Process != "session" && line.Process != "probe" {
			ts.Fatalf("bad line %s: %v", lines.Text(), err)
		}
		if line.Process != args[1] {
			continue
		}
		seen = true
		var frame struct{ Method string }
		if line.Dir == "send" && json.Unmarshal(line.Frame, &frame) == nil && frame.Method != "" {
			sent = append(sent, frame.Method)
		}
	}
	ts.Check(lines.Err())
	methods := args[2:]
	switch {
	case neg && len(methods) == 0 && seen:
		ts.Fatalf("there are frames of the %s", args[1])
	case neg:
		for _, method := range methods {
			if slices.Contains(sent, method) {
				ts.Fatalf("%s was sent to the %s", method, args[1])
			}
		}
	case len(sent) == 0 || len(methods) > 0 && sent[0] != methods[0]:
		ts.Fatalf("the %s was sent %q", args[1], sent)
	default:
		for _, method := range methods {
			if !slices.Contains(sent, method) {
				ts.Fatalf("the %s was sent %q, and not %s", args[1], sent, method)
			}
		}
	}
}

// mode FILE OCTAL checks the permissions of a file.
func fileMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE OCTAL")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("the mode of %s is %s", args[0], got)
	}
}

// interrupts LOG METHOD PROGRAM ARGUMENTS… starts a program, sends it SIGINT once the server of this log has received
// METHOD, and expects exit code 130. What it printed is left in the file "interrupted".
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupts LOG METHOD PROGRAM ARGUMENTS…")
	}
	program, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], args[2]))
	ts.Check(err)
	cmd := exec.Command(program, args[3:]...) //nolint:noctx // it is ended by the signal that is the test
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &out, &out
	for _, name := range []string{"PATH", "HOME", "GORACE", "NO_COLOR", "TMPDIR", "USHER_MODEL_BASE_URL", "USHER_MODEL_NAME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	bound := time.After(60 * time.Second)
	signalled := false
	for {
		select {
		case err := <-done:
			ts.Check(os.WriteFile(ts.MkAbs("interrupted"), out.Bytes(), 0o600))
			var exit *exec.ExitError
			if !signalled || !errors.As(err, &exit) || exit.ExitCode() != cli.ExitInterrupted {
				ts.Fatalf("it ended with %v: %s", err, out.String())
			}
			return
		case <-bound:
			_ = cmd.Process.Kill()
			ts.Fatalf("it does not end (%v): %s", <-done, out.String())
		case <-poll.C:
			log, err := ushertest.ReadLogFile(ts.MkAbs(args[0]))
			if err == nil && !signalled && len(log.Received(args[1])) > 0 {
				signalled = true
				ts.Check(cmd.Process.Signal(os.Interrupt))
			}
		}
	}
}
