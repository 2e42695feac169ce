package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/approval"
)

// closeBound is how long servers may take to end after a command.
const closeBound = 10 * time.Second

// withServers runs do with a host over every configured server, after each has become ready or failed, or after
// --timeout, which is an error all the same.
func (a *app) withServers(ctx context.Context, do func(context.Context, *usher.Host, *config.Config) error) error {
	c, err := a.configuration(ctx, true, "")
	if err != nil {
		return err
	}
	if lost := c.Problems.Err(); lost != nil && len(c.Servers) == 0 {
		a.noteProblems(onlyWarnings(c), "")
		return configError(lost)
	}
	a.noteProblems(c, "")
	return a.withHost(ctx, c.Servers, c.Apps, func(ctx context.Context, h *usher.Host) error {
		// That one of them failed is seen in its status, and costs the others nothing.
		err := h.Wait(ctx)
		switch cause := context.Cause(ctx); {
		case cause == nil:
			return do(ctx, h, c)
		case errors.Is(cause, errTimeout):
			late := a.late(h)
			if err := do(ctx, h, c); err != nil && !errors.As(err, new(told)) {
				return err
			}
			if a.json {
				return told{late}
			}
			return late
		default:
			return errors.Join(cause, err)
		}
	})
}

// withServer runs do with a host over one configured server, which is ready. The others are not started.
func (a *app) withServer(ctx context.Context, name string, do func(context.Context, *usher.Host) error) error {
	c, err := a.configuration(ctx, true, name)
	if err != nil {
		return err
	}
	a.noteProblems(onlyWarnings(c), name)
	server, err := only(c, name)
	if err != nil {
		return err
	}
	if server.Problem != nil {
		return configError(server.Problem)
	}
	if server.Disabled {
		return &client.Error{
			Server: name, Phase: client.PhaseConfig, Code: client.CodeConfig, Message: "the server is disabled",
			Hint: fmt.Sprintf(`take "disabled" out of %s`, server.Source),
		}
	}
	return a.withHost(ctx, []config.Server{server}, c.Apps, func(ctx context.Context, h *usher.Host) error {
		err := h.Wait(ctx, name)
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, errTimeout) {
				return a.late(h)
			}
			return errors.Join(cause, err)
		}
		if status, ok := h.Server(name); ok && status.State != usher.StateReady {
			if failure := a.notReady(status); failure != nil {
				return failure
			}
		}
		if err != nil {
			return err
		}
		return do(ctx, h)
	})
}

// late is the error of a command whose --timeout ran out while servers were still connecting.
func (a *app) late(h *usher.Host) error {
	var waiting []string
	for _, s := range h.Servers() {
		if s.State == usher.StateConnecting || s.State == usher.StateReconnecting {
			waiting = append(waiting, line(s.Name, 64))
		}
	}
	switch len(waiting) {
	case 0:
		return a.timedOut("", "")
	case 1:
		failure := a.timedOut(waiting[0], client.PhaseHandshake)
		failure.Message += ", and the server has not answered yet"
		return failure
	default:
		failure := a.timedOut("", client.PhaseHandshake)
		failure.Message += "; not yet connected: " + strings.Join(waiting, ", ")
		return failure
	}
}

// unapproved says why a project's server may not run.
func (a *app) unapproved(s usher.ServerStatus) *client.Error {
	failure := &client.Error{
		Server: s.Name, Phase: client.PhaseConfig, Code: client.CodeDenied,
		Message: fmt.Sprintf("the server comes from %s and is not approved", s.Config.Source),
		Hint:    fmt.Sprintf("see what it would run: usher approve; then allow it: usher approve %s", shellWord(s.Name)),
	}
	store, project, err := a.approvals()
	if err != nil {
		failure.Hint = err.Error()
		return failure
	}
	decisions, err := store.Lookup(project, s.Config)
	switch {
	case err != nil:
		failure.Hint = err.Error()
	case decisions[0] == approval.Rejected:
		failure.Message = fmt.Sprintf("the server comes from %s and was rejected", s.Config.Source)
		failure.Hint = fmt.Sprintf("to allow it after all: usher approve %s", shellWord(s.Name))
	case decisions[0] == approval.Changed:
		failure.Message = fmt.Sprintf("the server comes from %s, which was changed since it was decided about", s.Config.Source)
		failure.Hint = fmt.Sprintf("see what it would run now: usher approve; then allow it: usher approve %s", shellWord(s.Name))
	}
	return failure
}

// notReady says why a server cannot be used, nil when it can.
func (a *app) notReady(s usher.ServerStatus) *client.Error {
	switch {
	case s.State == usher.StateReady, s.State == usher.StateDisabled:
		return nil
	case s.State == usher.StateAwaitingApproval:
		return a.unapproved(s)
	case s.Err != nil:
		return s.Err
	default:
		return &client.Error{Server: s.Name, Code: client.CodeUnavailable, Message: fmt.Sprintf("the server is %s", s.State)}
	}
}

// withHost runs do with a host and ends the host afterwards, whatever happened.
func (a *app) withHost(ctx context.Context, servers []config.Server, apps config.AppsSettings,
	do func(context.Context, *usher.Host) error,
) error {
	return a.withHostAnd(ctx, servers, apps, usher.Options{}, do)
}

// withHostAnd is withHost for a host that asks: ask has the options that say how.
func (a *app) withHostAnd(ctx context.Context, servers []config.Server, apps config.AppsSettings, ask usher.Options,
	do func(context.Context, *usher.Host) error,
) error {
	ctx, cancel, err := a.within(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	trace, err := await(ctx, a.openTrace)
	if err != nil {
		return a.explainTimeout(ctx, err)
	}
	defer func() {
		// It changes nothing about what the command did, and its result is printed already.
		if err := trace.close(); err != nil {
			a.note("warning: %v", err)
		}
	}()
	h, err := usher.Open(ctx, usher.Options{
		Servers: servers, Apps: appOptions(apps), Approvals: a.hostApprovals(servers),
		Info: implementation(), Trace: trace.hook(), Logger: a.logger(), Launcher: a.launcher(ctx),
		Permissions: ask.Permissions, Ask: ask.Ask, AskTime: ask.AskTime, Sample: ask.Sample, Roots: ask.Roots,
	})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
		defer cancel()
		if closeErr := h.Close(closing); closeErr != nil && a.verbose {
			a.note("warning: %v", closeErr)
		}
	}()
	return a.explainTimeout(ctx, do(ctx, h))
}

// explainTimeout gives an error that --timeout has caused the form that says so, with the server and phase that it
// has, whatever the end of ctx made the server's session say.
func (a *app) explainTimeout(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errTimeout) || errors.Is(err, errToolFailed) || errors.As(err, new(told)) {
		return err
	}
	failure, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return a.timedOut("", "")
	case failure.Code == client.CodeTimeout && errors.Is(err, errTimeout):
		return err
	default:
		return a.timedOut(failure.Server, failure.Phase)
	}
}

// configError is a configuration's problem as the error of a command.
func configError(problem error) error {
	failure := &client.Error{Phase: client.PhaseConfig, Code: client.CodeConfig, Message: problem.Error(), Err: problem}
	if problems := config.AsProblems(problem); len(problems) > 0 {
		failure.Server = problems[0].Server
	}
	return failure
}

func onlyWarnings(c *config.Config) *config.Config {
	return &config.Config{Problems: c.Problems.Warnings()}
}

// unready collects the errors of servers that a listing lacks, and notes them for a person.
func (a *app) unready(h *usher.Host) []api.Error {
	failures := []api.Error{}
	for _, s := range h.Servers() {
		failure := a.notReady(s)
		if failure == nil {
			continue
		}
		shape := a.errorShape(failure)
		failures = append(failures, shape)
		if !a.json {
			a.note("server %s: %s", line(shape.Server, 64), shape.Message)
			if shape.Hint != "" {
				a.note("  %s", shape.Hint)
			}
		}
	}
	return failures
}

// listingError is the error of a listing, which unready has told: none when a server was ready or there was none
// to list.
func (a *app) listingError(h *usher.Host) error {
	var first *client.Error
	for _, s := range h.Servers() {
		switch failure := a.notReady(s); {
		case failure == nil && s.State == usher.StateReady:
			return nil
		case failure != nil && first == nil:
			first = failure
		}
	}
	if first == nil {
		return nil
	}
	return told{first}
}

// launcher starts servers so that the next run can end what a killed one left behind. Where nothing can be
// recorded, servers start all the same: on most systems they notice by themselves that their host is gone.
func (a *app) launcher(ctx context.Context) client.Launcher {
	o := client.LauncherOptions{LoginShell: true, Logger: a.logger()}
	if dir := config.StateDir(a.lookupEnv); dir != "" {
		o.LedgerDir = filepath.Join(dir, "processes")
	}
	l, err := client.NewLauncher(ctx, o)
	if err != nil {
		if a.verbose {
			a.note("warning: %v", err)
		}
		o.LedgerDir = ""
		l, _ = client.NewLauncher(ctx, o) // without a ledger nothing can go wrong
	}
	if a.hurry != nil {
		l = hurriedLauncher{l, a.hurry}
	}
	return l
}
