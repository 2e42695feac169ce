package cli

import (
	"context"
	"errors"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
)

// The exit codes; docs/exit-codes.md says what each means.
const (
	ExitOK          = 0
	ExitToolError   = 1
	ExitUsage       = 2
	ExitUnavailable = 3
	ExitDenied      = 4
	ExitLogin       = 5
	ExitProtocol    = 6
	ExitTimeout     = 124
	ExitInterrupted = 130
	ExitUnread      = 141 // the reader of standard output went away
)

// errToolFailed ends a command whose tool reported an error of its own. Its result has been printed.
var errToolFailed = errors.New("the tool reported an error")

// told is an error that the output of its command has told already, so that only the exit code is left to say.
type told struct{ error }

func (e told) Unwrap() error { return e.error }

// exitCode derives the exit code from how a command ended. ctx is the one that a signal cancels.
func exitCode(ctx context.Context, err error) int {
	var failure *client.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errToolFailed), errors.Is(err, errIncomplete):
		return ExitToolError
	case isBrokenPipe(err):
		return ExitUnread
	case ctx.Err() != nil:
		return ExitInterrupted
	case errors.Is(err, errTimeout):
		return ExitTimeout
	case errors.As(err, &failure):
		return codeOf(failure.Code)
	default:
		return ExitUsage
	}
}

func codeOf(code client.Code) int {
	switch code {
	case client.CodeUnavailable, client.CodeIncompat, client.CodeUnknown, client.CodeUnsupported:
		return ExitUnavailable
	case client.CodeDenied:
		return ExitDenied
	case client.CodeLogin:
		return ExitLogin
	case client.CodeProtocol, client.CodeRPC:
		return ExitProtocol
	case client.CodeTimeout:
		return ExitTimeout
	case client.CodeCancelled:
		return ExitInterrupted
	default: // config_invalid, not_found, invalid_argument
		return ExitUsage
	}
}

// reportError prints an error: an object on standard output with --json, else a line on standard error, the
// evidence and the next step.
func (a *app) reportError(ctx context.Context, err error) {
	if errors.Is(err, errToolFailed) {
		if !a.json {
			a.note("usher: %v", err)
		}
		return
	}
	if _, ok := errors.AsType[told](err); ok || isBrokenPipe(err) {
		return
	}
	shape := a.errorShape(err)
	if ctx.Err() != nil {
		shape = api.Error{Code: string(client.CodeCancelled), Message: "interrupted", Server: shape.Server, Phase: shape.Phase}
	}
	if a.json {
		if a.printJSON(api.Problem{Error: shape}) == nil {
			return
		}
		// Standard output takes nothing, so standard error has to do.
	}
	where := ""
	if shape.Server != "" {
		where = "server " + line(shape.Server, 64) + ": "
	}
	if shape.Phase != "" && shape.Phase != string(client.PhaseConfig) {
		where += shape.Phase + ": "
	}
	a.note("usher: %s%s", where, shape.Message)
	if shape.Stderr != "" {
		a.note("  the server's last words on standard error:\n%s", indent(shape.Stderr, "    "))
	}
	if shape.Hint != "" {
		a.note("  %s", shape.Hint)
	}
}

// errorShape is an error as programs read it.
func (a *app) errorShape(err error) api.Error {
	shape := api.Error{Code: string(client.CodeInvalid), Message: err.Error()}
	if failure, ok := errors.AsType[*client.Error](err); ok {
		shape = api.Error{
			Code: string(failure.Code), Message: failure.Message, Server: failure.Server,
			Phase: string(failure.Phase), Hint: failure.Hint, Stderr: failure.Stderr,
		}
	}
	if problems := config.AsProblems(err); len(problems) > 0 {
		shape.Code, shape.Phase, shape.Field = string(client.CodeConfig), string(client.PhaseConfig), problems[0].Field
	}
	shape.Message = a.redactor.String(shape.Message)
	shape.Hint = a.redactor.String(shape.Hint)
	shape.Stderr = a.redactor.String(shape.Stderr)
	return shape
}
