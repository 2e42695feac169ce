//go:build unix && !linux && !darwin

package stdio

import (
	"os/exec"
	"syscall"
)

// On these systems the process group is all that is known of a server's descendants.

func bindToParent(*syscall.SysProcAttr) {}

func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(cmd *exec.Cmd) string { return statusText(cmd.ProcessState) }

// tableLookup knows only whether there is such a process.
func tableLookup(pid int) (tableEntry, bool) {
	return tableEntry{identity: identity{PID: pid}}, syscall.Kill(pid, 0) != syscall.ESRCH
}

func processTable() ([]tableEntry, error) { return nil, nil }

func carries(int, string) bool { return false }

func bootID() string { return "" }
