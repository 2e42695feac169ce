package client

import (
	"encoding/json"
	"time"
)

// Era is the protocol family of a session.
type Era string

const (
	// Legacy is every version up to 2025-11-25, with its initialize handshake.
	Legacy Era = "legacy"
	// Modern is 2026-07-28 and later: stateless, with per-request metadata.
	Modern Era = "modern"
)

// Implementation names a program and its version, as it says of itself. For display only (BASE-24).
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Tool is one tool as the server listed it. Raw is the whole entry, byte for byte.
type Tool struct {
	Name         string
	Title        string // display name: title, annotations.title, name (BASE-39)
	Description  string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Annotations  ToolAnnotations
	Meta         json.RawMessage
	Raw          json.RawMessage
}

// ToolAnnotations are the server's own claims. A nil hint was not given.
type ToolAnnotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// Prompt is one prompt as the server listed it.
type Prompt struct {
	Name        string
	Title       string
	Description string
	Arguments   []PromptArgument
	Meta        json.RawMessage
	Raw         json.RawMessage
}

// PromptArgument is one argument of a prompt; values are strings.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is one resource as the server listed it.
type Resource struct {
	URI         string
	Name        string
	Title       string
	Description string
	MIMEType    string
	Size        *int64
	Meta        json.RawMessage
	Raw         json.RawMessage
}

// ResourceTemplate is one resource template as the server listed it.
type ResourceTemplate struct {
	URITemplate string
	Name        string
	Title       string
	Description string
	MIMEType    string
	Meta        json.RawMessage
	Raw         json.RawMessage
}

// Rejected is a list item that could not be used; the others stand.
type Rejected struct {
	Kind   string `json:"kind"` // tool, prompt, resource, resourceTemplate
	Name   string `json:"name"` // its name where one could be read
	Index  int    `json:"index"`
	Reason string `json:"reason"`
}

// List is one aggregated list: all pages, item by item.
type List[T any] struct {
	Items    []T
	Rejected []Rejected
	// Warnings are for the person: a repeated cursor, a page cap.
	Warnings []string
	// Supported is false when the server answered that it has no such method; Items is then empty.
	Supported bool
	// FromCache says that no request was sent.
	FromCache bool
}

// Content is one content block of a result. Raw is the block as sent; the other fields are its known
// parts, zero where the type has none. Unknown types keep Type and Raw.
type Content struct {
	Type     string // text, image, audio, resource, resource_link, or what the server says
	Text     string
	Data     string // base64 as sent, image and audio
	MIMEType string
	URI      string
	Name     string
	Resource *ResourceContent
	Raw      json.RawMessage
}

// ResourceContent is one item of a resources/read result or an embedded resource.
type ResourceContent struct {
	URI      string
	MIMEType string
	Text     *string
	Blob     *string // base64 as sent
	Meta     json.RawMessage
	Raw      json.RawMessage
}

// Result is what a tool call returned, with nothing lost.
type Result struct {
	Content           []Content
	StructuredContent json.RawMessage // nil when absent
	IsError           bool
	Meta              json.RawMessage
	// Raw is the whole result object as sent.
	Raw json.RawMessage
	// Warnings are findings that do not cost the result, e.g. structuredContent that breaks outputSchema.
	Warnings []string
}

// ReadResult is the answer to resources/read.
type ReadResult struct {
	Contents  []ResourceContent
	Meta      json.RawMessage
	Raw       json.RawMessage
	FromCache bool
}

// PromptResult is the answer to prompts/get.
type PromptResult struct {
	Description string
	Messages    []PromptMessage
	Raw         json.RawMessage
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    string
	Content Content
}

// Progress is one progress report of a running call.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"`
	Message  string   `json:"message,omitempty"`
}

// CallOptions are the options of one call. The zero value uses the server's clocks.
type CallOptions struct {
	// OnProgress receives progress in wire order, one at a time, and never after Call has returned.
	OnProgress func(Progress)
	// Idle and Total replace the server's call clocks; 0 keeps them.
	Idle, Total time.Duration
	// OutputSchema, when set, is checked against structuredContent; a mismatch is a warning.
	OutputSchema json.RawMessage
}

// Frame is one protocol frame as it crossed the wire, for tracing.
type Frame struct {
	Time    time.Time
	Server  string
	Process string // "session" or "probe"
	Sent    bool   // true from us to the server
	Data    []byte // one JSON text without the line end; not to be kept or changed
}
