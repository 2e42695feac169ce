//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/cli"
	"github.com/usher-mcp/usher/ushertest"
)

// awaitLog waits until what fx wrote to its log is enough.
func awaitLog(t *testing.T, path string, enough func(ushertest.Log) bool) ushertest.Log {
	t.Helper()
	for bound := time.Now().Add(servePatience); time.Now().Before(bound); time.Sleep(10 * time.Millisecond) {
		if log, err := ushertest.ReadLogFile(path); err == nil && enough(log) {
			return log
		}
	}
	t.Fatalf("%s: what is waited for does not come", path)
	return nil
}

// gone checks that no process of a log's servers, and none that they started, is left.
func gone(t *testing.T, path string) {
	t.Helper()
	log, err := ushertest.ReadLogFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pids := log.PIDs()
	for _, r := range log.Events("child") {
		pids = append(pids, r.Child)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !isZombie(pid) {
			t.Errorf("process %d is left (%v)", pid, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// isZombie: an orphan that has ended is reaped by someone else, when that one comes to it.
func isZombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output() //nolint:noctx // it ends at once
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// Each of the signals that ask a program to end cancels the call at the server and ends what it has started.
func TestSignalsCancel(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			d := usher(t, "call", "--json", "--stdio", "fx --child --log "+log, "server", "slow", "ms=60000")
			var out bytes.Buffer
			d.cmd.Stdout = &out
			if err := d.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitLog(t, log, func(l ushertest.Log) bool { return len(l.Received("tools/call")) > 0 })
			if code := d.end(signal); code != cli.ExitInterrupted || !strings.Contains(out.String(), `"code":"cancelled"`) {
				t.Errorf("exit code %d, printed %s%s", code, &out, d.stderr)
			}
			if got := awaitLog(t, log, func(ushertest.Log) bool { return true }).Received("notifications/cancelled"); len(got) != 1 {
				t.Errorf("the server was told %d times", len(got))
			}
			gone(t, log)
		})
	}
}

// What a program started with nohup ignores, it goes on ignoring.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	d := usher(t, "call", "--stdio", "fx --log "+log, "server", "slow", "ms=300")
	// The shell replaces itself, so that the signals reach the program.
	d.cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`}, d.cmd.Args...)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	d.cmd.Path = sh
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, log, func(l ushertest.Log) bool { return len(l.Received("tools/call")) > 0 })
	if code := d.end(syscall.SIGHUP); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, d.stderr)
	}
}

// A second signal does not wait for a server that does not want to leave, and leaves nothing of it.
func TestSecondSignalEndsServersAtOnce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	d := usher(t, "call", "--json", "--stdio", "fx --child=setsid --ignore-eof --ignore-term --log "+log, "server", "slow", "ms=60000")
	var out bytes.Buffer
	d.cmd.Stdout = &out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, log, func(l ushertest.Log) bool { return len(l.Received("tools/call")) > 0 })
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The end of its input is the first thing that the server is told to leave with; SIGTERM would come next.
	awaitLog(t, log, func(l ushertest.Log) bool { return len(l.Events("eof")) > 0 })
	if code := d.end(os.Interrupt); code != cli.ExitInterrupted || !strings.Contains(out.String(), `"code":"cancelled"`) {
		t.Errorf("exit code %d, printed %s%s", code, &out, d.stderr)
	}
	if got := awaitLog(t, log, func(ushertest.Log) bool { return true }).Events("signal"); len(got) > 0 {
		t.Errorf("the server was still asked: %v", got)
	}
	gone(t, log)
}

// closedPipe is the end to write to of a pipe that nobody reads.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// A reader that goes away ends the command, in order and without a word.
func TestUnreadOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"text": {"call", "server", "big"}, "json": {"call", "--json", "server", "big"}, "an error": {"call", "--json", "server", "nosuch"},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			d := usher(t, append(args, "--stdio", "fx --result-bytes 2000000 --child=setsid --log "+log)...)
			d.cmd.Stdout = closedPipe(t)
			if err := d.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = d.cmd.Wait() // its state tells how
			want, words := cli.ExitUnread, 0
			if name == "an error" {
				want, words = cli.ExitUsage, 2 // its own code, said where it can be
			}
			if code := d.cmd.ProcessState.ExitCode(); code != want || strings.Count(d.stderr.String(), "\n") > words {
				t.Errorf("exit code %d, want %d; it said %q", code, want, d.stderr)
			}
			gone(t, log)
		})
	}
}

// Nobody reads the progress; the result is there all the same.
func TestUnreadStandardError(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	d := usher(t, "call", "--verbose", "--stdio", "fx --log "+log, "server", "slow", "ms=50", "steps=5")
	var out bytes.Buffer
	d.cmd.Stdout, d.cmd.Stderr = &out, closedPipe(t)
	if err := d.cmd.Run(); err != nil || out.Len() == 0 {
		t.Errorf("%v, printed %q", err, &out)
	}
	if got := awaitLog(t, log, func(ushertest.Log) bool { return true }).Received("notifications/cancelled"); len(got) > 0 {
		t.Error("the call was cancelled")
	}
}

// Output that takes nothing more is told where it can be, and the code of the error is kept.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, test := range []struct {
		tool, want string
		code       int
	}{
		{"echo", "no space left on device", cli.ExitUsage},
		{"nosuch", `there is no tool "nosuch"`, cli.ExitUsage},
	} {
		d := usher(t, "call", "--json", "--stdio", "fx", "server", test.tool, "message=x")
		d.cmd.Stdout = full
		_ = d.cmd.Run() // its state tells how
		if code := d.cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(d.stderr.String(), test.want) {
			t.Errorf("%s: exit code %d, said %q", test.tool, code, d.stderr)
		}
	}
}

// A read that no signal interrupts does not keep the program.
func TestInterruptedWhileReading(t *testing.T) {
	for name, args := range map[string][]string{
		"arguments":     {"call", "--stdio", "fx", "server", "echo", "--args", "@fifo"},
		"configuration": {"tools", "--config", "fifo"},
	} {
		t.Run(name, func(t *testing.T) {
			d := usher(t, args...)
			fifo := filepath.Join(d.cmd.Dir, "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := d.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Opening it waits for the reader, which has then installed its signal handler long ago.
			w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if code := d.end(os.Interrupt); code != cli.ExitInterrupted || !strings.Contains(d.stderr.String(), "interrupted") {
				t.Errorf("exit code %d, said %q", code, d.stderr)
			}
		})
	}
}

// Servers get three streams and nothing else that this program was given.
func TestServersInheritNoDescriptor(t *testing.T) {
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	list := filepath.Join(t.TempDir(), "list")
	d := usher(t, "call", "--stdio", "sh -c 'ls -l /dev/fd/ > "+list+" 2>&1; exec fx'", "server", "echo", "message=x")
	d.cmd.ExtraFiles = []*os.File{secret, secret, secret}
	if err := d.cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, d.stderr)
	}
	text, err := os.ReadFile(list)
	if err != nil || !strings.Contains(string(text), "2 -> ") {
		t.Skipf("the descriptors cannot be listed: %v, %s", err, text)
	}
	if strings.Contains(string(text), secret.Name()) {
		t.Errorf("the server has\n%s", text)
	}
}
