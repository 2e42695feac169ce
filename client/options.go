package client

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/usher-mcp/usher/config"
)

// Options are the options of [Dial]. The zero value works; Dial copies it.
type Options struct {
	// Logger gets what was tolerated and repaired, mostly at debug level. nil discards.
	Logger *slog.Logger
	// Info is what we call ourselves. The zero value is usher with its version.
	Info Implementation
	// Trace gets every frame in both directions, in order per direction. It must be quick. nil traces nothing.
	Trace func(Frame)
	// OnListChanged is told that the server's "tools", "prompts" or "resources" have changed. It is called one at a
	// time, outside locks, and may call the session; until it returns, later notifications wait in a bounded queue.
	OnListChanged func(kind string)
	// OnResourceUpdated is told that a subscribed resource, or a part of it, has changed.
	OnResourceUpdated func(uri string)
	// OnLog receives the server's log messages. nil also means that none are asked for.
	OnLog func(level, logger string, data json.RawMessage)
	// Handler answers the server's questions. nil, or a nil function in it: that capability is not declared.
	Handler *Handler
	// Launcher starts the server's processes; nil starts real ones. It is a seam for tests.
	Launcher Launcher
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Info.Name == "" {
		o.Info = Implementation{Name: "usher", Title: "Usher", Version: version()}
	}
	if o.Handler == nil {
		o.Handler = new(Handler)
	} else {
		h := *o.Handler
		o.Handler = &h
	}
	if o.Launcher == nil {
		o.Launcher = launcher{logger: o.Logger}
	}
	return o
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Launcher starts the process of a server.
type Launcher interface {
	// Launch starts the server of spec; ctx bounds the start only.
	Launch(ctx context.Context, spec config.Server) (Process, error)
}

// Process is a running server as a session needs it.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	PID() int
	// Stderr returns the tail of what the server wrote there, and whether earlier text was dropped.
	Stderr() (tail string, truncated bool)
	// Done is closed when the process is gone; ExitStatus tells how from then on.
	Done() <-chan struct{}
	ExitStatus() string
	// Close ends the process and its descendants in bounded time and closes both streams. Closing twice does no harm.
	Close(ctx context.Context) error
}
