package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
)

const (
	// MaxEvent bounds the data of one event, in bytes. A larger result is kept as the beginning of its text.
	MaxEvent = 16 << 20
	// keptText is how much text is kept of a result that is too large.
	keptText        = 64 << 10
	maxProgressText = 2 << 10
)

// finish tells how a call ended. cause is why its context ended, nil while it has not.
func finish(callID string, result *usher.Result, err, cause error) api.CallFinished {
	f := api.CallFinished{CallID: callID}
	if err == nil {
		f.Outcome = api.OutcomeResult
		if result.IsError {
			f.Outcome = api.OutcomeToolError
		}
		f.Warnings = result.Warnings
		if f.Result = result.Raw; !json.Valid(f.Result) {
			f.Result = nil
			f.Warnings = append(slices.Clone(f.Warnings), "The result is not valid JSON and was not kept.")
		}
		f.Display = display(result.Display)
		f.Era, f.ProtocolVersion = string(result.Era), result.ProtocolVersion
		f.DurationMs = result.Duration.Milliseconds()
		return f
	}
	f.Error = WireError(err)
	switch code := client.Code(f.Error.Code); {
	case cause != nil:
		f.Outcome = api.OutcomeCancelled
		f.Error = &api.Error{
			Code: string(client.CodeCancelled), Server: f.Error.Server, Phase: f.Error.Phase, Message: cause.Error(),
		}
	case code == client.CodeCancelled:
		f.Outcome = api.OutcomeCancelled
	case code == client.CodeUnknown:
		f.Outcome = api.OutcomeUnknown
	case code == client.CodeDenied:
		f.Outcome = api.OutcomeDenied
	default:
		f.Outcome = api.OutcomeError
	}
	return f
}

// WireError is an error of a host as it is told to programs. What is not a *[client.Error] is "internal", and its
// text stays here.
func WireError(err error) *api.Error {
	var e *client.Error
	if !errors.As(err, &e) {
		return &api.Error{Code: "internal", Message: "Something went wrong inside Usher; its log says more."}
	}
	return &api.Error{
		Code: string(e.Code), Message: e.Message, Server: e.Server, Phase: string(e.Phase), Hint: e.Hint, Stderr: e.Stderr,
	}
}

// display is a display as the log keeps it: the tool's input and result are in the log already.
func display(d usher.Display) *api.Display {
	out := &api.Display{
		Type: d.Type, FallbackText: d.FallbackText, Problem: d.Problem, Server: d.Server, Tool: d.Tool,
		ResourceURI: d.ResourceURI, HTML: d.HTML, PrefersBorder: d.PrefersBorder,
	}
	if d.CSP != nil {
		out.CSP = encode(d.CSP)
	}
	if d.Permissions != nil {
		out.Permissions = encode(d.Permissions)
	}
	return out
}

// fit encodes a call.finished within MaxEvent. When its result had to be cut for that, whole is all of the result's text,
// which is to be kept apart.
func fit(f api.CallFinished) (data json.RawMessage, whole string) {
	data = encode(f)
	if len(data) <= MaxEvent {
		return data, ""
	}
	whole = viewOf(f.Result).text
	f.OutputBytes = len(whole)
	size := len(data)
	text := ""
	if f.Display != nil {
		text = clip(f.Display.FallbackText, keptText)
		f.Display = &api.Display{Type: usher.DisplayText, FallbackText: text, Problem: f.Display.Problem}
	}
	f.Result = encode(map[string]any{
		"content": []map[string]string{{"type": "text", "text": text}},
		"isError": f.Outcome == api.OutcomeToolError,
	})
	f.Warnings = append(slices.Clone(f.Warnings),
		fmt.Sprintf("The result has %d bytes, more than the %d that a session keeps; here is the beginning of its text.", size, MaxEvent))
	return encode(f), whole
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ") + "…"
}

// encode makes JSON of a value of ours. HTML is not escaped: apps would be several times their size.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		// Wire types always encode, and raw JSON in them has been checked.
		panic(fmt.Sprintf("conversation: encoding %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
