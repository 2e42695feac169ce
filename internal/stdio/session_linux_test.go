package stdio_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/internal/stdio"
)

// A server has a session of its own, so that the host's terminal is not its terminal, and leads its own group, by
// which it is ended.
func TestServerHasASessionOfItsOwn(t *testing.T) {
	p, err := stdio.Start(t.Context(), stdio.Spec{
		Command: "/bin/sh",
		Args:    []string{"-c", `read pid name state parent group session terminal rest </proc/self/stat; echo $pid $group $session $terminal; exec cat`},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	var pid, group, session, terminal int
	if _, err := fmt.Fscan(p.Stdout, &pid, &group, &session, &terminal); err != nil {
		t.Fatal(err)
	}
	if pid != p.PID() || group != pid || session != pid || terminal != 0 {
		t.Errorf("process %d: group %d, session %d, terminal %d", pid, group, session, terminal)
	}
}

// A descendant without its parent, in a group of its own and without the environment it was given, is known by its
// session.
func TestCloseEndsWhatStaysInTheSession(t *testing.T) {
	p, err := stdio.Start(t.Context(), stdio.Spec{
		Command: "/bin/sh", Args: []string{"-c", `"$0"; exec cat`, os.Args[0]},
		Env: map[string]string{roleVar: "orphan", "GORACE": "atexit_sleep_ms=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	var orphan int
	if _, err := fmt.Fscan(p.Stdout, &orphan); err != nil {
		t.Fatal(err)
	}
	if !running(orphan) {
		t.Fatal("it has ended already")
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !gone(orphan) {
		t.Errorf("process %d is left", orphan)
		_ = syscall.Kill(orphan, syscall.SIGKILL)
	}
}
