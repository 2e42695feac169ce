package stdio

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// bindToParent asks the kernel to kill the child when the thread that starts it ends; see runThread.
func bindToParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit returns when the process has ended, and leaves it a zombie: its pid stays taken until reap.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func reap(cmd *exec.Cmd) string {
	_ = cmd.Wait() // the status says it all; a nonzero one is no failure of ours
	return statusText(cmd.ProcessState)
}

// tableLookup reads one row of the table. Start times are clock ticks since boot.
func tableLookup(pid int) (tableEntry, bool) { return statOf(strconv.Itoa(pid)) }

func processTable() ([]tableEntry, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]tableEntry, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if e, ok := statOf(name); ok {
			table = append(table, e)
		}
	}
	return table, nil
}

// statOf reads /proc/pid/stat. The second field is the program's name in parentheses, which may itself hold blanks and
// parentheses, so fields are counted from the last closing one.
func statOf(pid string) (tableEntry, bool) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return tableEntry{}, false
	}
	return parseStat(pid, string(data))
}

func parseStat(pid, line string) (tableEntry, bool) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return tableEntry{}, false
	}
	// state ppid pgrp session … with starttime at index 19
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 {
		return tableEntry{}, false
	}
	id, err1 := strconv.Atoi(pid)
	parent, err2 := strconv.Atoi(fields[1])
	group, err3 := strconv.Atoi(fields[2])
	session, err4 := strconv.Atoi(fields[3])
	start, err5 := strconv.ParseUint(fields[19], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil {
		return tableEntry{}, false
	}
	return tableEntry{identity{id, start}, parent, group, session, fields[0] == "Z" || fields[0] == "X"}, true
}

// carries reports whether pid was started with marker in its environment. Other users' processes cannot be read and do not.
func carries(pid int, marker string) bool {
	if marker == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := []byte(markerVar + "=" + marker)
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

// bootID tells one run of the system from the next; start times count from boot.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
