package usher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/permission"
)

// Options configure a [Host]. The zero value is a host without servers. Open copies what it needs.
type Options struct {
	// Servers are connected in the background, all at once. Names are unique.
	Servers []config.Server
	// Apps are the rules for MCP Apps.
	Apps AppOptions
	// Info is what the host calls itself; zero means "usher".
	Info client.Implementation
	// Approvals decides whether a server may be started at all; nil approves every server.
	Approvals Approvals
	// Permissions decides whether a call may run, with [Options.Ask] where it cannot say. Nil lets every tool run that
	// its server's configuration does not exclude.
	Permissions *permission.Gate
	// Ask puts a question to a person and returns the answer; it must return when ctx ends, which is when the question
	// was withdrawn or its deadline is over. An error is no answer: nothing runs, and a form is cancelled. Nil means
	// that nobody can be asked, and servers are told so. It is called from many goroutines at once.
	Ask func(ctx context.Context, q Question) (Answer, error)
	// AskTime is how long a question waits; 0 means [DefaultAskTime].
	AskTime time.Duration
	// Sample puts a server's request to a model, after the person agreed, and returns a CreateMessageResult. owner is
	// that of the call. Nil, or a nil Ask: servers are told that there is no model.
	Sample func(ctx context.Context, owner string, request client.Sampling) (json.RawMessage, error)
	// Roots lists the directories that a server may know of while it works for the owner of a call; owner is empty
	// where that cannot be told. Nil: servers are told that there are no roots.
	Roots func(ctx context.Context, owner string) ([]client.Root, error)
	// Trace receives every protocol frame of every server; nil for none. It must be quick and not keep the data.
	Trace func(client.Frame)
	// Launcher starts the servers' processes; nil starts them and keeps no record. See [client.NewLauncher].
	Launcher client.Launcher
	// Logger receives what the host notices; nil discards. No secret reaches it.
	Logger *slog.Logger
}

// AppOptions are the rules for MCP Apps. The zero value shows apps with the default bounds.
type AppOptions struct {
	// Disabled shows every result as text.
	Disabled bool
	// RequireServerCapability keeps a tool's app only if its server advertises the extension as well.
	RequireServerCapability bool
	// MaxHTMLBytes bounds an app's decoded HTML; 0 means 1 MiB.
	MaxHTMLBytes int
}

// Approvals remembers which servers a person allowed to be started.
type Approvals interface {
	// Approved says whether the server may be started as it is configured now.
	Approved(config.Server) bool
	// Approve remembers that it may.
	Approve(config.Server) error
}

// Host owns a set of configured servers: it connects them, keeps their catalogs and calls their tools.
// All methods are safe for concurrent use.
type Host struct {
	log       *slog.Logger
	info      client.Implementation
	apps      AppOptions
	approvals Approvals
	trace     func(client.Frame)
	launcher  client.Launcher
	redact    func(string) string

	gate    *permission.Gate
	asker   func(context.Context, Question) (Answer, error)
	askTime time.Duration
	sample  func(context.Context, string, client.Sampling) (json.RawMessage, error)
	roots   func(context.Context, string) ([]client.Root, error)

	servers []*server // configured order
	byName  map[string]*server

	stop context.CancelFunc
	wg   sync.WaitGroup

	catalogMu sync.Mutex // orders rebuilds
	catalog   atomic.Pointer[Catalog]
	events    hub
}

// Open starts a host and returns at once; its servers connect in the background. Use [Host.Wait] for some of
// them. ctx bounds nothing but Open itself; end the host with [Host.Close].
// An error means that the options cannot work: a name is missing or given twice.
func Open(ctx context.Context, o Options) (*Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := &Host{
		log:       o.Logger,
		info:      o.Info,
		apps:      o.Apps,
		approvals: o.Approvals,
		trace:     o.Trace,
		launcher:  o.Launcher,
		redact:    config.NewRedactor(o.Servers...).String,
		byName:    make(map[string]*server, len(o.Servers)),
		gate:      o.Permissions,
		asker:     o.Ask,
		askTime:   o.AskTime,
		sample:    o.Sample,
		roots:     o.Roots,
	}
	if h.askTime <= 0 {
		h.askTime = DefaultAskTime
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.catalog.Store(&Catalog{})
	for _, spec := range o.Servers {
		if spec.Name == "" {
			return nil, errors.New("usher: a server has no name")
		}
		if h.byName[spec.Name] != nil {
			return nil, fmt.Errorf("usher: server %q is configured twice", spec.Name)
		}
		s := newServer(h, spec)
		h.servers = append(h.servers, s)
		h.byName[spec.Name] = s
	}
	// The host outlives the ctx of Open; its goroutines end with Close.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	for _, s := range h.servers {
		h.wg.Go(func() { s.run(run) })
	}
	return h, nil
}

// Close ends every session and waits until all processes and goroutines are gone, or ctx ends. It may be
// called more than once.
func (h *Host) Close(ctx context.Context) error {
	h.stop()
	done := make(chan struct{})
	go func() {
		h.wg.Wait()
		h.events.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close host: %w", ctx.Err())
	}
}

// Wait returns when each named server is ready, with its tools in the catalog, or with the joined
// *[client.Error] values of those that are not going to be without somebody's help. With no name it waits for every
// server that is enabled. Prompts and resources may follow: see [Host.WaitLists].
func (h *Host) Wait(ctx context.Context, names ...string) error {
	return h.waitFor(names, func(s *server) error { _, err := s.await(ctx); return err })
}

// WaitLists waits like [Host.Wait], and then until each server's prompts and resources are in the catalog too, or
// could not be read, which is a warning of that server.
func (h *Host) WaitLists(ctx context.Context, names ...string) error {
	return h.waitFor(names, func(s *server) error { return s.awaitLists(ctx) })
}

func (h *Host) waitFor(names []string, wait func(*server) error) error {
	var list []*server
	if len(names) == 0 {
		for _, s := range h.servers {
			if s.status().State != StateDisabled {
				list = append(list, s)
			}
		}
	}
	for _, name := range names {
		s, err := h.find(name)
		if err != nil {
			return err
		}
		list = append(list, s)
	}
	var errs []error
	for _, s := range list {
		errs = append(errs, wait(s))
	}
	return errors.Join(errs...)
}

// Servers returns every server as it stands, in configured order.
func (h *Host) Servers() []ServerStatus {
	out := make([]ServerStatus, len(h.servers))
	for i, s := range h.servers {
		out[i] = s.status()
	}
	return out
}

// Server returns one server as it stands.
func (h *Host) Server(name string) (ServerStatus, bool) {
	s := h.byName[name]
	if s == nil {
		return ServerStatus{}, false
	}
	return s.status(), true
}

// Stderr returns the tail of what the server's process wrote to its standard error, of the running process
// or of the last one. Configured secrets in it are masked. truncated says that earlier text was dropped.
func (h *Host) Stderr(name string) (text string, truncated bool, err error) {
	s, err := h.find(name)
	if err != nil {
		return "", false, err
	}
	text, truncated = s.stderr()
	return h.redact(text), truncated, nil
}

// Reconnect ends the server's session, if any, and starts a new one. It returns when the server is ready, or
// with the *[client.Error] of the attempt.
func (h *Host) Reconnect(ctx context.Context, name string) error {
	s, err := h.find(name)
	if err != nil {
		return err
	}
	if st := s.status(); st.State == StateDisabled || st.State == StateAwaitingApproval {
		return st.Err
	}
	s.restart()
	_, err = s.await(ctx)
	return err
}

// SetEnabled turns a server on or off for the life of the host. Turning on returns when it is ready or failed.
func (h *Host) SetEnabled(ctx context.Context, name string, on bool) error {
	s, err := h.find(name)
	if err != nil {
		return err
	}
	s.setEnabled(on)
	if !on {
		return s.awaitState(ctx, StateDisabled)
	}
	_, err = s.await(ctx)
	return err
}

// Approve remembers that the server may be started as it is configured now, and starts it. It does not wait.
func (h *Host) Approve(_ context.Context, name string) error {
	s, err := h.find(name)
	if err != nil {
		return err
	}
	if h.approvals != nil {
		if err := h.approvals.Approve(s.spec); err != nil {
			return fmt.Errorf("approve server %q: %w", name, err)
		}
	}
	s.approve()
	return nil
}

// Events yields what happens in the host from now on, until ctx ends or the host is closed. Events are hints
// to look again: a reader that falls more than 256 events behind loses the oldest.
func (h *Host) Events(ctx context.Context) iter.Seq[Event] { return h.events.listen(ctx) }

func (h *Host) find(name string) (*server, error) {
	if s := h.byName[name]; s != nil {
		return s, nil
	}
	names := make([]string, len(h.servers))
	for i, s := range h.servers {
		names[i] = s.spec.Name
	}
	e := &client.Error{Code: client.CodeNotFound, Phase: client.PhaseConfig, Message: fmt.Sprintf("no server is named %q", name)}
	switch near := nearest.Name(name, names); {
	case near != "":
		e.Hint = fmt.Sprintf("Did you mean %q?", near)
	case len(names) > 0:
		slices.Sort(names)
		e.Hint = fmt.Sprintf("Configured: %s.", joinSome(names, 8))
	default:
		e.Hint = "No server is configured."
	}
	return nil, e
}
