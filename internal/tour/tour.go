// Package tour is the small MCP server that Usher offers when nothing is configured: the program starts itself as
// a stdio server of both eras, so that a newcomer meets a call, progress, cancellation, a form, resources, a prompt
// with completion and an interactive app without installing anything.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/config"
)

// Name is the tour's name as a server.
const Name = "tour"

// Server is the tour as a configured server: exe, the path of this program, started with the argument "tour".
func Server(exe string) config.Server {
	return config.Server{
		Name: Name, Type: config.TypeStdio, Command: exe, Args: []string{"tour"},
		VersionNegotiation: config.Auto,
		Description:        "What Usher can do, shown by a server inside it",
		Source:             config.Source{Scope: config.ScopeBuiltin},
	}
}

const instructions = `This is Usher's tour, a server that lives inside Usher. Start with show_revenue_dashboard, which opens an
interactive app. slow reports progress and can be cancelled; plan_trip shows what forms look like; echo repeats what
you say. There are resources to read and a prompt, revenue_briefing, whose arguments complete.`

// Run speaks MCP over in and out, one message a line, until in ends or ctx is done; a client that left is no error.
// It closes in, when that can be closed, so that no read outlives it. What it does is told on errw, a line each.
func Run(ctx context.Context, in io.Reader, out, errw io.Writer) error {
	log := slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: slog.LevelInfo}))
	server := mcp.NewServer(
		&mcp.Implementation{Name: "usher-tour", Title: "Tour of Usher", Version: "1.0.0"},
		&mcp.ServerOptions{
			Instructions:      instructions,
			Capabilities:      capabilities(),
			CompletionHandler: complete,
			// Nothing here changes while the process lives.
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
				c.TTLMs, c.CacheScope = int(time.Hour.Milliseconds()), "public"
			},
		},
	)
	addTools(server, log)
	addDashboard(server, log)
	addResources(server)
	addPrompts(server)

	err := server.Run(ctx, &mcp.IOTransport{Reader: reader(in), Writer: writer{out}})
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe), ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("tour: serving: %w", err)
}

func reader(in io.Reader) io.ReadCloser {
	if rc, ok := in.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(in)
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// text is a result of one text block.
func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}
