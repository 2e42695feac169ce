package usher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

const (
	// maxStderr is how much of a process's standard error is kept, in bytes.
	maxStderr = 256 << 10
	// closeTime bounds the end of one session: the process ladder's 5 s and a little to spare.
	closeTime = 6 * time.Second
	// stableAfter is how long a session must have lived for its loss not to count as a failed attempt.
	stableAfter = 10 * time.Second
	// maxAttempts is how many reconnects in a row may fail before a person is needed.
	maxAttempts = 5
	// maxBackoff is the longest pause between two reconnects. The first is one second, then it doubles.
	maxBackoff = time.Minute
)

// server keeps one configured server alive. Its run loop is the only one to start and end sessions; everybody
// else states a wish (restart, setEnabled, approve) and waits for the state to change.
type server struct {
	h           *Host
	spec        config.Server
	fingerprint string

	mu       sync.Mutex
	st       ServerStatus
	sess     *client.Session // the running session; nil when there is none
	last     *client.Session // the running one or the one before, for its stderr
	snap     snapshot
	listed   bool     // snap belongs in the catalog though the server is not ready yet
	complete bool     // every list of the running session was read or failed
	remarks  []string // what became of its questions, for its warnings
	enabled  bool
	approved bool
	wishes   int                // grows with each wish
	seen     int                // the wishes that the run loop has acted on
	cancel   context.CancelFunc // ends the current attempt or session; nil between two
	changed  chan struct{}      // closed and replaced at each change of st

	turns *semaphore.Weighted // maxParallel, first come first served; nil without one
}

func newServer(h *Host, spec config.Server) *server {
	s := &server{
		h: h, spec: spec, fingerprint: config.Fingerprint(spec),
		enabled:  !spec.Disabled,
		approved: h.approvals == nil || h.approvals.Approved(spec),
		changed:  make(chan struct{}),
	}
	if spec.MaxParallel > 0 {
		s.turns = semaphore.NewWeighted(int64(spec.MaxParallel))
	}
	s.st = ServerStatus{Name: spec.Name, Config: spec, Since: time.Now()}
	s.st.State, s.st.Err = s.restingState()
	if s.st.State == StateFailed && s.st.Err == nil {
		s.st.State = StateConnecting
	}
	return s
}

// restingState is the state of a server that may not run, or StateFailed and nil when it may. Callers hold mu,
// or own s alone.
func (s *server) restingState() (State, *client.Error) {
	fail := func(code client.Code, msg, hint string, cause error) *client.Error {
		return &client.Error{Server: s.spec.Name, Phase: client.PhaseConfig, Code: code, Message: msg, Hint: hint, Err: cause}
	}
	switch {
	case !s.enabled:
		return StateDisabled, fail(client.CodeUnavailable, "the server is disabled", "Enable it, or remove \"disabled\" from its configuration.", nil)
	case s.spec.Problem != nil:
		return StateFailed, fail(client.CodeConfig, s.spec.Problem.Error(), "Correct the configuration and start again.", s.spec.Problem)
	case !s.approved:
		return StateAwaitingApproval, fail(client.CodeDenied, "the server comes from a project file and nobody has approved it yet",
			fmt.Sprintf("Look at what it runs, then: usher approve %s", s.spec.Name), nil)
	}
	return StateFailed, nil
}

// run keeps the server as it is wished until ctx ends. It is the body of the server's one goroutine.
func (s *server) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		attempt, why := s.begin(ctx, failures)
		if attempt == nil {
			s.rest(why)
			s.sleep(ctx, 0)
			failures = 0
			continue
		}
		lived, err := s.live(attempt)
		s.end()
		switch {
		case ctx.Err() != nil || s.wished():
			failures = 0
		case lived < 0: // never ready
			failures++
			if failures == 1 || failures > maxAttempts {
				// A first start that fails, or one that keeps failing, waits for a person: the reason is shown,
				// and starting a broken command for ever helps nobody.
				s.set(func(st *ServerStatus) { st.State, st.Err = StateFailed, err })
				s.h.rebuild()
				s.sleep(ctx, 0)
				failures = 0
				continue
			}
			s.set(func(st *ServerStatus) { st.State, st.Err = StateDegraded, err })
			s.sleep(ctx, backoff(failures))
		default: // was ready, and the session is over
			if lived >= stableAfter {
				failures = 0
			}
			failures = max(failures, 1) + 1
			s.set(func(st *ServerStatus) { st.State, st.Err, st.PID = StateDegraded, err, 0 })
			s.sleep(ctx, backoff(failures-1))
		}
	}
	s.set(func(st *ServerStatus) { st.State, st.Err, st.PID = StateClosed, nil, 0 })
}

// begin takes up the open wishes and returns the context of a new attempt, or nil and the reason to rest.
func (s *server) begin(ctx context.Context, failures int) (context.Context, *client.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = s.wishes
	if state, why := s.restingState(); why != nil || state != StateFailed {
		return nil, why
	}
	attempt, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	state := StateConnecting
	if failures > 0 {
		state = StateReconnecting
	}
	s.setLocked(func(st *ServerStatus) { st.State = state })
	return attempt, nil
}

// rest puts the server into the state of one that may not run.
func (s *server) rest(why *client.Error) {
	// Its offers go first: whoever waited for it to rest does not find them any more.
	s.mu.Lock()
	s.snap = snapshot{}
	s.mu.Unlock()
	s.h.rebuild()
	s.mu.Lock()
	defer s.mu.Unlock()
	state, _ := s.restingState()
	s.setLocked(func(st *ServerStatus) {
		*st = ServerStatus{Name: st.Name, Config: st.Config, Starts: st.Starts, Since: st.Since, State: state, Err: why}
	})
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	s.sess, s.listed, s.complete = nil, false, false
}

// live connects and stays with the session until it ends or ctx does. lived is how long it was ready,
// negative if it never was.
func (s *server) live(ctx context.Context) (lived time.Duration, _ *client.Error) {
	var lists changes
	began := time.Now()
	s.mu.Lock()
	s.st.Starts++
	s.mu.Unlock()
	sess, err := client.Dial(ctx, s.spec, client.Options{
		Logger:        s.h.log,
		Info:          s.h.info,
		Trace:         s.h.trace,
		OnListChanged: lists.add,
		Launcher:      s.h.launcher,
		Handler:       s.handler(),
	})
	if err != nil {
		return -1, s.asError(client.PhaseHandshake, err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if err := sess.Close(end); err != nil {
			s.h.log.Warn("session did not close cleanly", "server", s.spec.Name, "error", err)
		}
	}()
	s.mu.Lock()
	s.last = sess
	s.mu.Unlock()

	l := newLister(ctx, s, sess)
	defer l.close()
	lists.forward(l.changed)
	var ready time.Time // zero until the tools are in the catalog
	for {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-sess.Done():
			if err = sess.Err(); err == nil {
				err = errors.New("the session ended")
			}
		case r := <-l.results:
			if err = l.take(r); err != nil {
				return -1, s.asError(client.PhaseList, err)
			}
			s.offer(l)
			if ready.IsZero() && l.read[kindTools] {
				ready = time.Now()
				s.ready(sess, ready.Sub(began))
			}
			continue
		}
		if ready.IsZero() {
			return -1, s.asError(client.PhaseList, err)
		}
		return time.Since(ready), s.asError(client.PhaseCall, err)
	}
}

// offer puts what was read into the catalog. It comes before ready: whoever waited for the server to be ready finds
// its tools there.
func (s *server) offer(l *lister) {
	s.mu.Lock()
	if !l.read[kindTools] { // nothing is offered before the tools
		s.mu.Unlock()
		return
	}
	s.snap, s.listed, s.complete = l.snap, s.sess == nil, l.complete()
	s.mu.Unlock()
	s.h.rebuild()
	s.set(func(*ServerStatus) {})
}

func (s *server) ready(sess *client.Session, connected time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sess, s.listed = sess, false
	s.setLocked(func(st *ServerStatus) {
		st.State, st.Err = StateReady, nil
		st.Era, st.ProtocolVersion = sess.Era(), sess.ProtocolVersion()
		st.Info, st.Instructions, st.Capabilities = sess.Info(), sess.Instructions(), sess.Capabilities()
		st.Negotiation, st.PID, st.Connected = sess.Negotiation(), sess.PID(), connected
	})
}

// asError makes an error of this server out of any error, with configured secrets masked.
func (s *server) asError(phase client.Phase, err error) *client.Error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		safe := *e
		safe.Message, safe.Stderr = s.h.redact(e.Message), s.h.redact(e.Stderr)
		if safe.Server == "" {
			safe.Server = s.spec.Name
		}
		return &safe
	}
	code, msg := client.CodeUnavailable, err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code, msg = client.CodeTimeout, "it took too long"
	case errors.Is(err, context.Canceled):
		code, msg = client.CodeCancelled, "cancelled"
	}
	return &client.Error{Server: s.spec.Name, Phase: phase, Code: code, Message: msg, Err: err}
}

func (s *server) wished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wishes != s.seen
}

// sleep waits for a wish, for ctx, or for d when it is positive.
func (s *server) sleep(ctx context.Context, d time.Duration) {
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	for {
		s.mu.Lock()
		wished, changed := s.wishes != s.seen, s.changed
		s.mu.Unlock()
		if wished {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timeout:
			return
		case <-changed:
		}
	}
}

// wish changes what is wanted, ends what runs, and shows at once that something is coming.
func (s *server) wish(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.wishes++
	if s.cancel != nil {
		s.cancel()
	}
	if _, why := s.restingState(); why != nil {
		s.setLocked(func(*ServerStatus) {})
		return
	}
	state := StateConnecting
	if s.st.Starts > 0 {
		state = StateReconnecting
	}
	s.setLocked(func(st *ServerStatus) { st.State, st.Err = state, nil })
}

func (s *server) restart()           { s.wish(func() {}) }
func (s *server) approve()           { s.wish(func() { s.approved = true }) }
func (s *server) setEnabled(on bool) { s.wish(func() { s.enabled = on }) }

// nudge ends the pause before the next reconnect.
func (s *server) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st.State == StateDegraded && s.cancel == nil {
		s.wishes++
		s.setLocked(func(st *ServerStatus) { st.State = StateReconnecting })
	}
}

// await returns the running session as soon as there is one. It fails with the server's *[client.Error] when
// somebody's help is needed first, and when ctx ends.
func (s *server) await(ctx context.Context) (*client.Session, error) {
	for {
		s.nudge()
		s.mu.Lock()
		state, sess, why, changed := s.st.State, s.sess, s.st.Err, s.changed
		s.mu.Unlock()
		switch state {
		case StateReady:
			if sess != nil {
				return sess, nil
			}
		case StateDisabled, StateAwaitingApproval, StateFailed:
			return nil, why
		case StateClosed:
			return nil, &client.Error{Server: s.spec.Name, Code: client.CodeUnavailable, Message: "the host is closed"}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			e := s.asError(client.PhaseHandshake, ctx.Err())
			e.Message = fmt.Sprintf("not ready yet (%s)", state)
			e.Hint = "Wait longer, or look at its stderr."
			return nil, e
		}
	}
}

// awaitLists waits until every list of the server was read or failed.
func (s *server) awaitLists(ctx context.Context) error {
	for {
		if _, err := s.await(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		complete, changed := s.complete, s.changed
		s.mu.Unlock()
		if complete {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			e := s.asError(client.PhaseList, ctx.Err())
			e.Message = "a list has not arrived yet"
			return e
		}
	}
}

func (s *server) awaitState(ctx context.Context, want State) error {
	for {
		s.mu.Lock()
		state, changed := s.st.State, s.changed
		s.mu.Unlock()
		if state == want || state == StateClosed {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.asError(client.PhaseHandshake, ctx.Err())
		}
	}
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	st.Tools, st.Prompts, st.Resources = len(s.snap.tools), len(s.snap.prompts), len(s.snap.resources)
	st.Warnings = slices.Clip(s.snap.warnings)
	if s.sess != nil {
		st.Warnings = append(st.Warnings, s.sess.Warnings()...)
	}
	st.Warnings = append(st.Warnings, s.remarks...)
	return st
}

func (s *server) stderr() (string, bool) {
	s.mu.Lock()
	last, why := s.last, s.st.Err
	s.mu.Unlock()
	switch {
	case last != nil:
		text := last.Stderr()
		return text, len(text) >= maxStderr
	case why != nil: // it never got as far as a session
		return why.Stderr, false
	}
	return "", false
}

func (s *server) set(change func(*ServerStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(change)
}

// setLocked changes the status and tells everybody who waits or listens. Callers hold mu.
func (s *server) setLocked(change func(*ServerStatus)) {
	before := s.st.State
	change(&s.st)
	if s.st.State != before {
		s.st.Since = time.Now()
		attrs := []any{slog.String("server", s.spec.Name), slog.String("from", string(before)), slog.String("to", string(s.st.State))}
		if s.st.Err != nil {
			attrs = append(attrs, slog.String("error", s.st.Err.Error()))
		}
		s.h.log.Debug("server state", attrs...)
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.h.events.publish(Event{Time: time.Now(), Type: EventServerChanged, Server: s.spec.Name, State: s.st.State, Revision: s.h.catalog.Load().Revision})
}

// backoff is the pause before reconnect number n, counted from 1.
func backoff(n int) time.Duration {
	if n <= 1 {
		return time.Second
	}
	return min(time.Second<<min(n-1, 10), maxBackoff)
}

// changes takes list_changed notifications, which may arrive before there is a lister to tell.
type changes struct {
	mu    sync.Mutex
	early []string
	to    func(kind string)
}

func (c *changes) add(kind string) {
	c.mu.Lock()
	to := c.to
	if to == nil && !slices.Contains(c.early, kind) {
		c.early = append(c.early, kind)
	}
	c.mu.Unlock()
	if to != nil {
		to(kind)
	}
}

func (c *changes) forward(to func(kind string)) {
	c.mu.Lock()
	early := c.early
	c.to = to
	c.mu.Unlock()
	for _, kind := range early {
		to(kind)
	}
}
