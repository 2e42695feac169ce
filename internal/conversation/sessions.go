package conversation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/schema"
)

const (
	// MaxMessage bounds a person's message, in bytes.
	MaxMessage = 256 << 10
	// MaxPage bounds the events of one read; pageBytes their data together.
	MaxPage   = 1000
	pageBytes = 8 << 20

	defaultCallsPerSession = 32
	defaultCalls           = 256
	defaultMaxSessions     = 100_000
	// settleTime bounds one write that must not be lost because its caller has gone.
	settleTime = 5 * time.Second
	// awaitTime is how long after Open turns wait for servers that are connecting.
	awaitTime = 10 * time.Second
)

// The errors of [Sessions] beside those of its store; test with errors.Is.
var (
	// ErrBusy: as many calls run, or as many sessions exist, as may.
	ErrBusy = errors.New("at the limit")
	// ErrNotRunning: the call to be cancelled is not running.
	ErrNotRunning = errors.New("not running")
	// ErrClosing: the program is ending.
	ErrClosing = errors.New("closing")
)

// InvalidError is an argument that cannot be used.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Host is what sessions need of a host.
type Host interface {
	Call(ctx context.Context, c usher.Call) (*usher.Result, error)
	Catalog() *usher.Catalog
}

// Options are the options of [Open]. Open copies them.
type Options struct {
	Store Store
	Host  Host
	// Model answers messages; nil when nobody does, and tools are run by hand.
	Model Model
	// ModelInfo tells of the model.
	ModelInfo ModelInfo
	// Profile is what the model's API accepts of tool schemas; empty is schema.Generic.
	Profile schema.Profile
	// Servers tells of the host's servers, for their instructions; nil leaves them out.
	Servers func() []usher.ServerStatus
	// Await returns when no server is connecting any more, or when its ctx ends. The first turns after Open wait for it,
	// ten seconds after Open at the latest, so that the model knows the tools; nil waits for nothing.
	Await func(ctx context.Context)
	// Forget is told of each session that was deleted; nil tells nobody.
	Forget func(session string)
	// Mode, when not empty, is the permission mode of the model's calls.
	Mode permission.Mode
	// MaxSteps bounds the steps of a turn; 0 means 50.
	MaxSteps int
	// Desk is where the host's questions wait; nil when it asks none.
	Desk *Desk
	// Logger gets what could not be told to anybody else. nil discards.
	Logger *slog.Logger
	// CallsPerSession and Calls bound the calls that run at once; 0 means 32 and 256.
	CallsPerSession, Calls int
	// MaxSessions bounds the sessions that are kept; 0 means 100 000.
	MaxSessions int
}

// Sessions runs the sessions of a store. Its methods are safe for concurrent use.
type Sessions struct {
	store Store
	host  Host
	desk  *Desk
	model Model
	log   *slog.Logger
	hub   hub

	info     ModelInfo
	profile  schema.Profile
	servers  func() []usher.ServerStatus
	await    func(context.Context)
	awaitEnd time.Time
	forget   func(string)
	mode     permission.Mode
	maxSteps int

	perSession, total, maxSessions int

	base context.Context //nolint:containedctx // the life of the calls, which outlive each request
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	writeMu sync.Mutex // orders what is stored and what is published

	mu      sync.Mutex
	closing bool
	jobs    map[string]*job            // by call id
	running map[string]map[string]*job // by session, then call id
	leaving map[string]bool            // sessions that are being deleted
	talks   map[string]*talk           // by session
	turns   int                        // talks that are busy
}

// Open returns the sessions of a store. Calls that were running when the last process ended are given their
// call.finished with the outcome "unknown". The store stays the caller's to close, after [Sessions.Close].
func Open(ctx context.Context, o Options) (*Sessions, error) {
	s := &Sessions{
		store: o.Store, host: o.Host, desk: o.Desk, model: o.Model, log: o.Logger,
		perSession: or(o.CallsPerSession, defaultCallsPerSession), total: or(o.Calls, defaultCalls),
		maxSessions: or(o.MaxSessions, defaultMaxSessions),
		jobs:        map[string]*job{}, running: map[string]map[string]*job{}, leaving: map[string]bool{},
		talks: map[string]*talk{}, info: o.ModelInfo, profile: o.Profile, servers: o.Servers, mode: o.Mode,
		await: o.Await, awaitEnd: time.Now().Add(awaitTime), forget: o.Forget,
		maxSteps: or(o.MaxSteps, defaultMaxSteps),
	}
	if s.profile == "" {
		s.profile = schema.Generic
	}
	if _, err := schema.ParseProfile(string(s.profile)); err != nil {
		return nil, err
	}
	if s.servers == nil {
		s.servers = func() []usher.ServerStatus { return nil }
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	s.base, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if s.desk == nil {
		s.desk = NewDesk()
	}
	s.desk.bind(s)
	return s, nil
}

func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Close cancels every running call and turn, waits until each has its end in the log, or until ctx ends, and refuses new work
// from its start on. Calls that ctx did not leave time for are settled by the next Open.
func (s *Sessions) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end(errStopping)
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close sessions: %d calls have not ended: %w", s.Running(), ctx.Err())
	}
}

// Running returns the number of running calls.
func (s *Sessions) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

// Create makes a session. An empty title is replaced by the first words of what follows.
func (s *Sessions) Create(ctx context.Context, title string) (Session, error) {
	title, err := checkTitle(title)
	if err != nil {
		return Session{}, err
	}
	if n, err := s.store.Count(ctx); err != nil {
		return Session{}, err
	} else if n >= s.maxSessions {
		return Session{}, fmt.Errorf("there are %d sessions: %w", n, ErrBusy)
	}
	made := Session{ID: newID("s"), Title: title, CreatedAt: now()}
	events, err := s.store.Create(ctx, made, entry(api.EventSessionCreated, api.SessionRenamed{Title: title}))
	if err != nil {
		return Session{}, err
	}
	made.UpdatedAt, made.LastEventID = events[len(events)-1].Time, events[len(events)-1].ID
	return made, nil
}

// Session returns one session, or ErrNotFound.
func (s *Sessions) Session(ctx context.Context, id string) (Session, error) {
	return s.store.Session(ctx, id)
}

// List returns a page of sessions, the last updated first.
func (s *Sessions) List(ctx context.Context, p Page) ([]Session, error) { return s.store.List(ctx, p) }

// Count returns the number of sessions, archived ones included.
func (s *Sessions) Count(ctx context.Context) (int, error) { return s.store.Count(ctx) }

// Rename gives a session another title.
func (s *Sessions) Rename(ctx context.Context, id, title string) error {
	title, err := checkTitle(title)
	if err != nil {
		return err
	}
	if title == "" {
		return &InvalidError{Field: "title", Reason: "it is empty"}
	}
	_, err = s.append(ctx, id, Change{Title: &title}, entry(api.EventSessionRenamed, api.SessionRenamed{Title: title}))
	return err
}

// Archive takes a session out of the list, or puts it back.
func (s *Sessions) Archive(ctx context.Context, id string, archived bool) error {
	_, err := s.append(ctx, id, Change{Archived: &archived}, entry(api.EventSessionArchived, api.SessionArchived{Archived: archived}))
	return err
}

// Delete cancels what runs in a session and removes it with its events.
func (s *Sessions) Delete(ctx context.Context, id string) error {
	if _, err := s.store.Session(ctx, id); err != nil {
		return err
	}
	s.mu.Lock()
	s.leaving[id] = true
	var jobs []*job
	for _, j := range s.running[id] {
		j.cancel(errDeleted)
		jobs = append(jobs, j)
	}
	turn := s.hush(id, errDeleted)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.leaving, id)
		if t := s.talks[id]; t != nil && !t.busy {
			delete(s.talks, id)
		}
		s.mu.Unlock()
	}()
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return fmt.Errorf("delete session %s: a call has not ended: %w", id, ctx.Err())
		}
	}
	if turn != nil {
		select {
		case <-turn:
		case <-ctx.Done():
			return fmt.Errorf("delete session %s: the model has not ended: %w", id, ctx.Err())
		}
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := s.store.Delete(ctx, id); err != nil {
		return err
	}
	s.hub.remove(id)
	if s.forget != nil {
		s.forget(id)
	}
	return nil
}

// Events returns the events after an id, in order: at most limit (and [MaxPage]), and about 8 MiB of data. None means
// that there are none yet; ErrNotFound that there is no such session.
func (s *Sessions) Events(ctx context.Context, id string, after int64, limit int) ([]Event, error) {
	limit = min(or(limit, MaxPage), MaxPage)
	if events, ok := s.hub.after(id, after, limit, pageBytes); ok {
		return events, nil
	}
	events, err := s.store.Events(ctx, id, after, limit, pageBytes)
	if err != nil || len(events) > 0 {
		return events, err
	}
	_, err = s.store.Session(ctx, id)
	return nil, err
}

// Watch hints at events of a session from now on: read with [Sessions.Events] first, then after each hint. The
// session need not exist. The caller closes the watch.
func (s *Sessions) Watch(id string) *Watch { return s.hub.watch(id) }

// append stores entries and hints at them.
func (s *Sessions) append(ctx context.Context, id string, change Change, entries ...Entry) ([]Event, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	events, err := s.store.Append(ctx, id, change, entries...)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	s.hub.publish(id, events)
	return events, nil
}

// appendTitled is append for what a person does: it gives a session that has no title yet one.
func (s *Sessions) appendTitled(ctx context.Context, id, title string, entries ...Entry) ([]Event, error) {
	found, err := s.store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	var change Change
	if found.Title == "" && title != "" {
		change.Title = &title
		entries = append(entries, entry(api.EventSessionRenamed, api.SessionRenamed{Title: title}))
	}
	return s.append(ctx, id, change, entries...)
}

func checkTitle(title string) (string, error) {
	title = cleanTitle(title)
	if n := utf8.RuneCountInString(title); n > MaxTitle {
		return "", &InvalidError{Field: "title", Reason: fmt.Sprintf("it has %d characters; at most %d are taken", n, MaxTitle)}
	}
	return title, nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// newID makes an id that nobody can guess, such as s_k3vq….
func newID(kind string) string { return kind + "_" + strings.ToLower(rand.Text()) }

func entry(kind string, data any) Entry { return Entry{Time: now(), Type: kind, Data: encode(data)} }
