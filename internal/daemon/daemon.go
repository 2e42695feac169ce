package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/sandbox"
)

const (
	// readHeaderTimeout and readBodyTimeout bound how slowly a request may arrive, writeTimeout how slowly an answer may
	// leave; streams have a deadline for each write.
	readHeaderTimeout = 10 * time.Second
	readBodyTimeout   = time.Minute
	writeTimeout      = time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10

	// drainTime is how long requests in flight may go on after the end was asked for, before they are cancelled.
	drainTime = time.Second
	// closeTime bounds what remains of them after that.
	closeTime = 3 * time.Second

	defaultMaxStreams = 512
	defaultHeartbeat  = 15 * time.Second
	defaultAppReady   = 10 * time.Second
)

// Host is what the daemon needs of a host.
type Host interface {
	Servers() []usher.ServerStatus
	Server(name string) (usher.ServerStatus, bool)
	Catalog() *usher.Catalog
	Read(ctx context.Context, server, uri string) (*client.ReadResult, error)
	Prompt(ctx context.Context, server, name string, args map[string]string) (*client.PromptResult, error)
	Complete(ctx context.Context, server string, ref client.CompletionRef, arg, value string, filled map[string]string) (client.Completion, error)
	Reconnect(ctx context.Context, name string) error
	SetEnabled(ctx context.Context, name string, on bool) error
	Approve(ctx context.Context, name string) error
	Stderr(name string) (text string, truncated bool, err error)
	Events(ctx context.Context) iter.Seq[usher.Event]
}

// Options are the options of [New], which copies them.
type Options struct {
	Sessions *conversation.Sessions
	Host     Host
	// Listeners are where it serves; its names and origins follow from them.
	Listeners *Listeners
	// Hosts are further names that it may be asked by, with or without a port, as a reverse proxy passes them on.
	Hosts []string
	// Token is the bearer token, at least [MinToken] characters. The key of the cookies is derived from it.
	Token string
	// Web is the WebShell: index.html, and assets/ with names that change with their content.
	Web fs.FS
	// AppReadyTimeout is how long an app may take to be ready; 0 means 10 s. The page keeps to it.
	AppReadyTimeout time.Duration
	// Version is what GET /v1/status says.
	Version string
	// Logger gets requests at debug level, and what went wrong inside. nil discards.
	Logger *slog.Logger
	// Heartbeat is the time between two comments on a quiet stream; 0 means 15 s.
	Heartbeat time.Duration
	// MaxStreams bounds the event streams that are open at once; 0 means 512.
	MaxStreams int
}

// Server serves the API and the WebShell.
type Server struct {
	sessions  *conversation.Sessions
	host      Host
	names     names
	listeners *Listeners
	keys      keys
	codes     codes
	web       static
	sandbox   http.Handler
	version   string
	appReady  time.Duration
	log       *slog.Logger
	mux       *http.ServeMux
	started   time.Time

	heartbeat  time.Duration
	maxStreams int64
	streams    atomic.Int64
	hints      hints
	catalog    catalogCache

	stopping chan struct{} // closed when Serve ends: streams end
	stopOnce sync.Once
}

// New returns a server that is ready to [Server.Serve].
func New(o Options) (*Server, error) {
	if len(o.Token) < MinToken {
		return nil, fmt.Errorf("daemon: the token has %d characters; at least %d are needed", len(o.Token), MinToken)
	}
	s := &Server{
		sessions: o.Sessions, host: o.Host, listeners: o.Listeners, names: newNames(o.Listeners, o.Hosts),
		keys: newKeys(o.Token, o.Listeners.Port()), web: static{o.Web}, version: o.Version, log: o.Logger, started: time.Now().UTC(),
		heartbeat: o.Heartbeat, maxStreams: int64(o.MaxStreams), stopping: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.appReady = o.AppReadyTimeout; s.appReady <= 0 {
		s.appReady = defaultAppReady
	}
	if s.heartbeat <= 0 {
		s.heartbeat = defaultHeartbeat
	}
	if s.maxStreams <= 0 {
		s.maxStreams = defaultMaxStreams
	}
	s.catalog.boot = strconv.FormatInt(s.started.UnixNano(), 36)
	s.sandbox = sandbox.Handler(sandbox.Options{Origins: s.names.origins()})
	s.mux = s.newMux()
	return s, nil
}

// LoginURL is the address of the WebShell with a new one-time code in its fragment, which no server and no log sees.
func (s *Server) LoginURL() string {
	code, _ := s.codes.mint()
	return s.loginURL(code)
}

func (s *Server) loginURL(code string) string { return s.listeners.URL() + "/#code=" + code }

// Serve answers requests until ctx ends, and then until those in flight have ended, in bounded time: streams end at
// once, other requests are cancelled after a second. It closes the listeners. The error is nil when ctx ended it.
func (s *Server) Serve(ctx context.Context) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       s.listeners.baseContext(requests),
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.hints.run(requests, s.host) })
	failed := make(chan error, len(s.listeners.all))
	for _, l := range s.listeners.all {
		wg.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", l.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stopOnce.Do(func() { close(s.stopping) })
	drained := time.AfterFunc(drainTime, cancel)
	defer drained.Stop()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), drainTime+closeTime)
	defer done()
	if server.Shutdown(grace) != nil {
		err = errors.Join(err, server.Close())
	}
	cancel()
	return err
}
