package cli

import (
	"context"
	"os"
	"os/signal"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// Run is the program as a process: Main with the streams, arguments and environment of this one, and with what the
// system tells it. It returns the exit code.
//
// The first SIGINT, SIGTERM or SIGHUP ends the context of Main: calls are cancelled at their servers, which then get
// the time to leave. The second ends the servers at once, and a third the program itself. One that was ignored when
// the program was started, as nohup does, stays ignored.
func Run(ctx context.Context) int {
	keepDescriptors()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 2)
	for _, s := range endings() {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	// A reader that went away is a failed write: it ends the command in order on standard output, and nothing on standard error.
	pipe := make(chan os.Signal, 1)
	notifyBrokenPipe(pipe)

	hurry := make(chan struct{})
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			signal.Stop(signals) // the next one has its usual effect
			close(hurry)
		case <-done:
		}
	}()
	defer func() { close(done); <-ended }()
	return run(ctx, hurry, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)
}

// hurriedLauncher starts servers that get no more time to leave once hurry is closed.
type hurriedLauncher struct {
	client.Launcher
	hurry <-chan struct{}
}

func (l hurriedLauncher) Launch(ctx context.Context, spec config.Server) (client.Process, error) {
	p, err := l.Launcher.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	return hurriedProcess{p, l.hurry}, nil
}

type hurriedProcess struct {
	client.Process
	hurry <-chan struct{}
}

// Close ends the process; the end of its context means at once.
func (p hurriedProcess) Close(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	return p.Process.Close(ctx)
}

// await returns what do returns, or the reason for the end of ctx as soon as ctx ends. It is for what no context
// reaches, such as a read from a terminal or the opening of a named pipe; do is then left behind, and ends with the
// program.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	result := make(chan outcome, 1)
	go func() {
		value, err := do()
		result <- outcome{value, err}
	}()
	select {
	case o := <-result:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
