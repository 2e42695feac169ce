package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/permission"
)

const (
	// progressEvery is the least time between two call.progressed of one call; after manyProgress of them it is
	// progressRarely, so that an hour's call leaves some thousands of events and not tens of thousands.
	progressEvery  = 100 * time.Millisecond
	progressRarely = time.Second
	manyProgress   = 300
)

// Why a call was cancelled; the text is for the person.
var (
	errByPerson = errors.New("It was cancelled.")             //nolint:staticcheck // a sentence for the person
	errStopping = errors.New("Usher was stopped.")            //nolint:staticcheck // a sentence for the person
	errDeleted  = errors.New("Its session has been deleted.") //nolint:staticcheck // a sentence for the person
)

// Direct asks for a tool call by a person.
type Direct struct {
	Server, Tool string
	// Arguments is a JSON object; nil means {}.
	Arguments json.RawMessage
}

// Accepted names a call that has begun, and its event call.requested.
type Accepted struct {
	CallID  string
	EventID int64
}

// job is one running call.
type job struct {
	id, session string
	call        Direct
	byModel     bool
	cancel      context.CancelCauseFunc
	done        chan struct{} // closed when call.finished is stored, or cannot be
}

// Call begins a tool call and returns as soon as it is recorded. The call goes on whatever becomes of ctx; it ends
// with its result, with [Sessions.Cancel], or with [Sessions.Close]. ErrBusy: too many calls are running.
func (s *Sessions) Call(ctx context.Context, session string, d Direct) (Accepted, error) {
	switch {
	case d.Server == "":
		return Accepted{}, &InvalidError{Field: "server", Reason: "it is missing"}
	case d.Tool == "":
		return Accepted{}, &InvalidError{Field: "tool", Reason: "it is missing"}
	}
	if d.Arguments = bytes.TrimSpace(d.Arguments); len(d.Arguments) == 0 {
		d.Arguments = json.RawMessage("{}")
	}
	if d.Arguments[0] != '{' || !json.Valid(d.Arguments) {
		return Accepted{}, &InvalidError{Field: "arguments", Reason: "want a JSON object"}
	}
	base, cancel := context.WithCancelCause(s.base)
	j := &job{id: newID(kindCall), session: session, call: d, cancel: cancel, done: make(chan struct{})}
	if err := s.enter(j); err != nil {
		cancel(nil)
		return Accepted{}, err
	}
	title := s.toolTitle(d)
	request := entry(api.EventCallRequested, api.CallRequested{
		CallID: j.id, Server: d.Server, Tool: d.Tool, Title: title, Arguments: d.Arguments, By: byPerson,
	})
	request.Opens = j.id
	events, err := s.appendTitled(ctx, session, titleFrom(title), request)
	if err != nil {
		s.leave(j)
		return Accepted{}, err
	}
	go func() {
		defer s.leave(j)
		s.run(base, j)
	}()
	return Accepted{CallID: j.id, EventID: events[0].ID}, nil
}

// Cancel cancels one call of a session, or without a call id all of them and the turn of the model. The servers are
// told, and the end of each follows in the log. ErrNotRunning: the named call is not running in this session.
func (s *Sessions) Cancel(ctx context.Context, session, callID string) error {
	if _, err := s.store.Session(ctx, session); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if callID == "" {
		s.hush(session, errByPerson)
	}
	if callID != "" {
		j := s.running[session][callID]
		if j == nil {
			return fmt.Errorf("call %s: %w", callID, ErrNotRunning)
		}
		j.cancel(errByPerson)
		return nil
	}
	for _, j := range s.running[session] {
		j.cancel(errByPerson)
	}
	return nil
}

// enter takes a place for the job; leave gives it back and ends everything about it.
func (s *Sessions) enter(j *job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return ErrClosing
	case s.leaving[j.session]:
		return fmt.Errorf("session %s: %w", j.session, ErrNotFound)
	case len(s.jobs) >= s.total:
		return fmt.Errorf("%d calls are running: %w", s.total, ErrBusy)
	case len(s.running[j.session]) >= s.perSession:
		return fmt.Errorf("%d calls are running in this session: %w", s.perSession, ErrBusy)
	}
	s.jobs[j.id] = j
	if s.running[j.session] == nil {
		s.running[j.session] = map[string]*job{}
	}
	s.running[j.session][j.id] = j
	s.wg.Add(1)
	return nil
}

func (s *Sessions) leave(j *job) {
	s.mu.Lock()
	delete(s.jobs, j.id)
	delete(s.running[j.session], j.id)
	if len(s.running[j.session]) == 0 {
		delete(s.running, j.session)
	}
	s.mu.Unlock()
	j.cancel(nil)
	close(j.done)
	s.wg.Done()
}

// run makes the call and records how it goes and how it ends. It returns the id of the call's last event, 0 when that
// could not be stored.
func (s *Sessions) run(ctx context.Context, j *job) int64 {
	began := time.Now()
	p := newProgress(func(e Entry) { s.record(ctx, j, e) }, j.id)
	call := usher.Call{
		Server: j.call.Server, Tool: j.call.Tool, Arguments: j.call.Arguments, Owner: j.session, ID: j.id,
		OnProgress: p.report, Consented: !j.byModel,
	}
	if j.byModel {
		call.Mode = s.mode
		call.OnDecision = func(d permission.Decision) { s.decided(ctx, j, d) }
	} else {
		s.record(ctx, j, entry(api.EventCallStarted, api.CallStarted{CallID: j.id}))
	}
	result, err := s.host.Call(ctx, call)
	p.stop()
	finished := finish(j.id, result, err, context.Cause(ctx))
	if finished.DurationMs == 0 {
		finished.DurationMs = time.Since(began).Milliseconds()
	}
	data, whole := fit(finished)
	if whole != "" {
		s.keepOutput(ctx, j, whole)
	}
	return s.record(ctx, j, Entry{Time: now(), Type: api.EventCallFinished, Data: data, Closes: j.id})
}

// decided records what was decided about a call of the model, and that it begins.
func (s *Sessions) decided(ctx context.Context, j *job, d permission.Decision) {
	kind := api.EventCallApproved
	if d.Verdict != permission.Allowed {
		kind = api.EventCallDenied
	}
	s.record(ctx, j, entry(kind, api.CallDecided{CallID: j.id, Source: string(d.Source), Reason: d.Reason, Rule: d.Rule}))
	if kind == api.EventCallApproved {
		s.record(ctx, j, entry(api.EventCallStarted, api.CallStarted{CallID: j.id}))
	}
}

// keepOutput keeps the whole text of a result that its event has no room for.
func (s *Sessions) keepOutput(ctx context.Context, j *job, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := s.store.SetOutput(ctx, j.session, j.id, []byte(text)); err != nil {
		s.log.Error("result not kept", slog.String("session", j.session), slog.String("call", j.id), slog.Any("error", err))
	}
}

// record stores an event of a call. The call may have been cancelled; what is told about it is kept all the same.
// It returns the event's id, 0 when it could not be stored.
func (s *Sessions) record(ctx context.Context, j *job, e Entry) int64 {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	events, err := s.append(ctx, j.session, Change{}, e)
	if err != nil {
		s.log.Error("event not stored", slog.String("session", j.session), slog.String("call", j.id),
			slog.String("type", e.Type), slog.Any("error", err))
		return 0
	}
	return events[0].ID
}

// toolTitle is what the person knows the tool by.
func (s *Sessions) toolTitle(d Direct) string {
	for _, t := range s.host.Catalog().Tools {
		if t.Server == d.Server && t.Name == d.Tool && t.Title != "" {
			return t.Title
		}
	}
	return d.Tool
}

// progress passes a call's progress on, the newest of what came too fast. It never makes the reporter wait.
type progress struct {
	callID string
	store  func(Entry)
	more   chan struct{}
	ended  chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	newest *client.Progress
}

func newProgress(store func(Entry), callID string) *progress {
	p := &progress{
		callID: callID, store: store,
		more: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{}),
	}
	go p.run()
	return p
}

func (p *progress) report(report client.Progress) {
	p.mu.Lock()
	p.newest = &report
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// stop stores what is left and ends the goroutine. No report follows.
func (p *progress) stop() {
	close(p.ended)
	<-p.done
}

func (p *progress) run() {
	defer close(p.done)
	pause := progressEvery
	for stored := 0; ; {
		select {
		case <-p.more:
		case <-p.ended:
			p.flush()
			return
		}
		if p.flush() {
			stored++
		}
		if stored > manyProgress {
			pause = progressRarely
		}
		select {
		case <-time.After(pause):
		case <-p.ended:
			p.flush()
			return
		}
	}
}

func (p *progress) flush() bool {
	p.mu.Lock()
	report := p.newest
	p.newest = nil
	p.mu.Unlock()
	if report == nil {
		return false
	}
	p.store(entry(api.EventCallProgressed, api.CallProgressed{
		CallID: p.callID, Progress: report.Progress, Total: report.Total, Message: clip(report.Message, maxProgressText),
	}))
	return true
}
