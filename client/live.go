package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/wire"
)

const (
	maxWarnings = 32
	// closeLimit bounds Close: the process ladder, then the goroutines.
	closeLimit = 5 * time.Second
	// lastWords is how long a server that closed stdout has for its exit status to be known, and one that exited
	// for the rest of its output to be read.
	lastWords = time.Second
	// flushLimit is how long Close waits for the last frames to be taken.
	flushLimit = 250 * time.Millisecond
	// stderrTail is how much of stderr an Error carries.
	stderrTail = 4 << 10
)

// Session is one session with one server. Its methods may be called from several goroutines at once; requests
// overlap. What its methods return is shared with its cache: do not change it.
type Session struct {
	spec     config.Server
	opts     Options
	logger   *slog.Logger
	redactor *config.Redactor
	meta     []byte // members of _meta of every modern request

	// Set while dialling, then read only.
	era         Era
	version     string
	server      *discovery
	negotiation Negotiation
	proc        Process
	link        *link // nil unless the server is remote
	conn        *wire.Conn
	sdk         *mcp.ClientSession

	answered    atomic.Pointer[discovery] // the server's answer to initialize
	unanswered  atomic.Pointer[error]     // why there is none
	initialized atomic.Bool

	cache     *cache
	schemas   schemaCache
	listening *listener
	calls     calls

	mu       sync.Mutex
	warnings []string

	// life ends when Close is called or the server is gone.
	life   context.Context //nolint:containedctx // the lifetime of the session itself
	stop   context.CancelFunc
	wg     sync.WaitGroup
	closed atomic.Bool
	closer sync.Once
	ended  error

	over chan struct{} // closed when the session is over
	err  error         // why; written before over is closed
}

func newSession(ctx context.Context, spec config.Server, opts Options) (*Session, error) {
	meta, err := fixedMeta(opts.Info, opts.Handler.capabilities(), opts.OnLog != nil)
	if err != nil {
		return nil, &Error{Server: spec.Name, Phase: PhaseConfig, Code: CodeInvalid, Message: "the client's description cannot be encoded", Err: err}
	}
	s := &Session{
		spec: spec, opts: opts, meta: meta,
		logger:   opts.Logger,
		redactor: config.NewRedactor(spec),
		cache:    newCache(),
		over:     make(chan struct{}),
		server:   new(discovery),
	}
	s.life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

func (s *Session) open(ctx context.Context, r io.ReadCloser, w io.WriteCloser) {
	s.conn = wire.New(ctx, wire.Config{
		Reader:    r,
		Writer:    w,
		Logger:    s.logger,
		Trace:     s.tracer("session"),
		Notify:    s.notified,
		Serve:     s.serve,
		Handshake: s.handshake,

		HandshakeFailed: func(err error) { s.unanswered.Store(&err) },
	})
}

// tracer gives frames to Options.Trace, or nil when there is none.
func (s *Session) tracer(process string) func(bool, []byte) {
	if s.opts.Trace == nil {
		return nil
	}
	return func(sent bool, frame []byte) {
		s.opts.Trace(Frame{Time: time.Now(), Server: s.spec.Name, Process: process, Sent: sent, Data: frame})
	}
}

// start begins what runs as long as the session.
func (s *Session) start() {
	if s.era == Modern {
		s.listening = newListener(s)
	}
	s.wg.Go(s.watch)
}

// goUnlessClosed starts a goroutine that Close waits for by wg, and reports whether it did.
func (s *Session) goUnlessClosed(wg *sync.WaitGroup, f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	wg.Go(f)
	return true
}

// watch notices the end of the server, cleans up after it and says why.
func (s *Session) watch() {
	defer close(s.over)
	select {
	case <-s.conn.Done():
	case <-s.proc.Done():
		// What the server wrote last is still to be read.
		s.await(s.conn.Done(), lastWords)
	case <-s.life.Done():
	}
	if s.closed.Load() {
		return // Close does the rest
	}
	s.conn.Stop()
	if s.link == nil {
		s.await(s.proc.Done(), lastWords)
	}
	if !s.closed.Load() {
		s.err = s.gone()
	}
	s.stop()
}

// await waits for done, at most limit, less when the session is closed.
func (s *Session) await(done <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-s.life.Done():
	}
}

// gone says why a session ended that nobody closed.
func (s *Session) gone() *Error {
	message := "the server closed its output"
	if status := s.proc.ExitStatus(); status != "" {
		message = "the server exited (" + status + ")"
	}
	e := s.newError("", CodeUnavailable, message)
	e.Err, e.Stderr = s.conn.Err(), s.tail()
	if s.link != nil {
		e.Message = "the connection was lost"
		if failed, ok := errors.AsType[*wire.SendError](e.Err); ok {
			s.explainSend(e, failed)
		}
	}
	return e
}

// abort ends a session that never was.
func (s *Session) abort(ctx context.Context) {
	s.stop()
	s.conn.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := s.proc.Close(ctx); err != nil {
		s.logger.Warn("process not ended", "server", s.spec.Name, "error", err)
	}
	s.conn.Close()
}

// Close ends the session: waiting requests fail, the server gets the end of its input and, when it does not leave by
// itself, is ended with its descendants. It takes at most about 5 s, less when ctx ends earlier, and waits for every
// goroutine of the session; a Handler function that ignores its ctx is not waited for. Closing again returns the same.
func (s *Session) Close(ctx context.Context) error {
	s.closer.Do(func() {
		s.mu.Lock()
		s.closed.Store(true)
		s.mu.Unlock()
		s.stop()
		s.listening.wait()
		s.conn.Stop()
		s.farewell(ctx)
		err := s.proc.Close(ctx)
		if err != nil {
			e := s.newError("", CodeUnavailable, "the server's process could not be ended")
			e.Err = err
			s.ended = e
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if s.sdk != nil {
				_ = s.sdk.Close() // it has no requests of its own left
			}
			s.conn.Close()
			s.wg.Wait()
		}()
		limit := time.NewTimer(closeLimit)
		defer limit.Stop()
		select {
		case <-done:
		case <-limit.C:
			s.logger.Warn("a handler of the session does not return", "server", s.spec.Name)
		}
	})
	return s.ended
}

// farewell lets what is queued reach the server before its input ends; one that does not read is not waited for.
func (s *Session) farewell(ctx context.Context) {
	t := time.NewTimer(flushLimit)
	defer t.Stop()
	select {
	case <-s.conn.Flushed():
	case <-t.C:
	case <-ctx.Done():
	}
}

// Done is closed when the session is over for any reason.
func (s *Session) Done() <-chan struct{} { return s.over }

// Err tells why the session is over: an *Error with the exit status and the end of stderr, or nil after Close. It is
// nil before Done.
func (s *Session) Err() error {
	select {
	case <-s.over:
		return s.err
	default:
		return nil
	}
}

// Server returns the configured name.
func (s *Session) Server() string { return s.spec.Name }

// Era returns the protocol family that was negotiated.
func (s *Session) Era() Era { return s.era }

// ProtocolVersion returns the version in use.
func (s *Session) ProtocolVersion() string { return s.version }

// Info returns what the server says of itself; for display only (BASE-24).
func (s *Session) Info() Implementation { return s.server.Info }

// Instructions returns the server's text for the model, untrusted.
func (s *Session) Instructions() string { return s.server.Instructions }

// Capabilities returns the server's capabilities object as sent, or nil.
func (s *Session) Capabilities() json.RawMessage { return slices.Clone(s.server.Capabilities) }

// Negotiation tells how the era was chosen.
func (s *Session) Negotiation() Negotiation { return s.negotiation }

// PID returns the id of the server's process, 0 when it has none.
func (s *Session) PID() int { return s.proc.PID() }

// Stderr returns the end of what the server wrote to stderr, at most 256 KiB.
func (s *Session) Stderr() string {
	text, _ := s.proc.Stderr()
	return text
}

func (s *Session) tail() string {
	text := s.Stderr()
	if len(text) > stderrTail {
		text = text[len(text)-stderrTail:]
	}
	return s.redactor.String(text)
}

// warn keeps a finding for the person; the number kept is bounded, repetitions are not kept.
func (s *Session) warn(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warnings) < maxWarnings && !slices.Contains(s.warnings, message) {
		s.warnings = append(s.warnings, message)
	}
}

// Warnings returns what the server got wrong so far without costing the session: a bounded list for the person.
func (s *Session) Warnings() []string {
	s.mu.Lock()
	out := slices.Clone(s.warnings)
	s.mu.Unlock()
	st := s.conn.Stats()
	add := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	sample := ""
	if len(st.Samples) > 0 {
		sample = st.Samples[0]
	}
	add(st.Noise, "lines on stdout that are no message: %d, the first: %s", sample)
	add(st.Oversize, "messages beyond the limit: %d")
	add(st.Stray, "answers and progress that nobody waited for: %d")
	add(st.Refused, "requests of the server that were dropped: %d")
	if st.Unattributed != "" {
		out = append(out, "error that belongs to no request: "+st.Unattributed)
	}
	return out
}
