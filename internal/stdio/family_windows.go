package stdio

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // creation time in units of 100 ns
}

// family is a started process in a job object of its own. The job ends its processes when its last handle is closed, which
// the system also does when the host dies.
type family struct {
	leader identity
	marker string

	mu  sync.Mutex
	job windows.Handle // 0 when there is none
	p   *os.Process
}

func newFamily(p *os.Process, marker string) *family {
	f := &family{leader: identify(p.Pid), marker: marker, p: p}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return f
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, p.Pid)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return f
	}
	f.job = job
	return f
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return windows.AssignProcessToJobObject(job, h)
}

// system puts the child into a console group of its own and, for a batch script, builds the interpreter's command line.
func system(cmd *exec.Cmd, args []string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if !isBatch(cmd.Path) {
		return nil
	}
	interpreter := os.Getenv("COMSPEC")
	if interpreter == "" {
		interpreter = os.Getenv("SYSTEMROOT") + `\System32\cmd.exe`
	}
	line, err := batchCommandLine(interpreter, cmd.Path, args)
	if err != nil {
		return err
	}
	cmd.Path, cmd.SysProcAttr.CmdLine = interpreter, line
	return nil
}

func (f *family) remember() {}

// processIDs mirrors JOBOBJECT_BASIC_PROCESS_ID_LIST with room for the processes of one server.
type processIDs struct {
	assigned, listed uint32
	ids              [1024]uintptr
}

func (f *family) survivors() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == 0 {
		return nil
	}
	var list processIDs
	err := windows.QueryInformationJobObject(f.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	var pids []int
	for _, id := range list.ids[:min(int(list.listed), len(list.ids))] {
		if int(id) != f.leader.PID {
			pids = append(pids, int(id))
		}
	}
	return pids
}

// terminate asks as far as the system has a way to: a break event to the console group, which a program without a console
// never sees.
func (f *family) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(f.leader.PID))
}

func (f *family) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job != 0 {
		_ = windows.TerminateJobObject(f.job, 1)
		return
	}
	_ = f.p.Kill()
}

func (f *family) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job != 0 {
		_ = windows.CloseHandle(f.job)
		f.job = 0
	}
}

func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func reap(cmd *exec.Cmd) string {
	if cmd.ProcessState == nil {
		return "exit status unknown"
	}
	return strings.TrimSpace(cmd.ProcessState.String())
}

func identify(pid int) identity {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return identity{PID: pid}
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return identity{PID: pid}
	}
	return identity{pid, uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime)}
}

func alive(id identity) bool { return id.Start != 0 && identify(id.PID) == id }

// endLeftover ends a process of a host that is gone. Its job has normally done that already.
func endLeftover(_ context.Context, id identity, _ string) bool {
	if !alive(id) {
		return false
	}
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return p.Kill() == nil
}

func bootID() string { return "" }

func detach(*exec.Cmd) {}
