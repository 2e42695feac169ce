package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is the cause of a connection that was closed on this side.
	ErrClosed = errors.New("the connection was closed")
	// ErrEnded is the cause of a connection that the server closed.
	ErrEnded = errors.New("the server closed the connection")
	// ErrNoise is the cause of a connection on which the server wrote too much that is no message, and nothing else.
	ErrNoise = errors.New("the server writes what is no MCP message, without end")
	// ErrFrameTooLong fails a request whose answer is longer than the bound.
	ErrFrameTooLong = fmt.Errorf("the answer is longer than the limit of %d MiB", DefaultMaxFrame>>20)
	// ErrTooDeep fails a request whose answer nests deeper than the bound.
	ErrTooDeep = fmt.Errorf("the answer nests deeper than the limit of %d levels", MaxDepth)
	// ErrMalformed fails a request whose answer is no JSON-RPC response.
	ErrMalformed = errors.New("the answer is malformed")
	// ErrCut fails a request whose HTTP exchange ended before its answer came.
	ErrCut = errors.New("the stream ended before the answer came")
	// ErrWithdrawn ends a request that the server cancelled by itself (SUB-14).
	ErrWithdrawn = errors.New("the server ended the request")
)

// RemoteError is a JSON-RPC error that the server answered with.
type RemoteError struct {
	Code    int64
	Message string
	Data    json.RawMessage
}

func (e *RemoteError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// LostError says that the connection ended before the answer came.
type LostError struct {
	// Sent tells whether the server may have received the request.
	Sent  bool
	Cause error
}

func (e *LostError) Error() string { return "connection lost: " + e.Cause.Error() }

func (e *LostError) Unwrap() error { return e.Cause }

// TimeoutError says that one of the clocks of a request ran out.
type TimeoutError struct {
	Clock string // "idle" or "total"
	After time.Duration
}

func (e *TimeoutError) Error() string {
	if e.Clock == "idle" {
		return fmt.Sprintf("no answer and no progress for %s", e.After)
	}
	return fmt.Sprintf("no answer within %s", e.After)
}

// Timeout is true, as net.Error has it.
func (e *TimeoutError) Timeout() bool { return true }

// SendError says that a request could not be delivered, or that its answer was none of the protocol.
type SendError struct{ Err error }

func (e *SendError) Error() string { return e.Err.Error() }

func (e *SendError) Unwrap() error { return e.Err }
