// Package cli is the usher command: one file for each subcommand. It is the only place that puts the concrete
// parts of the program together. Exit codes are documented in docs/exit-codes.md, the shapes of --json in
// docs/cli.md.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/nearest"
)

// Main runs the program with its arguments, without the program's name, and returns the exit code. lookupEnv
// answers for environment variables. When ctx ends, running calls are cancelled at their servers, the servers
// are ended, and the exit code is ExitInterrupted.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	lookupEnv func(string) (string, bool),
) int {
	return run(ctx, nil, args, stdin, stdout, stderr, lookupEnv)
}

// run is Main; once hurry is closed, servers that are being ended get no more time.
func run(ctx context.Context, hurry <-chan struct{}, args []string, stdin io.Reader, stdout, stderr io.Writer,
	lookupEnv func(string) (string, bool),
) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: lookupEnv, hurry: hurry}
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		// A wrong flag ends the parsing before --json is seen.
		a.json = a.json || slices.Contains(args, "--json")
		a.reportError(ctx, err)
	}
	return exitCode(ctx, err)
}

// app is what the commands share: the streams, the environment and the persistent flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	hurry          <-chan struct{} // closed when servers are to be ended at once; nil when nobody can say so

	configFile string
	stdio      []string
	protocol   string
	traceFile  string
	json       bool
	verbose    bool
	timeout    time.Duration

	loaded *config.Config // what configuration has returned; nil before
	// redactor masks the secrets of the loaded configuration in everything written for people and logs.
	redactor *config.Redactor
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "usher",
		Short: "An MCP host: tools and apps of MCP servers, in a terminal and in a browser",
		Long: `Usher connects MCP servers and runs their tools and apps.

Servers are read from usher.json and .mcp.json in this directory and from the user's usher.json
(~/.config/usher/usher.json), or from --config FILE, or are named with --stdio 'COMMAND …'.
With nothing configured there is the tour: a small server that shows what Usher can do.`,
		SilenceUsage:               true,
		SilenceErrors:              true,
		Args:                       cobra.ArbitraryArgs,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
		DisableSuggestions:         true, // the error below suggests
		SuggestionsMinimumDistance: 1,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "read this configuration `FILE` and no other")
	flags.StringArrayVar(&a.stdio, "stdio", nil, "use the server that this `COMMAND` starts, with its arguments in one word: 'COMMAND ARGS' or 'name=COMMAND ARGS'; may be repeated")
	flags.StringVar(&a.protocol, "protocol", "", "`legacy|auto`: start servers with initialize, or ask first which protocol version they speak")
	flags.StringVar(&a.traceFile, "trace", "", "append every protocol frame to `FILE` as JSON lines, secrets masked")
	flags.BoolVar(&a.json, "json", false, "print JSON on standard output (see docs/cli.md)")
	flags.DurationVar(&a.timeout, "timeout", 0, "give up after this `DURATION`, such as 90s (exit code 124)")
	flags.BoolVar(&a.verbose, "verbose", false, "say more on standard error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(cmd, "%w", err) })
	root.AddCommand(
		newServersCommand(a), newToolsCommand(a), newCallCommand(a), newResourcesCommand(a), newReadCommand(a),
		newPromptsCommand(a), newPromptCommand(a), newApproveCommand(a), newServeCommand(a), newOpenCommand(a), newRunCommand(a),
		newVersionCommand(a), newTourCommand(a),
	)
	root.SetHelpCommand(newHelpCommand(root))
	return root
}

// newHelpCommand is help for a command by its name, which has to be one.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || cmd == root && len(args) > 0 {
				return unknownCommand(root, args[0])
			}
			return cmd.Help()
		},
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	if near := nearest.Name(name, known); near != "" {
		return usageError(cmd, "there is no command %q; did you mean %q?", name, near)
	}
	return usageError(cmd, "there is no command %q", name)
}

// arguments makes a check of the number of arguments that names what is missing.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd, "%s is missing", argumentName(cmd, len(args)))
		case most >= 0 && len(args) > most:
			return usageError(cmd, "%q is one argument too many", args[most])
		}
		for _, arg := range args {
			if !utf8.ValidString(arg) {
				// The protocol is JSON, which would hold something else in its place.
				return usageError(cmd, "%q is not UTF-8 text", arg)
			}
		}
		return nil
	}
}

// argumentName takes the name of argument i from the usage line.
func argumentName(cmd *cobra.Command, i int) string {
	if words := strings.Fields(cmd.Use); i+1 < len(words) {
		return words[i+1]
	}
	return "an argument"
}

// usageError is an error in how the command was written.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return &client.Error{
		Code: client.CodeInvalid, Message: fmt.Errorf(format, args...).Error(),
		Hint: fmt.Sprintf("see: %s --help", cmd.CommandPath()),
	}
}

// logger writes to standard error when --verbose is given, and nowhere otherwise.
func (a *app) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: a.redactor.ReplaceAttr,
	}))
}

// note writes one line for a person to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.stderr, a.redactor.String(printable(fmt.Sprintf(format, args...))))
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// env is the value of an environment variable, empty when unset.
func (a *app) env(name string) string {
	if a.lookupEnv == nil {
		return ""
	}
	value, _ := a.lookupEnv(name)
	return value
}

// within bounds ctx by --timeout.
func (a *app) within(ctx context.Context) (context.Context, context.CancelFunc, error) {
	switch {
	case a.timeout < 0:
		return nil, nil, &client.Error{Code: client.CodeInvalid, Message: "--timeout is negative", Hint: "give a duration such as 90s"}
	case a.timeout == 0:
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, errTimeout)
	return ctx, cancel, nil
}

// timedOut is the error of a command that --timeout has ended while it was waiting for a server, as far as that is known.
func (a *app) timedOut(server string, phase client.Phase) *client.Error {
	failure := &client.Error{
		Server: server, Phase: phase, Code: client.CodeTimeout, Err: errTimeout,
		Message: fmt.Sprintf("the command took longer than --timeout %s", a.timeout),
		Hint:    "give it more time, or see what is waited for with --trace FILE",
	}
	switch phase {
	case client.PhaseCall:
		failure.Message += "; the call was cancelled at the server"
	case client.PhaseProbe, client.PhaseHandshake, client.PhaseList:
		failure.Hint = "give it more time, or see with --trace FILE how far the server comes"
	}
	return failure
}

// errTimeout marks the end of --timeout as the cause of a context's end.
var errTimeout = errors.New("--timeout ran out")
