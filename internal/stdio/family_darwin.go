package stdio

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// bindToParent does nothing: the system has no parent-death signal. The ledger stands in for it.
func bindToParent(*syscall.SysProcAttr) {}

func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(cmd *exec.Cmd) string { return statusText(cmd.ProcessState) }

const zombie = 5 // SZOMB in sys/proc.h

func entryOf(k *unix.KinfoProc) tableEntry {
	start := k.Proc.P_starttime
	return tableEntry{
		identity: identity{int(k.Proc.P_pid), uint64(start.Sec)*1e6 + uint64(start.Usec)}, //nolint:gosec // a time after 1970
		parent:   int(k.Eproc.Ppid),
		group:    int(k.Eproc.Pgid),
		zombie:   k.Proc.P_stat == zombie,
	}
}

// tableLookup reads one row of the table. Start times are microseconds since 1970.
func tableLookup(pid int) (tableEntry, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return tableEntry{}, false
	}
	return entryOf(k), true
}

func processTable() ([]tableEntry, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]tableEntry, 0, len(procs))
	for i := range procs {
		table = append(table, entryOf(&procs[i]))
	}
	return table, nil
}

// carries is always false: the system does not let a program read another's environment.
func carries(int, string) bool { return false }

func bootID() string { return "" } // start times are absolute
