package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/daemon"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/web"
)

const (
	tokenFileName  = "token"
	daemonFileName = "daemon.json"
)

// serveFlags are the flags of usher serve.
type serveFlags struct {
	addr        string
	dataDir     string
	hosts       []string
	noTour      bool
	allowRemote bool
}

// serveOutput is the one line that `usher serve --json` prints when it is ready.
type serveOutput struct {
	URL       string `json:"url"`
	Addr      string `json:"addr"`
	TokenFile string `json:"tokenFile"`
}

// daemonFile tells `usher open` where the daemon of a data directory is. It holds no secret.
type daemonFile struct {
	Origin    string `json:"origin"`
	TokenFile string `json:"tokenFile"`
	PID       int    `json:"pid"`
}

func newServeCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the WebShell and the API: sessions, tools and apps in a browser",
		Long: `serve connects the configured servers and opens the WebShell on this machine.

It prints an address to open; the code in it works once, within ten minutes, and "usher open" makes another.
Sessions are kept. Ctrl-C cancels what runs, ends the servers and stops; a second Ctrl-C stops at once.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", daemon.DefaultAddr, "listen on `HOST:PORT`; port 0 takes any free one")
	flags.StringVar(&f.dataDir, "data-dir", "", "keep sessions and the token in `DIR`")
	flags.BoolVar(&f.noTour, "no-tour", false, "with nothing configured, start without the tour")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "listen on an address that other machines can reach; nothing is encrypted")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "answer to this further `NAME[:PORT]` too, as a reverse proxy passes it on; may be repeated")
	return cmd
}

// serve runs the daemon until ctx ends.
func (a *app) serve(ctx context.Context, f serveFlags) (err error) {
	if a.timeout != 0 {
		return &client.Error{Code: client.CodeInvalid, Message: "--timeout is for commands that end; usher serve runs until it is stopped"}
	}
	c, err := a.configuration(ctx, !f.noTour, "")
	if err != nil {
		return err
	}
	a.noteProblems(c, "")
	if len(c.Servers) == 0 {
		if lost := c.Problems.Err(); lost != nil {
			return configError(lost)
		}
	}
	dir, err := a.dataDir(f.dataDir)
	if err != nil {
		return err
	}
	listeners, err := daemon.Listen(ctx, f.addr, f.allowRemote)
	if err != nil {
		return startError(err)
	}
	defer func() { err = errors.Join(err, listeners.Close()) }()
	store, err := sqlite.Open(ctx, dir)
	if err != nil {
		return startError(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tokenFile := filepath.Join(dir, tokenFileName)
	token, err := daemon.LoadToken(tokenFile)
	if err != nil {
		return startError(err)
	}
	options := conversation.Options{Store: store, Desk: conversation.NewDesk(), Logger: a.logger()}
	ask := usher.Options{Ask: options.Desk.Ask}
	if ask.Permissions, err = gate(c.Permissions, "", nil, store.Permissions()); err != nil {
		return err
	}
	options.Forget = ask.Permissions.End
	chat, err := a.chatModel(c, "", &options)
	if err != nil {
		return err
	}
	if chat != nil {
		defer chat.Close()
		ask.Sample = options.Desk.Sample
	}
	return a.withHostAnd(ctx, c.Servers, c.Apps, ask, func(ctx context.Context, h *usher.Host) error {
		options.Host, options.Servers = h, h.Servers
		options.Await = func(ctx context.Context) { _ = h.Wait(ctx) } // the model does with those that are ready
		sessions, err := conversation.Open(ctx, options)
		if err != nil {
			return err
		}
		server, err := daemon.New(daemon.Options{
			Sessions: sessions, Host: h, Listeners: listeners, Hosts: f.hosts, Token: token, Web: web.Dist(),
			Version: version().Version, Logger: a.logger(), AppReadyTimeout: c.Apps.ReadyTimeout,
		})
		if err != nil {
			return errors.Join(err, endSessions(ctx, sessions, h))
		}
		forget, err := remember(dir, daemonFile{Origin: listeners.URL(), TokenFile: tokenFile, PID: os.Getpid()})
		if err != nil {
			return errors.Join(err, endSessions(ctx, sessions, h))
		}
		defer forget()
		err = a.announce(serveOutput{URL: server.LoginURL(), Addr: listeners.Addr(), TokenFile: tokenFile}, listeners, f)
		if err == nil {
			err = server.Serve(ctx)
		}
		return errors.Join(err, endSessions(ctx, sessions, h))
	})
}

// endSessions records the end of every call and ends the servers, all within closeBound.
func endSessions(ctx context.Context, sessions *conversation.Sessions, h *usher.Host) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	return errors.Join(sessions.Close(ctx), h.Close(ctx))
}

// announce says that the daemon is ready.
func (a *app) announce(out serveOutput, l *daemon.Listeners, f serveFlags) error {
	if f.allowRemote {
		a.note("warning: everyone who can reach %s and has the token can run your tools; what is sent is not encrypted.", l.Addr())
	}
	if !l.SandboxSwap() {
		a.note("warning: interactive apps are shown as text, because another program answers on the other loopback address of port %d, or this one is not loopback.", l.Port())
	}
	if a.json {
		return a.printJSON(out)
	}
	if err := a.print("Usher is ready. Open\n\n    " + out.URL + "\n"); err != nil {
		return err
	}
	a.note("The code in it works once, within ten minutes; usher open makes another. Ctrl-C stops.")
	return nil
}

// dataDir is where sessions and the token are kept.
func (a *app) dataDir(flag string) (string, error) {
	dir := cmp.Or(flag, config.StateDir(a.lookupEnv))
	if dir == "" {
		return "", &client.Error{
			Code: client.CodeConfig, Message: "there is no place to keep sessions in: neither HOME nor XDG_STATE_HOME is set",
			Hint: "name one with --data-dir",
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", dir, err)
	}
	return abs, nil
}

// startError is why the daemon cannot start, as the error of a command.
func startError(err error) error {
	failure := &client.Error{Phase: client.PhaseConfig, Code: client.CodeConfig, Message: err.Error(), Err: err}
	var (
		listen *daemon.ListenError
		open   *sqlite.OpenError
	)
	switch {
	case errors.As(err, &listen):
		failure.Message, failure.Hint = "cannot listen on "+listen.Error(), listen.Hint
	case errors.As(err, &open):
		failure.Message, failure.Hint = open.Error(), open.Hint
	}
	return failure
}

// remember writes where the daemon is, and returns what removes it again.
func remember(dir string, d daemonFile) (forget func(), err error) {
	path := filepath.Join(dir, daemonFileName)
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("telling usher open of this daemon: %w", err)
	}
	return func() { _ = os.Remove(path) }, nil // one that stays is found to be stale
}

// openTime bounds what usher open asks of the daemon.
const openTime = 10 * time.Second
