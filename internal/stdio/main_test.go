//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/stdio"
)

// The test binary is its own server: with this variable set it plays the role named by it.
const roleVar = "STDIO_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

func playHost(ledgerDir string) int {
	s := stdio.Spec{Command: os.Args[0], Env: map[string]string{
		roleVar: "escaped-child,ignore-eof,ignore-term,ready", "GORACE": "atexit_sleep_ms=0",
	}}
	if ledgerDir != "" {
		ledger, err := stdio.OpenLedger(ledgerDir)
		if err != nil {
			return 70
		}
		s.Ledger = ledger
	}
	started := make(chan *stdio.Process)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		p, err := stdio.Start(context.Background(), s)
		if err != nil {
			panic(err)
		}
		started <- p
	}()
	p := <-started
	_, _ = io.Copy(os.Stdout, p.Stdout)
	return 0
}

// play runs a comma-separated list of behaviours and returns the exit status.
func play(role string) int {
	ignoreEOF := false
	for word := range strings.SplitSeq(role, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "exit":
			n, _ := strconv.Atoi(value)
			return n
		case "ignore-eof":
			ignoreEOF = true
		case "ignore-term":
			signal.Ignore(syscall.SIGTERM)
		case "env":
			for _, kv := range os.Environ() {
				fmt.Println(kv)
			}
			return 0
		case "cwd":
			dir, _ := os.Getwd()
			fmt.Println(dir)
			return 0
		case "args":
			for _, a := range os.Args[1:] {
				fmt.Printf("%q\n", a)
			}
			return 0
		case "stderr":
			n, _ := strconv.Atoi(value)
			line := strings.Repeat("x", 1023) + "\n"
			for written := 0; written < n; written += len(line) {
				_, _ = io.WriteString(os.Stderr, line)
			}
			_, _ = io.WriteString(os.Stderr, "the last line\n")
		case "child", "escaped-child":
			// A helper that ignores everything but SIGKILL and prints its pid when it is ready.
			cmd := exec.Command(os.Args[0]) //nolint:noctx // it is meant to outlive this process
			cmd.Env = append(os.Environ(), roleVar+"=ignore-eof,ignore-term,ready")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: name == "escaped-child"}
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				return 70
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			fmt.Print(line)
		case "orphan":
			// A process that hides: this one ends, and leaves it without a parent, a group and an environment that is known.
			cmd := exec.Command("/bin/sleep", "300") //nolint:noctx // it is meant to outlive this process
			cmd.Env = []string{}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				return 70
			}
			fmt.Println(cmd.Process.Pid)
			return 0
		case "host":
			// A host that starts a server and is then killed. value is its ledger, or empty. The server is started from a
			// thread that ends at once, which must not matter.
			return playHost(value)
		case "ready":
			fmt.Println(os.Getpid())
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if ignoreEOF {
		time.Sleep(5 * time.Minute) // a failed test must not leave it for ever
	}
	return 0
}
