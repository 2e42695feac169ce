package client

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Phase is where in a session's life something failed.
type Phase string

// The phases.
const (
	PhaseConfig    Phase = "config"
	PhaseSpawn     Phase = "spawn"
	PhaseProbe     Phase = "probe"
	PhaseHandshake Phase = "handshake"
	PhaseAuth      Phase = "auth"
	PhaseList      Phase = "list"
	PhaseRead      Phase = "read"
	PhaseCall      Phase = "call"
)

// Code classifies an Error for programs. Every surface derives its status or exit code from it.
type Code string

// The codes.
const (
	CodeConfig      Code = "config_invalid"     // the configuration cannot work
	CodeNotFound    Code = "not_found"          // no such server, tool, resource or prompt
	CodeUnavailable Code = "server_unavailable" // could not start, exited, closed
	CodeIncompat    Code = "version_mismatch"   // no protocol version in common
	CodeTimeout     Code = "timeout"            // one of the four clocks ran out
	CodeCancelled   Code = "cancelled"          // the caller's ctx ended
	CodeDenied      Code = "denied"             // a rule or a person refused
	CodeLogin       Code = "login_needed"
	CodeProtocol    Code = "protocol_error"  // the server broke the protocol
	CodeRPC         Code = "rpc_error"       // the server answered with a JSON-RPC error
	CodeUnknown     Code = "outcome_unknown" // sent, and the connection was lost before the answer
	CodeUnsupported Code = "unsupported"     // the server or this build does not do it
	CodeInvalid     Code = "invalid_argument"
)

// Error is the one error type of a session: what failed, where, and what to do next.
// Its text and fields hold no secret.
type Error struct {
	Server  string
	Phase   Phase
	Code    Code
	Message string // one sentence, safe to show
	Hint    string // the next step for the person; may be empty
	Stderr  string // last lines the server wrote, at most 4 KiB; may be empty
	RPC     *RPCError
	Err     error // the cause; may be nil
}

// RPCError is a JSON-RPC error as the server sent it.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func (e *Error) Error() string {
	var b strings.Builder
	if e.Server != "" {
		fmt.Fprintf(&b, "server %q: ", e.Server)
	}
	if e.Phase != "" {
		fmt.Fprintf(&b, "%s: ", e.Phase)
	}
	b.WriteString(e.Message)
	return b.String()
}

// Unwrap gives the JSON-RPC error and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.RPC != nil {
		errs = append(errs, e.RPC)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}
