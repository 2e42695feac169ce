package client

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/stdio"
)

// LauncherOptions are the options of [NewLauncher]. The zero value starts processes and remembers nothing.
type LauncherOptions struct {
	// LedgerDir, when set, is where running processes are recorded, so that the next host can end what a killed one
	// left behind. It is made when missing, for its owner alone.
	LedgerDir string
	// LoginShell looks up a command that the PATH at hand lacks in the PATH of the person's login shell, which is
	// asked once, for at most 5 s. It is for hosts that are not started from a shell.
	LoginShell bool
	// Logger gets what had to be ended; nil discards.
	Logger *slog.Logger
}

// NewLauncher returns a launcher of real processes, to be shared by many sessions. First it ends what an earlier
// host with the same LedgerDir left running when it was killed. The error says why the ledger cannot be kept; ctx
// bounds the ending.
func NewLauncher(ctx context.Context, o LauncherOptions) (Launcher, error) {
	l := launcher{logger: o.Logger}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	if o.LoginShell {
		l.shell = new(stdio.LoginShell)
	}
	if o.LedgerDir == "" {
		return l, nil
	}
	reaped, err := stdio.Reap(ctx, o.LedgerDir)
	if err != nil {
		return nil, err
	}
	for _, r := range reaped {
		l.logger.Warn("a process left by a killed host was ended", slog.Any("process", r))
	}
	l.ledger, err = stdio.OpenLedger(o.LedgerDir)
	return l, err
}

// launcher starts real processes.
type launcher struct {
	logger *slog.Logger
	shell  *stdio.LoginShell
	ledger *stdio.Ledger
}

func (l launcher) Launch(ctx context.Context, spec config.Server) (Process, error) {
	env := make(map[string]string, len(spec.Env))
	for name, value := range spec.Env {
		env[name] = value.Reveal()
	}
	p, err := stdio.Start(ctx, stdio.Spec{
		Command: spec.Command,
		Args:    spec.Args,
		Env:     env,
		Dir:     spec.Cwd,
		Logger:  l.logger,
		Shell:   l.shell,
		Ledger:  l.ledger,
	})
	if err != nil {
		return nil, err
	}
	return process{p}, nil
}

// process gives a *stdio.Process the methods of a Process.
type process struct{ *stdio.Process }

func (p process) Stdin() io.WriteCloser { return p.Process.Stdin }

func (p process) Stdout() io.ReadCloser { return p.Process.Stdout }

// startError explains why a process did not start.
func (s *Session) startError(err error) *Error {
	e := &Error{Server: s.spec.Name, Phase: PhaseSpawn, Code: CodeUnavailable, Message: err.Error(), Err: err}
	if start, ok := errors.AsType[*stdio.StartError](err); ok {
		e.Hint = start.Hint
	}
	return e
}
