package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// LoginShell learns the PATH of the person's login shell. A host that a desktop or a service manager started has a PATH of
// its own, in which tools installed for the person are missing. The shell is asked once and only when needed. The zero
// value is ready; share one between all servers, and do not change it once it is in use.
type LoginShell struct {
	// Shell is the program to ask; empty means $SHELL.
	Shell string
	// Limit bounds the question; 0 means 5 s.
	Limit time.Duration

	once sync.Once
	done chan struct{} // closed when path and err are set
	path string
	err  error
}

const (
	shellLimit  = 5 * time.Second
	shellOutput = 1 << 20 // bytes of the shell's output that are looked at
)

// Path returns the login shell's PATH. The first call starts the shell, others wait for that one, and all of them no
// longer than ctx. The result, an error included, is kept for the life of s.
func (s *LoginShell) Path(ctx context.Context) (string, error) {
	s.once.Do(func() {
		s.done = make(chan struct{})
		go func() {
			defer close(s.done)
			shell, limit := s.Shell, s.Limit
			if shell == "" {
				shell = os.Getenv("SHELL")
			}
			if limit <= 0 {
				limit = shellLimit
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) // the answer is for everyone
			defer cancel()
			s.path, s.err = askShell(ctx, shell)
		}()
	})
	select {
	case <-s.done:
		return s.path, s.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// errNoShell: without $SHELL there is nobody to ask; on Windows there never is.
var errNoShell = errors.New("SHELL is not set")

func askShell(ctx context.Context, shell string) (string, error) {
	if shell == "" {
		return "", errNoShell
	}
	// Startup files print what they like, so the answer stands between two marks. env is a program: how a shell itself
	// prints PATH differs between them.
	const mark = "__usher_login_path__"
	cmd := exec.CommandContext(ctx, shell, "-l", "-i", "-c", "echo "+mark+"; /usr/bin/env; echo "+mark)
	cmd.Env = list(hostEnvironment(nil))
	detach(cmd)
	out := newRing(shellOutput)
	cmd.Stdout = out
	cmd.WaitDelay = reapLimit
	runErr := cmd.Run()
	text, _ := out.tail()
	_, text, found := strings.Cut(text, mark)
	if found {
		text, _, found = strings.Cut(text, mark)
	}
	if found {
		for line := range strings.Lines(text) {
			if path, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "PATH="); ok && path != "" {
				return path, nil
			}
		}
	}
	if runErr == nil {
		runErr = errors.New("it printed no PATH")
	}
	return "", fmt.Errorf("login shell %s: %w", shell, runErr)
}
