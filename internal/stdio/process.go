package stdio

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// StderrLimit is how many bytes of a server's stderr are kept.
const StderrLimit = 256 << 10

// CloseLimit bounds Close, whatever the server does.
const CloseLimit = 5 * time.Second

// Spec says what to start. Start copies it.
type Spec struct {
	// Command is a name to be looked up in PATH, or a path; a relative path is relative to Dir. It is never given to a
	// shell (STD-16).
	Command string
	Args    []string
	// Env is added to the allow-list from the host's environment and wins over it.
	Env map[string]string
	// Dir is the working directory; empty means the host's.
	Dir string
	// Shell, when set, supplies the PATH of the person's login shell for commands the host's own PATH lacks.
	Shell *LoginShell
	// Ledger, when set, records the process while it runs.
	Ledger *Ledger
	// Logger receives what had to be forced. nil discards.
	Logger *slog.Logger
}

// Process is one running server. Its methods are safe for concurrent use.
type Process struct {
	// Stdin and Stdout are the parent's ends of the pipes. Both also have the deadline methods of *os.File. Close closes
	// them; closing Stdin earlier asks the server to leave.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	cmd     *exec.Cmd
	family  *family
	logger  *slog.Logger
	ledger  *Ledger
	box     *container
	stderr  *os.File
	ring    *ring
	drained chan struct{} // closed when stderr has been read to its end
	exited  chan struct{} // closed when the started process itself has ended
	killing chan struct{} // closed by Kill
	closing chan schedule // takes the one schedule of the first Close
	done    chan struct{}

	killOnce, closeOnce, releaseOnce sync.Once

	// Written before done is closed, read after.
	status string
	ending Ending
}

// Ending tells how a process and its descendants went.
type Ending struct {
	// Status is the exit status of the started process: "exit status 0", "signal: killed".
	Status string
	// Signal is the strongest signal that was needed: "", "terminate" or "kill".
	Signal string
	// Leftovers are the descendants that were still there when the started process had ended and had to be signalled.
	Leftovers []int
	// Survivors are processes that could not be ended within the bound.
	Survivors []int
}

// schedule holds the moments at which an ending turns from asking to terminating to killing to giving up.
type schedule struct {
	terminate, kill, giveUp time.Time
}

// newSchedule divides what remains until deadline: two fifths for leaving by itself, two for SIGTERM, one for SIGKILL.
func newSchedule(now, deadline time.Time) schedule {
	d := max(deadline.Sub(now), 0)
	return schedule{now.Add(d * 2 / 5), now.Add(d * 4 / 5), now.Add(d)}
}

// Start launches the server of s. ctx bounds the start only (the login shell may have to be asked); the process outlives
// it. The error is a *StartError or wraps ctx's.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %q: %w", s.Command, err)
	}
	logger := s.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	marker := rand.Text()
	launch, err := prepare(ctx, s, marker)
	if err != nil {
		return nil, err
	}
	p := &Process{
		cmd: launch.cmd, logger: logger, ledger: s.Ledger, box: launch.box,
		ring:    newRing(StderrLimit),
		drained: make(chan struct{}),
		exited:  make(chan struct{}),
		killing: make(chan struct{}),
		closing: make(chan schedule, 1),
		done:    make(chan struct{}),
	}
	if err := p.start(marker); err != nil {
		launch.box.discard()
		return nil, launch.explain(err)
	}
	if p.ledger != nil {
		if err := p.ledger.add(p.family, launch.file); err != nil {
			logger.Warn("process not recorded", slog.Int("pid", p.PID()), slog.Any("error", err))
		}
	}
	go p.drain()
	go p.supervise(context.WithoutCancel(ctx))
	return p, nil
}

// launch is a start that has been thought through but not carried out.
type launch struct {
	spec     Spec
	cmd      *exec.Cmd
	file     string
	searched []string
	box      *container
}

func prepare(ctx context.Context, s Spec, marker string) (*launch, error) {
	l := &launch{spec: s}
	if s.Command == "" {
		return nil, &StartError{Reason: ReasonNotFound, Err: fs.ErrNotExist, Hint: "Set command to the program that starts the server."}
	}
	for _, arg := range s.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, l.argumentError(errors.New("an argument holds a NUL byte"))
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, l.argumentError(fmt.Errorf("variable %q has a name or value that no environment can hold", name))
		}
	}
	dir, err := workingDirectory(s.Dir)
	if err != nil {
		return nil, &StartError{
			Command: s.Command, Dir: s.Dir, Reason: ReasonDirectory, Err: bare(err),
			Hint: "Create the directory or change cwd.",
		}
	}
	env := hostEnvironment(s.Env)
	if err := l.find(ctx, dir, env); err != nil {
		return nil, err
	}
	env[markerVar] = marker
	args, box, err := contain(l.file, s.Args, list(env))
	if err != nil {
		return nil, &StartError{Command: s.Command, Path: l.file, Reason: ReasonSystem, Err: err}
	}
	l.box = box
	l.cmd = &exec.Cmd{Path: l.file, Args: append([]string{s.Command}, args...), Env: list(env), Dir: dir}
	if err := system(l.cmd, args); err != nil {
		box.discard()
		return nil, l.argumentError(err)
	}
	return l, nil
}

// find sets l.file, asking the login shell when the PATH at hand lacks the command; env then gets that PATH too, because a
// command found there usually needs its neighbours.
func (l *launch) find(ctx context.Context, dir string, env map[string]string) error {
	look := func(path string) (string, []string, error) {
		if runtime.GOOS == "windows" {
			return lookWindows(l.spec.Command, dir, path, variable(runtime.GOOS, env, "PATHEXT"), os.Stat)
		}
		return lookUnix(l.spec.Command, dir, path, os.Stat)
	}
	path := variable(runtime.GOOS, env, "PATH")
	file, searched, err := look(path)
	_, configured := l.spec.Env["PATH"]
	if err != nil && file == "" && l.spec.Shell != nil && !configured {
		shellPath, shellErr := l.spec.Shell.Path(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("start %q: %w", l.spec.Command, ctx.Err())
		}
		if shellErr == nil {
			var more []string
			if file, more, err = look(shellPath); err == nil {
				setVariable(runtime.GOOS, env, "PATH", shellPath)
			}
			searched = union(searched, more)
		}
	}
	l.file, l.searched = file, searched
	if err != nil {
		return l.explain(err)
	}
	return nil
}

func union(a, b []string) []string {
	seen := make(map[string]bool, len(a)+len(b))
	var out []string
	for _, s := range append(append([]string(nil), a...), b...) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func (l *launch) argumentError(err error) error {
	return &StartError{Command: l.spec.Command, Path: l.file, Reason: ReasonArguments, Err: err}
}

// explain turns a cause into a StartError with a next step.
func (l *launch) explain(cause error) error {
	e := &StartError{Command: l.spec.Command, Path: l.file, Dir: l.spec.Dir, Searched: l.searched, Err: bare(cause)}
	_, statErr := os.Stat(l.file)
	switch {
	case errors.Is(cause, fs.ErrNotExist) && l.file != "" && statErr == nil:
		e.Reason, e.Hint = ReasonInterpreter, "Install the interpreter, or name it as command with the script as its first argument."
	case errors.Is(cause, fs.ErrNotExist):
		e.Reason = ReasonNotFound
		switch {
		case l.file == "":
			e.Hint = fmt.Sprintf("Install %s, or write its full path as command. Arguments belong in args.", l.spec.Command)
		case strings.HasPrefix(l.spec.Command, "~"):
			e.Hint = `Only a shell replaces "~". Write the full path, or ${HOME} in a configuration file.`
		default:
			e.Hint = "Check the path; a relative one starts at cwd. Arguments belong in args."
		}
	case errors.Is(cause, errNotExecutable), errors.Is(cause, fs.ErrPermission):
		e.Reason, e.Hint = ReasonNotExecutable, "Make the file executable, or name the program that runs it as command."
	case errors.Is(cause, syscall.ENOEXEC):
		e.Reason, e.Hint = ReasonNotExecutable, "The file is for another system, or a script without an interpreter line."
	case errors.Is(cause, syscall.EMFILE), errors.Is(cause, syscall.ENFILE):
		e.Reason, e.Hint = ReasonSystem, "Too many files are open. Raise the limit (ulimit -n), or use fewer servers at once."
	case errors.Is(cause, syscall.EAGAIN), errors.Is(cause, syscall.ENOMEM):
		e.Reason, e.Hint = ReasonSystem, "The system has no room for another process. End some, or raise the limit (ulimit -u)."
	case errors.Is(cause, syscall.E2BIG):
		e.Reason, e.Hint = ReasonArguments, "Arguments and variables are longer than the system takes. Pass a file instead."
	default:
		e.Reason = ReasonSystem
	}
	return e
}

// bare drops the path that os errors repeat.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// start makes the pipes and the process. On error nothing is left open.
func (p *Process) start(marker string) (err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	stdinR, stdinW := pipe()
	stdoutR, stdoutW := pipe()
	stderrR, stderrW := pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdinR, stdoutW, stderrW

	started := make(chan error)
	go p.runThread(marker, started)
	if err = <-started; err != nil {
		return err
	}
	// The child has its own copies. Closing these is what lets the parent see the end of stdout and stderr.
	closeAll([]*os.File{stdinR, stdoutW, stderrW})
	p.Stdin, p.Stdout, p.stderr = stdinW, stdoutR, stderrR
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written through it
	}
}

// runThread starts the process and waits for its end on one operating system thread. The parent-death signal of Linux is
// sent when the thread that started the child ends, so this thread must stay until the child is gone.
func (p *Process) runThread(marker string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.family = newFamily(p.cmd.Process, marker)
	started <- nil
	awaitExit(p.cmd)
	close(p.exited)
}

// drain keeps stderr flowing, so that the server never blocks on it (STD-05).
func (p *Process) drain() {
	defer close(p.drained)
	_, _ = io.Copy(p.ring, p.stderr) // its end is all there is to learn
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last bytes the server wrote to stderr, at most StderrLimit, and whether earlier ones were dropped.
func (p *Process) Stderr() (tail string, truncated bool) { return p.ring.tail() }

// Done is closed when the process and its descendants are gone and stderr has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitStatus tells how the process ended, e.g. "exit status 3" or "signal: killed". It is empty before Done.
func (p *Process) ExitStatus() string {
	select {
	case <-p.done:
		return p.status
	default:
		return ""
	}
}

// Ending tells what it took to end the process. It is zero before Done.
func (p *Process) Ending() Ending {
	select {
	case <-p.done:
		return p.ending
	default:
		return Ending{}
	}
}

// Kill ends the process and its descendants at once. It does not wait; Close does, and is still due.
func (p *Process) Kill() { p.killOnce.Do(func() { close(p.killing) }) }

// Close ends the process and all its descendants, closes the pipes and waits for every goroutine of p. It takes at most
// CloseLimit. A deadline of ctx shortens the steps so that they fit, and when ctx is cancelled what is left is killed at
// once; Close then still waits up to half a second for the end itself, to leave nothing behind. The error says that
// something could not be ended; having to use force is no error, see Ending. Further calls wait as the first did.
func (p *Process) Close(ctx context.Context) error {
	now := time.Now()
	deadline := now.Add(CloseLimit - reapLimit)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	p.closeOnce.Do(func() { p.closing <- newSchedule(now, deadline) })

	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
	}
	// A kill is a matter of milliseconds unless the kernel itself is stuck; giving it a moment leaves no zombie behind.
	limit := time.NewTimer(max(time.Until(deadline), 0) + reapLimit)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		p.release()
		return fmt.Errorf("process %d has not ended %s after it was told to", p.PID(), time.Since(now).Round(time.Millisecond))
	}
	p.release()
	if len(p.ending.Survivors) > 0 {
		return fmt.Errorf("process %d: descendants %v could not be ended", p.PID(), p.ending.Survivors)
	}
	return nil
}

// release closes the parent's ends. Done does not: what the server wrote last is still to be read from Stdout.
func (p *Process) release() {
	p.releaseOnce.Do(func() {
		_ = p.Stdin.Close()
		_ = p.Stdout.Close()
		_ = p.stderr.Close()
	})
	<-p.drained
}
