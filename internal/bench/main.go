// Command bench compares the client with other clients, in one run: a minimal line client (the floor), the bare Go
// SDK and mcp-go, all against the same cheap server. Absolute times say more about the machine than about the code,
// so that the results are ratios within a round, and the rounds interleave the contenders.
//
// With -usher it also measures the daemon of that program, against absolute targets.
//
//	go run ./internal/bench [-rounds N] [-only REGEXP] [-usher PROGRAM] [-out DIRECTORY] [-enforce]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errMissed is the outcome of -enforce when a target is missed.
var errMissed = errors.New("a target was missed")

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "serve" {
		return serve(args[1:], stdin, stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 5, "how often everything is measured; the result is the median")
	only := flags.String("only", "", "measure only work whose name matches this `regexp`")
	program := flags.String("usher", "", "the built `program` whose daemon to measure too")
	out := flags.String("out", "", "write results.md and results.json into this `directory`")
	enforce := flags.Bool("enforce", false, "exit with 1 when a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if *rounds < 1 {
		return errors.New("-rounds: want at least 1")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself, which is also the server: %w", err)
	}

	result, err := measure(ctx, plan{
		server: exe, contenders: contenders(), works: works(), only: pattern, rounds: *rounds, progress: stderr,
	})
	if err != nil {
		return err
	}
	if *program != "" && pattern.MatchString(daemonName) {
		result.Daemon, err = measureDaemon(ctx, *program, exe, *rounds, stderr)
		if err != nil {
			return err
		}
	}
	if len(result.Works) == 0 && len(result.Daemon) == 0 {
		return errors.New("nothing to measure: no work has such a name")
	}
	report := newReport(result)
	if _, err := stdout.Write(report.markdown()); err != nil {
		return err
	}
	if *out != "" {
		if err := report.save(*out); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "written to %s\n", filepath.Join(*out, "results.md"))
	}
	if *enforce && report.missed() {
		return errMissed
	}
	return nil
}
