package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

const (
	// defaultServerWait is how long usher run waits for its servers.
	defaultServerWait = 30 * time.Second
	// endingTime bounds how long a run that was interrupted may take to record its end.
	endingTime = 5 * time.Second
)

// errIncomplete ends a run whose answer is not complete. Its result has been printed.
var errIncomplete = errors.New("the answer is not complete")

// runFlags are the flags of usher run.
type runFlags struct {
	prompt     string
	require    []string
	serverWait time.Duration
	allow      []string
	mode       string
	onQuestion string
	resume     string
	model      string
	dataDir    string
	roots      []string
	maxSteps   int
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -p TEXT",
		Short: "Let the model do one task with the tools, without anybody at the keyboard",
		Long: `run sends one message to the configured model, lets it use the servers' tools, prints its answer and ends.

Nobody is there to be asked: a tool runs when a rule allows it (--allow, the configuration, alwaysAllow, a trusted
server's read-only tool, or an answer that was given for good), and other questions are answered by --on-question.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runHeadless(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.prompt, "prompt", "p", "", "the message, `TEXT`; - reads it from standard input")
	flags.StringSliceVar(&f.require, "require-server", nil, "fail when the server `NAME` is not ready in time; may be repeated")
	flags.DurationVar(&f.serverWait, "server-wait", defaultServerWait, "wait so long for servers, a `DURATION`")
	flags.StringArrayVar(&f.allow, "allow", nil, "let the tools of this `RULE` run: SERVER or SERVER/TOOL, with * and ?; may be repeated")
	flags.StringVar(&f.mode, "mode", "", "`ask|read-only|auto`: what happens to tools that no rule decides, in place of the configuration")
	flags.StringVar(&f.onQuestion, "on-question", "deny", "`deny|fail|FILE`: decline questions, or end with exit code 4 at the first, or answer them from FILE")
	flags.StringVar(&f.resume, "resume", "", "go on in the session `ID`")
	flags.StringVar(&f.model, "model", "", "use the model of this `NAME`, in place of the configuration's")
	flags.StringVar(&f.dataDir, "data-dir", "", "keep the session in `DIR`")
	flags.StringArrayVar(&f.roots, "root", nil, "tell servers of this directory, `DIR`; may be repeated")
	flags.IntVar(&f.maxSteps, "max-steps", 0, "end after so many requests to the model, `N`")
	return cmd
}

// runHeadless is usher run.
func (a *app) runHeadless(cmd *cobra.Command, f runFlags) (err error) {
	ctx := cmd.Context()
	text, err := a.promptText(cmd, f.prompt)
	if err != nil {
		return err
	}
	if f.maxSteps < 0 || f.serverWait <= 0 {
		return usageError(cmd, "--max-steps and --server-wait must not be negative")
	}
	policy, err := questionPolicy(f.onQuestion)
	if err != nil {
		return err
	}
	c, err := a.configuration(ctx, true, "")
	if err != nil {
		return err
	}
	a.noteProblems(c, "")
	for _, name := range f.require {
		if _, err := only(c, name); err != nil {
			return err
		}
	}
	options := conversation.Options{Desk: conversation.NewDesk(), Logger: a.logger(), MaxSteps: f.maxSteps}
	chat, err := a.chatModel(c, f.model, &options)
	if err != nil {
		return err
	}
	if chat == nil {
		return &client.Error{
			Phase: client.PhaseConfig, Code: client.CodeConfig, Message: "no model is configured",
			Hint: `write "model" into usher.json, or set USHER_MODEL_NAME and USHER_MODEL_BASE_URL; see docs/configuration.md`,
		}
	}
	defer chat.Close()
	roots, err := rootsOf(f.roots)
	if err != nil {
		return err
	}
	store, dispose, err := a.runStore(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dispose()) }()
	ask := usher.Options{Ask: options.Desk.Ask, Sample: options.Desk.Sample, Roots: roots}
	if ask.Permissions, err = gate(c.Permissions, f.mode, f.allow, store.Permissions()); err != nil {
		return err
	}
	options.Store = store
	return a.withHostAnd(ctx, c.Servers, c.Apps, ask, func(ctx context.Context, h *usher.Host) error {
		options.Host, options.Servers = h, h.Servers
		if err := a.awaitServers(ctx, h, f); err != nil {
			return err
		}
		sessions, err := conversation.Open(ctx, options)
		if err != nil {
			return err
		}
		r := &headless{app: a, sessions: sessions, policy: policy}
		err = r.run(ctx, f.resume, text)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endingTime)
		defer cancel()
		return errors.Join(err, sessions.Close(ending))
	})
}

// promptText is the message of -p.
func (a *app) promptText(cmd *cobra.Command, prompt string) (string, error) {
	if prompt == "-" {
		data, err := io.ReadAll(io.LimitReader(a.stdin, conversation.MaxMessage+1))
		if err != nil {
			return "", fmt.Errorf("reading standard input: %w", err)
		}
		prompt = string(data)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usageError(cmd, "-p TEXT is missing")
	}
	return prompt, nil
}

// rootsOf makes the answer to servers that ask for roots; nil without any.
func rootsOf(dirs []string) (func(context.Context, string) ([]client.Root, error), error) {
	if len(dirs) == 0 {
		return nil, nil //nolint:nilnil // no roots are no error
	}
	var roots []client.Root
	for _, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || !info.IsDir() {
			return nil, &client.Error{Code: client.CodeInvalid, Message: fmt.Sprintf("--root %s: it is no directory", dir)}
		}
		slashed := filepath.ToSlash(path)
		if !strings.HasPrefix(slashed, "/") {
			slashed = "/" + slashed // C:/work is file:///C:/work
		}
		roots = append(roots, client.Root{URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: filepath.Base(path)})
	}
	return func(context.Context, string) ([]client.Root, error) { return roots, nil }, nil
}

// runStore opens the place for the session. When a daemon has it, a run that resumes nothing keeps its session in a place
// of its own, which goes with it.
func (a *app) runStore(ctx context.Context, f runFlags) (_ *sqlite.Store, dispose func() error, _ error) {
	dir, err := a.dataDir(f.dataDir)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(ctx, dir)
	if err == nil {
		return store, store.Close, nil
	}
	var busy *sqlite.OpenError
	if f.resume != "" || f.dataDir != "" || !errors.As(err, &busy) || !busy.InUse {
		return nil, nil, startError(err)
	}
	dir, err = os.MkdirTemp("", "usher-run-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a place for the session: %w", err)
	}
	a.note("note: usher serve has the sessions open, so this one is not kept. --data-dir DIR keeps it elsewhere.")
	if store, err = sqlite.Open(ctx, dir); err != nil {
		return nil, nil, errors.Join(startError(err), os.RemoveAll(dir))
	}
	return store, func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) }, nil
}

// serverTable is the first line of `usher run --json`.
type serverTable struct {
	Type    string      `json:"type"` // servers
	Servers []serverRow `json:"servers"`
}

type serverRow struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Required bool       `json:"required"`
	Era      string     `json:"era,omitempty"`
	Tools    int        `json:"tools"`
	Error    *api.Error `json:"error,omitempty"`
}

// awaitServers waits until every server is ready or has failed, at most --server-wait, tells how they stand, and fails
// when a required one is not ready.
func (a *app) awaitServers(ctx context.Context, h *usher.Host, f runFlags) error {
	waiting, cancel := context.WithTimeout(ctx, f.serverWait)
	_ = h.Wait(waiting) // how each stands is told below
	cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	required := map[string]bool{}
	for _, name := range f.require {
		required[name] = true
	}
	table := serverTable{Type: "servers", Servers: []serverRow{}}
	var missing *client.Error
	for _, s := range h.Servers() {
		row := serverRow{Name: s.Name, State: string(s.State), Required: required[s.Name], Era: string(s.Era), Tools: s.Tools}
		failure := a.notReady(s)
		if failure == nil && s.State != usher.StateReady && row.Required {
			failure = &client.Error{Server: s.Name, Code: client.CodeUnavailable, Message: fmt.Sprintf("the server is %s", s.State)}
		}
		if failure != nil {
			if s.State == usher.StateConnecting {
				failure.Hint = fmt.Sprintf("it was not ready in %s; wait longer with --server-wait", f.serverWait)
			}
			shape := a.errorShape(failure)
			row.Error = &shape
			if row.Required && missing == nil {
				missing = failure
			} else if !a.json {
				a.note("server %s: %s", s.Name, shape.Message)
			}
		}
		table.Servers = append(table.Servers, row)
	}
	if a.json {
		if err := a.printJSON(table); err != nil {
			return err
		}
	}
	if missing == nil {
		return nil
	}
	if !a.json {
		return missing
	}
	shape := a.errorShape(missing)
	if err := a.printJSON(runResult{
		Type: "result", Outcome: "not_started", Calls: []runCall{}, Questions: []runQuestion{}, Error: &shape, ExitCode: codeOf(missing.Code),
	}); err != nil {
		return err
	}
	return told{missing}
}

// runResult is the last line of `usher run --json`.
type runResult struct {
	Type      string        `json:"type"` // result
	Outcome   string        `json:"outcome"`
	Session   string        `json:"session,omitempty"`
	Text      string        `json:"text"`
	Steps     int           `json:"steps"`
	Calls     []runCall     `json:"calls"`
	Questions []runQuestion `json:"questions"`
	Usage     api.Usage     `json:"usage"`
	Limit     string        `json:"limit,omitempty"`
	Error     *api.Error    `json:"error,omitempty"`
	ExitCode  int           `json:"exitCode"`
}

type runCall struct {
	Server     string `json:"server"`
	Tool       string `json:"tool"`
	Outcome    string `json:"outcome"`
	DurationMs int64  `json:"durationMs"`
}

type runQuestion struct {
	Kind   string `json:"kind"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Action string `json:"action"`
}

// modelExit is the error code that a turn's failure counts as, for the exit code.
func modelExit(code string) client.Code {
	switch code {
	case "model_key":
		return client.CodeLogin
	case "model_config", "model_address", "model_model", "model_request":
		return client.CodeConfig
	}
	return client.CodeUnavailable
}

// refusal is the answer to a question that lets nothing happen.
func refusal(q api.QuestionAsked) string {
	if q.Kind == api.QuestionPermission || q.Kind == api.QuestionSampling {
		return string(permission.No)
	}
	return client.ActionDecline
}

// turnFailure makes an error of a turn's failure.
func turnFailure(e *api.Error) error {
	switch {
	case e == nil:
		return errIncomplete
	case e.Code == "step_limit":
		return fmt.Errorf("%s (%s): %w", e.Message, e.Hint, errIncomplete)
	}
	return &client.Error{Code: modelExit(e.Code), Message: e.Message, Hint: e.Hint}
}
