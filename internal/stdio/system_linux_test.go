package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/stdio"
)

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestDescriptorsStayFlat(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	cycle := func(i int) {
		s := stdio.Spec{Command: "/bin/cat"}
		if i%10 == 0 {
			s.Command = filepath.Join(t.TempDir(), "gone")
		}
		if i%10 == 1 {
			s = stdio.Spec{Command: "/bin/sh", Args: []string{"-c", "exit 3"}}
		}
		p, err := stdio.Start(t.Context(), s)
		if err != nil {
			return
		}
		if i%10 == 2 {
			p.Kill()
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cycle(1)
	before := openFiles(t)
	for i := range n {
		cycle(i)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

// host starts a host process that starts a server with a descendant that left its group, and gives all three pids.
func host(t *testing.T, ledger string) (cmd *exec.Cmd, server, child int) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=host="+ledger, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, pid := range []int{server, child} {
			if pid > 1 && running(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	if _, err := fmt.Fscan(out, &child, &server); err != nil {
		t.Fatal(err)
	}
	return cmd, server, child
}

// gone waits for the end of a process that is not ours.
func gone(pid int) bool {
	for range 500 {
		if !running(pid) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestServerDiesWithItsHost(t *testing.T) {
	cmd, server, child := host(t, "")
	if !running(server) || !running(child) {
		t.Fatal("the server ended with the thread that started it")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !gone(server) {
		t.Error("the server outlived its host")
	}
}

func TestReapEndsWhatAKilledHostLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "processes")
	cmd, server, child := host(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("ledger files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), roleVar) {
		t.Errorf("record %s, %v", data, err)
	}

	if reaped, err := stdio.Reap(t.Context(), dir); err != nil || len(reaped) > 0 || !running(server) || !running(child) {
		t.Fatalf("the server of a living host was touched: %v, %v", reaped, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !gone(server) {
		t.Fatal("the server outlived its host")
	}
	if !running(child) {
		t.Fatal("nothing is left to reap: this test shows nothing")
	}
	reaped, err := stdio.Reap(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]stdio.Reaped{{PID: server, Command: os.Args[0]}}, reaped); diff != "" {
		t.Errorf("reaped (-want +got):\n%s", diff)
	}
	if running(child) {
		t.Error("the descendant still runs")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("records left: %q", left)
	}
}

func TestReapHurtsNobodyElse(t *testing.T) {
	dir := t.TempDir()
	bystander := start(t, spec("ready"))
	lines(t, bystander, 1)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	// The pid of a record now belongs to another process: the start time tells.
	recycled := fmt.Sprintf(`{"host":{"pid":%d,"start":1},"process":{"pid":%d,"start":1},"marker":"x","boot":%q}`,
		os.Getpid(), bystander.PID(), strings.TrimSpace(string(boot)))
	for name, text := range map[string]string{
		"recycled.process.json": recycled,
		"reboot.process.json":   strings.Replace(recycled, strings.TrimSpace(string(boot)), "another", 1),
		"broken.process.json":   "{",
		"notes.txt":             "not ours",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if reaped, err := stdio.Reap(t.Context(), dir); err != nil || len(reaped) > 0 {
		t.Errorf("reaped %v, %v", reaped, err)
	}
	if !running(bystander.PID()) {
		t.Error("a bystander was killed")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if diff := cmp.Diff([]string{filepath.Join(dir, "notes.txt")}, left); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
	if reaped, err := stdio.Reap(t.Context(), filepath.Join(dir, "missing")); err != nil || reaped != nil {
		t.Errorf("a missing directory: %v, %v", reaped, err)
	}
}

func TestLedgerIsEmptyAfterClose(t *testing.T) {
	dir := t.TempDir()
	ledger, err := stdio.OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := spec("ready")
	s.Ledger = ledger
	p := start(t, s)
	if files, _ := filepath.Glob(filepath.Join(dir, "*.process.json")); len(files) != 1 {
		t.Errorf("records while it runs: %q", files)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("records after Close: %q", files)
	}
}

func TestCommandOfTheLoginShell(t *testing.T) {
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // scripts must be executable
			t.Fatal(err)
		}
	}
	// The command needs its neighbour, as npx needs node.
	write(filepath.Join(tools, "my-server"), "#!/bin/sh\nexec my-runtime\n")
	write(filepath.Join(tools, "my-runtime"), "#!/bin/sh\necho ran\n")
	shell := filepath.Join(dir, "shell")
	write(shell, "#!/bin/sh\necho x >> "+filepath.Join(dir, "asked")+"\necho 'Welcome! PATH=/wrong'\nPATH=$PATH:"+tools+"\nexport PATH\nwhile [ $# -gt 1 ]; do shift; done\neval \"$1\"\necho bye\n")
	t.Setenv("SHELL", shell)
	t.Setenv("PATH", "/usr/bin:/bin")

	login := &stdio.LoginShell{}
	for range 2 {
		p := start(t, stdio.Spec{Command: "my-server", Shell: login})
		if got := lines(t, p, 1)[0]; got != "ran" {
			t.Errorf("got %q", got)
		}
	}
	start(t, stdio.Spec{Command: "cat", Shell: login}) // no need to ask
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || string(asked) != "x\n" {
		t.Errorf("the shell was asked %q, %v; want once", asked, err)
	}

	_, err := stdio.Start(t.Context(), stdio.Spec{Command: "no-such-server", Shell: login})
	startErr, ok := errors.AsType[*stdio.StartError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"/usr/bin", "/bin", tools}, startErr.Searched); diff != "" {
		t.Errorf("searched (-want +got):\n%s", diff)
	}
	// A PATH that was configured is meant.
	_, err = stdio.Start(t.Context(), stdio.Spec{Command: "my-server", Shell: login, Env: map[string]string{"PATH": "/usr/bin"}})
	if startErr, ok = errors.AsType[*stdio.StartError](err); !ok || startErr.Reason != stdio.ReasonNotFound {
		t.Errorf("with a PATH of its own: %v", err)
	}
}

func TestLoginShellFailures(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"silent": "exit 0", "broken": "exit 1", "hanging": "exec sleep 600"} {
		t.Run(name, func(t *testing.T) {
			shell := filepath.Join(dir, name)
			if err := os.WriteFile(shell, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a script
				t.Fatal(err)
			}
			login := &stdio.LoginShell{Shell: shell, Limit: time.Minute}
			ctx := t.Context()
			if name == "hanging" {
				login.Limit = 200 * time.Millisecond
				ctx = within(t, 20*time.Millisecond)
			}
			path, err := login.Path(ctx)
			if err == nil {
				t.Errorf("got %q", path)
			}
			if name == "hanging" {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the caller's deadline was not kept: %v", err)
				}
				if _, err := login.Path(t.Context()); err == nil || !strings.Contains(err.Error(), "signal: killed") {
					t.Errorf("the shell was not given up: %v", err)
				}
			}
		})
	}
}

func TestContainerIsStopped(t *testing.T) {
	// A stand-in for the engine: `run` writes the container's id and serves until stdin ends or, with STUBBORN, for ever;
	// `stop` ends what `run` left.
	const engine = `#!/bin/sh
echo "$@" >> "$LOG"
if [ "$1" = run ]; then
	echo box-1 > "$3"
	echo up
	if [ -n "$STUBBORN" ]; then trap '' TERM; while :; do sleep 0.05; [ -e "$LOG.stopped" ] && exit 0; done; fi
	cat > /dev/null
elif [ "$1" = stop ]; then
	: > "$LOG.stopped"
fi
`
	for _, stubborn := range []string{"", "yes"} {
		t.Run("stubborn="+stubborn, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			docker, log := filepath.Join(dir, "docker"), filepath.Join(dir, "log")
			if err := os.WriteFile(docker, []byte(engine), 0o700); err != nil { //nolint:gosec // a script
				t.Fatal(err)
			}
			p := start(t, stdio.Spec{Command: docker, Args: []string{"run", "-i", "image"}, Env: map[string]string{"LOG": log, "STUBBORN": stubborn}})
			lines(t, p, 1)
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			calls := strings.Split(strings.TrimSpace(string(data)), "\n")
			if len(calls) != 2 || !strings.HasPrefix(calls[0], "run --cidfile "+dir) || !strings.HasSuffix(calls[0], "/id --rm -i image") || calls[1] != "stop --time 1 box-1" {
				t.Errorf("the engine was called with %q", calls)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "usher-container-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if stubborn != "" && p.ExitStatus() != "exit status 0" {
				t.Errorf("status %q: the client was not let go by the stopped container", p.ExitStatus())
			}
		})
	}
}

func TestCloseFreesABlockedWriter(t *testing.T) {
	p := start(t, stdio.Spec{Command: "/bin/sh", Args: []string{"-c", "echo up; trap '' TERM; while :; do sleep 1; done"}})
	lines(t, p, 1)
	blocked := make(chan error)
	go func() {
		_, err := p.Stdin.Write(make([]byte, 10<<20)) // nobody reads
		blocked <- err
	}()
	if err := p.Close(within(t, time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-blocked; err == nil {
		t.Error("the write succeeded")
	}
}

func TestCloseIsSafeForConcurrentUse(t *testing.T) {
	p := start(t, spec("child,ignore-eof,ready"))
	lines(t, p, 2)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i == 5 {
				p.Kill()
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			p.Stderr()
			p.Ending()
		})
	}
	wg.Wait()
}

func TestForceIsLogged(t *testing.T) {
	var log strings.Builder
	s := spec("child,ready")
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	p := start(t, s)
	child := lines(t, p, 2)[0]
	if err := p.Close(within(t, time.Second)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "signal=kill leftovers=["+child+"]") {
		t.Errorf("logged %q", log.String())
	}
}
