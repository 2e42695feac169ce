package client

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/stdio"
)

// launcher starts real processes.
type launcher struct{ logger *slog.Logger }

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
