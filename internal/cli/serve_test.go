//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/api"
)

// servePatience bounds every wait of these tests; it is reached only when a test has failed already.
const servePatience = 60 * time.Second

// daemon is a running usher serve, a process of its own.
type daemon struct {
	t      *testing.T
	cmd    *exec.Cmd
	ready  struct{ URL, Addr, TokenFile string }
	stderr *bytes.Buffer
}

// serve starts usher serve in an empty directory with an empty home.
func serve(t *testing.T, dataDir string, args ...string) *daemon {
	t.Helper()
	d := usher(t, append([]string{"serve", "--json", "--addr", "127.0.0.1:0", "--data-dir", dataDir}, args...)...)
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.end(syscall.SIGKILL) })
	if err := json.NewDecoder(out).Decode(&d.ready); err != nil {
		d.end(syscall.SIGKILL)
		t.Fatalf("usher serve printed no line of JSON: %v\n%s", err, d.stderr)
	}
	return d
}

// usher is the program, ready to be started.
func usher(t *testing.T, args ...string) *daemon {
	t.Helper()
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), servePatience)
	t.Cleanup(cancel)
	d := &daemon{t: t, cmd: exec.CommandContext(ctx, "usher", args...), stderr: &bytes.Buffer{}}
	d.cmd.Dir = home
	d.cmd.Env = append(os.Environ(), "HOME="+home, "GORACE=atexit_sleep_ms=0", "NO_COLOR=1")
	d.cmd.Stderr = d.stderr
	return d
}

// end sends a signal and waits for the process. It returns the exit status, −1 after a signal that killed it.
func (d *daemon) end(signal os.Signal) int {
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Signal(signal) // it may have ended by itself
		_ = d.cmd.Wait()                 // its state tells how
	}
	return d.cmd.ProcessState.ExitCode()
}

// do sends a request with the token of the token file.
func do[T any](d *daemon, method, path string, body any) (out T) {
	d.t.Helper()
	token, err := os.ReadFile(d.ready.TokenFile)
	if err != nil {
		d.t.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, "http://"+d.ready.Addr+path, bytes.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		d.t.Fatalf("%s %s: %s %s %v", method, path, response.Status, answer, err)
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

func (d *daemon) log(session string) []api.Event {
	d.t.Helper()
	return do[api.EventList](d, "GET", "/v1/sessions/"+session+"/events?until=now", nil).Events
}

// until looks at the log until the last event is of a type.
func (d *daemon) until(session, kind string) []api.Event {
	d.t.Helper()
	deadline := time.Now().Add(servePatience)
	for {
		log := d.log(session)
		if log[len(log)-1].Type == kind {
			return log
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("the log ends with %s", log[len(log)-1].Type)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func begin(d *daemon) (session, call string) {
	d.t.Helper()
	session = do[api.Session](d, "POST", "/v1/sessions", api.CreateSessionRequest{}).ID
	call = do[api.Accepted](d, "POST", "/v1/sessions/"+session+"/calls",
		api.CallRequest{Server: "fx", Tool: "echo", Arguments: json.RawMessage(`{"message":"x"}`)}).CallID
	d.until(session, api.EventCallStarted)
	return session, call
}

const slowServer = "fx=fx --delay tools/call=1h"

// A daemon that is killed in the middle of a call: its next life has the session, and says what is known of the call.
func TestServeSurvivesItsOwnDeath(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data, "--stdio", slowServer)
	session, call := begin(d)
	if status := d.end(syscall.SIGKILL); status != -1 {
		t.Fatalf("the killed daemon exited with %d", status)
	}
	d = serve(t, data, "--stdio", slowServer)
	log := d.log(session)
	last := log[len(log)-1]
	var end api.CallFinished
	if err := json.Unmarshal(last.Data, &end); err != nil {
		t.Fatal(err)
	}
	if last.Type != api.EventCallFinished || end.CallID != call || end.Outcome != api.OutcomeUnknown || end.Error == nil {
		t.Errorf("the log ends with %s %s", last.Type, last.Data)
	}
	for i, e := range log {
		if e.ID != int64(i+1) {
			t.Errorf("event %d has id %d", i, e.ID)
		}
	}
}

// Ctrl-C: what runs is recorded as cancelled, and the exit is a success.
func TestServeStopsWhenAsked(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data, "--stdio", slowServer)
	session, _ := begin(d)
	if status := d.end(syscall.SIGINT); status != 0 {
		t.Errorf("exit status %d\n%s", status, d.stderr)
	}
	if _, err := os.Stat(filepath.Join(data, "daemon.json")); err == nil {
		t.Error("daemon.json is still there")
	}
	d = serve(t, data, "--stdio", slowServer)
	log := d.log(session)
	if last := log[len(log)-1]; last.Type != api.EventCallFinished || !strings.Contains(string(last.Data), `"cancelled"`) {
		t.Errorf("the log ends with %s %s", last.Type, last.Data)
	}
}

func TestOpenMakesANewCode(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data, "--no-tour")
	if info, err := os.Stat(d.ready.TokenFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v", info, err)
	}
	seen := map[string]bool{d.ready.URL: true}
	for range 2 {
		open := usher(t, "open", "--data-dir", data)
		out, err := open.cmd.Output()
		address := strings.TrimSpace(string(out))
		before, code, found := strings.Cut(address, "/#code=")
		if err != nil || !found || before != "http://"+d.ready.Addr || len(code) < 26 || seen[address] {
			t.Errorf("usher open: %q, %v\n%s", address, err, open.stderr)
		}
		seen[address] = true
	}
	d.end(syscall.SIGINT)
	open := usher(t, "open", "--data-dir", data)
	if err := open.cmd.Run(); open.cmd.ProcessState.ExitCode() != 3 || !strings.Contains(open.stderr.String(), "usher serve") {
		t.Errorf("without a daemon: %v\n%s", err, open.stderr)
	}
}

// Each reason not to start is one line, with the next step, and exit status 2.
func TestServeSaysWhyItCannotStart(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := filepath.Join(t.TempDir(), "data")
	serve(t, data, "--no-tour")
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "usher.db"), bytes.Repeat([]byte("no database "), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ addr, dir, want, hint string }{
		"the port is taken":           {taken.Addr().String(), t.TempDir(), "in use", "--addr 127.0.0.1:0"},
		"others could reach it":       {"0.0.0.0:0", t.TempDir(), "other machines", "--allow-remote"},
		"the sessions are in use":     {"127.0.0.1:0", data, "another usher serve", "--data-dir"},
		"the sessions are damaged":    {"127.0.0.1:0", damaged, "damaged", "Move it away"},
		"the address is not complete": {"8765", t.TempDir(), "HOST:PORT", "--addr"},
	} {
		t.Run(name, func(t *testing.T) {
			d := usher(t, "serve", "--no-tour", "--addr", test.addr, "--data-dir", test.dir)
			out, err := d.cmd.Output()
			text := d.stderr.String()
			if d.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text, test.want) || !strings.Contains(text, test.hint) || len(out) != 0 {
				t.Errorf("%v, printed %q\n%s", err, out, text)
			}
			if lines := strings.Count(text, "\n"); lines > 2 {
				t.Errorf("it takes %d lines to say so:\n%s", lines, text)
			}
		})
	}
}

// The address that people get is on a line of its own, and nothing secret is said anywhere else.
func TestServeForPeople(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	d := usher(t, "serve", "--addr", "127.0.0.1:0", "--data-dir", data)
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer d.end(syscall.SIGKILL)
	var address string
	for address == "" {
		var line string
		if _, err := fmt.Fscanln(out, &line); err == nil && strings.HasPrefix(line, "http://") {
			address = line
		} else if errors.Is(err, io.EOF) {
			t.Fatalf("no address was printed\n%s", d.stderr)
		}
	}
	if status := d.end(syscall.SIGINT); status != 0 || !strings.Contains(address, "/#code=") {
		t.Errorf("address %s, exit status %d", address, status)
	}
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if text := d.stderr.String(); !strings.Contains(text, "tour") || strings.Contains(text, strings.TrimSpace(string(token))) {
		t.Errorf("it said:\n%s", text)
	}
}
