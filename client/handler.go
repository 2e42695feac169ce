package client

import (
	"context"
	"encoding/json"
)

// Handler answers what a server asks of the person or the host. In the legacy era the questions come as requests
// of the server, in the modern era inside a result that asks for input; the functions cannot tell the difference.
//
// Each function must return when its ctx ends: the question was withdrawn, its call was cancelled, or the session
// is over. When the question belongs to a call, ctx carries the values of that call's ctx. Where a legacy server's
// question cannot be attributed, because several calls are running or none, it carries none of them.
type Handler struct {
	// Elicit asks the person to fill a form or to open a URL. An error cancels the question.
	Elicit func(ctx context.Context, e Elicitation) (ElicitAnswer, error)
	// ElicitURL says that Elicit can also ask to open a URL.
	ElicitURL bool
	// Sample asks a model and returns the CreateMessageResult. An error refuses (SAM-07).
	Sample func(ctx context.Context, s Sampling) (json.RawMessage, error)
	// Roots lists the directories the server may know of.
	Roots func(ctx context.Context) ([]Root, error)
}

// Elicitation is a question for a person.
type Elicitation struct {
	Server string
	// Mode is "form" or "url".
	Mode    string
	Message string
	// Schema is the form's requestedSchema as sent, order of properties included.
	Schema json.RawMessage
	// URL and ID belong to mode url.
	URL, ID string
	// Attributed tells whether ctx carries the values of the call this question belongs to.
	Attributed bool
	// Round counts from 1 how often this call has asked for input (MRTR-21); it is 0 in the legacy era.
	Round int
}

// The actions of an ElicitAnswer.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// ElicitAnswer is the person's answer.
type ElicitAnswer struct {
	Action string `json:"action"`
	// Content is the filled form, a JSON object; only with ActionAccept in mode form.
	Content json.RawMessage `json:"content,omitempty"`
}

// Sampling is a request for a model's completion.
type Sampling struct {
	Server string
	// Params is the CreateMessageRequest's params as sent.
	Params     json.RawMessage
	Attributed bool
	Round      int
}

// Root is a directory the server may know of. URI is a file URI (ROOT-01).
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

const (
	appsExtension = "io.modelcontextprotocol/ui"
	appsMIMEType  = "text/html;profile=mcp-app"
)

// capabilities is what we declare, in both eras (M15, EXT-01).
func (h *Handler) capabilities() map[string]any {
	c := map[string]any{
		"extensions": map[string]any{appsExtension: map[string]any{"mimeTypes": []string{appsMIMEType}}},
	}
	if h.Elicit != nil {
		modes := map[string]any{"form": map[string]any{}}
		if h.ElicitURL {
			modes["url"] = map[string]any{}
		}
		c["elicitation"] = modes
	}
	if h.Sample != nil {
		c["sampling"] = map[string]any{}
	}
	if h.Roots != nil {
		c["roots"] = map[string]any{}
	}
	return c
}
