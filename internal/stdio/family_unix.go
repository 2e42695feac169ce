//go:build unix

package stdio

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// identity names one process for good: pids are recycled, a pid together with its start time is not.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in the unit of the system's process table; 0 when unknown
}

// tableEntry is one row of the process table.
type tableEntry struct {
	identity
	parent, group int
	session       int // 0 when the table does not tell
	zombie        bool
}

// family is a started process and its descendants.
type family struct {
	leader identity
	marker string

	mu   sync.Mutex
	seen map[identity]struct{} // every descendant found so far
	over bool                  // the leader's pid may belong to another process now
}

func newFamily(p *os.Process, marker string) *family {
	return &family{leader: identify(p.Pid), marker: marker, seen: map[identity]struct{}{}}
}

// system puts the child into a session of its own, and so into a process group of its own too: without the host's
// terminal, a server can neither read what the person types nor write over what they see.
func system(cmd *exec.Cmd, _ []string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	bindToParent(cmd.SysProcAttr)
	return nil
}

// remember looks for descendants while their chain of parents is still whole.
func (f *family) remember() { f.survivors() }

// survivors returns the living descendants, the leader not among them.
func (f *family) survivors() []int {
	ids := f.scan()
	pids := make([]int, 0, len(ids))
	for _, id := range ids {
		pids = append(pids, id.PID)
	}
	return pids
}

func (f *family) scan() []identity {
	f.mu.Lock()
	defer f.mu.Unlock()
	table, err := processTable()
	if err != nil || len(table) == 0 {
		return f.groupOnly()
	}
	members := map[int]bool{f.leader.PID: !f.over}
	candidates := table[:0:0]
	for _, e := range table {
		if e.PID <= 1 || e.PID == os.Getpid() || e.PID == f.leader.PID || e.Start < f.leader.Start {
			continue
		}
		_, known := f.seen[e.identity]
		if known || ((e.group == f.leader.PID || e.session == f.leader.PID) && !f.over) || carries(e.PID, f.marker) {
			members[e.PID] = true
			f.seen[e.identity] = struct{}{}
			continue
		}
		candidates = append(candidates, e)
	}
	// A child can stand before its parent in the table, so passes are made until one finds nothing new.
	for found := true; found; {
		found = false
		for _, e := range candidates {
			if !members[e.PID] && members[e.parent] {
				members[e.PID] = true
				f.seen[e.identity] = struct{}{}
				found = true
			}
		}
	}
	var alive []identity
	for _, e := range table {
		if members[e.PID] && e.PID != f.leader.PID && !e.zombie {
			alive = append(alive, e.identity)
		}
	}
	return alive
}

// groupOnly is for systems whose process table cannot be read: the group is all that is known.
func (f *family) groupOnly() []identity {
	if f.over || syscall.Kill(-f.leader.PID, 0) != nil {
		return nil
	}
	return []identity{{PID: -f.leader.PID}}
}

func (f *family) terminate() { f.signal(syscall.SIGTERM) }
func (f *family) kill()      { f.signal(syscall.SIGKILL) }

// signal reaches the group first, because one call catches also what is being forked, and then every known descendant.
// A process that is gone meanwhile is no error.
func (f *family) signal(sig syscall.Signal) {
	descendants := f.scan()
	f.mu.Lock()
	over := f.over
	f.mu.Unlock()
	if !over {
		_ = syscall.Kill(-f.leader.PID, sig)
	}
	for _, id := range descendants {
		if id.PID > 0 {
			_ = signalIdentity(id, sig)
		}
	}
}

// release says that the leader has been reaped: its pid means nothing from now on.
func (f *family) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// signalIdentity signals the process id names, and no other that got its pid.
func signalIdentity(id identity, sig syscall.Signal) error {
	p, err := os.FindProcess(id.PID) // on Linux this holds the process, so that the check below stays true
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if now := identify(id.PID); now != id {
		return os.ErrProcessDone
	}
	return p.Signal(sig)
}

// identify gives pid its start time; it is 0 when there is no such process.
func identify(pid int) identity {
	if e, ok := tableLookup(pid); ok {
		return e.identity
	}
	return identity{PID: pid}
}

// alive reports whether the very process id names still runs.
func alive(id identity) bool {
	if id.PID <= 1 {
		return false
	}
	e, ok := tableLookup(id.PID)
	return ok && e.identity == id && !e.zombie
}

// statusText is the exit status as os/exec words it.
func statusText(state *os.ProcessState) string {
	if state == nil {
		return "exit status unknown"
	}
	return strings.TrimSpace(state.String())
}

// detach gives a helper command a session of its own, without a terminal it could stop at.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endLeftover ends a process of a host that is gone, with its descendants, and reports whether there was anything to end.
func endLeftover(ctx context.Context, id identity, marker string) bool {
	f := &family{leader: id, marker: marker, seen: map[identity]struct{}{}}
	if !alive(id) {
		f.over = true // the pid, and perhaps the group, is another's by now
	}
	all := func() []identity {
		ids := f.scan()
		if alive(id) {
			ids = append(ids, id)
		}
		return ids
	}
	if len(all()) == 0 {
		return false
	}
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, leftoverTerm}, {syscall.SIGKILL, leftoverTerm}} {
		for _, id := range all() {
			_ = signalIdentity(id, step.sig) // gone meanwhile is as good
		}
		limit := time.NewTimer(step.wait)
		tick := time.NewTicker(scanEvery)
		for waiting := true; waiting && len(all()) > 0; {
			select {
			case <-tick.C:
			case <-limit.C:
				waiting = false
			case <-ctx.Done():
				waiting = false
			}
		}
		limit.Stop()
		tick.Stop()
	}
	return true
}
