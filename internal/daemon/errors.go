package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
)

// problem is an error that is told as it is.
type problem struct{ wire api.Error }

func (p *problem) Error() string { return p.wire.Message }

func refuse(code, message, hint string) *problem {
	return &problem{api.Error{Code: code, Message: message, Hint: hint}}
}

// invalid refuses a field of a request.
func invalid(field, message string) *problem {
	return &problem{api.Error{Code: string(client.CodeInvalid), Field: field, Message: field + ": " + message}}
}

// describe is an error as it is told: its status and its words. The text of an error that nobody foresaw stays in the
// log.
func describe(err error) (int, api.Error) {
	var (
		told    *problem
		failure *client.Error
		bad     *conversation.InvalidError
		late    *conversation.SettledError
		large   *http.MaxBytesError
		wire    api.Error
	)
	switch {
	case errors.As(err, &told):
		wire = told.wire
	case errors.As(err, &failure):
		wire = *conversation.WireError(failure)
	case errors.As(err, &bad):
		wire = invalid(bad.Field, bad.Reason).wire
	case errors.As(err, &late):
		wire = api.Error{Code: codeExpired, Message: late.Error()}
		if late.Action != "" {
			wire.Code = codeAnswered
		}
	case errors.As(err, &large):
		wire = api.Error{Code: codeTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", large.Limit)}
	case errors.Is(err, conversation.ErrNotFound):
		wire = api.Error{Code: string(client.CodeNotFound), Message: err.Error()}
	case errors.Is(err, conversation.ErrBusy):
		wire = api.Error{Code: codeBusy, Message: err.Error(), Hint: "Wait until something has ended, or cancel it."}
	case errors.Is(err, conversation.ErrNotRunning):
		wire = api.Error{Code: codeNotRunning, Message: err.Error()}
	case errors.Is(err, conversation.ErrClosing):
		wire = api.Error{Code: codeClosing, Message: "Usher is stopping."}
	case errors.Is(err, context.DeadlineExceeded):
		wire = api.Error{Code: string(client.CodeTimeout), Message: "It took too long."}
	case errors.Is(err, context.Canceled):
		wire = api.Error{Code: string(client.CodeCancelled), Message: "The request was cancelled."}
	default:
		wire = api.Error{Code: codeInternal, Message: "Something went wrong inside Usher.", Hint: "Start it with --verbose to see what."}
	}
	status, known := statusOf[wire.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	return status, wire
}

// The codes of the daemon's own errors. Those of servers are client.Code's. docs/errors.md tells of all of them.
const (
	codeHost       = "host_refused"
	codeOrigin     = "origin_refused"
	codeNoLogin    = "unauthorized"
	codeBearerOnly = "bearer_needed"
	codeBadCode    = "code_refused"
	codeMediaType  = "media_type_refused"
	codeJSON       = "json_invalid"
	codeField      = "unknown_field"
	codeTooLarge   = "too_large"
	codeMethod     = "method_not_allowed"
	codeBusy       = "busy"
	codeNotRunning = "not_running"
	codeClosing    = "closing"
	codeAnswered   = "already_answered"
	codeExpired    = "question_expired"
	codeInternal   = "internal"
)

// statusOf is the one table from an error's code to its HTTP status.
var statusOf = map[string]int{
	codeHost:       http.StatusMisdirectedRequest,
	codeOrigin:     http.StatusForbidden,
	codeNoLogin:    http.StatusUnauthorized,
	codeBearerOnly: http.StatusForbidden,
	codeBadCode:    http.StatusForbidden,
	codeMediaType:  http.StatusUnsupportedMediaType,
	codeJSON:       http.StatusBadRequest,
	codeField:      http.StatusBadRequest,
	codeTooLarge:   http.StatusRequestEntityTooLarge,
	codeMethod:     http.StatusMethodNotAllowed,
	codeBusy:       http.StatusTooManyRequests,
	codeNotRunning: http.StatusConflict,
	codeClosing:    http.StatusServiceUnavailable,
	codeAnswered:   http.StatusConflict,
	codeExpired:    http.StatusConflict,
	codeInternal:   http.StatusInternalServerError,

	string(client.CodeConfig):      http.StatusUnprocessableEntity,
	string(client.CodeNotFound):    http.StatusNotFound,
	string(client.CodeUnavailable): http.StatusServiceUnavailable,
	string(client.CodeIncompat):    http.StatusBadGateway,
	string(client.CodeTimeout):     http.StatusGatewayTimeout,
	string(client.CodeCancelled):   statusClientGone,
	string(client.CodeDenied):      http.StatusForbidden,
	// Not 401: the browser is logged in here; it is the server that wants a login.
	string(client.CodeLogin):       http.StatusConflict,
	string(client.CodeProtocol):    http.StatusBadGateway,
	string(client.CodeRPC):         http.StatusBadGateway,
	string(client.CodeUnknown):     http.StatusBadGateway,
	string(client.CodeUnsupported): http.StatusNotImplemented,
	string(client.CodeInvalid):     http.StatusBadRequest,
}

// statusClientGone is what the log shows when nobody waits for the answer any more.
const statusClientGone = 499
