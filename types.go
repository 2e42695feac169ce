package usher

import (
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
)

// State is where a server is in its life.
type State string

// The states of a server.
const (
	StateDisabled         State = "disabled"
	StateAwaitingApproval State = "awaiting_approval"
	StateConnecting       State = "connecting"
	StateReady            State = "ready"
	StateDegraded         State = "degraded" // ready once, gone now; its stale catalog stands
	StateReconnecting     State = "reconnecting"
	StateFailed           State = "failed"
	StateClosed           State = "closed"
)

// ServerStatus is one server as it stands: a snapshot, safe to keep.
type ServerStatus struct {
	Name   string
	State  State
	Since  time.Time
	Config config.Server
	// Err is why it is not ready; nil otherwise.
	Err *client.Error

	Era             client.Era
	ProtocolVersion string
	Info            client.Implementation
	Instructions    string
	Capabilities    json.RawMessage
	Negotiation     client.Negotiation
	PID             int
	// Starts counts sessions started for it since the host opened.
	Starts    int
	Connected time.Duration // how long the last connect took
	Tools     int
	Prompts   int
	Resources int
	Warnings  []string
}

// Tool is one tool of one server in the catalog. Identity is (Server, Name).
type Tool struct {
	Server string
	client.Tool
	// Label is the name a model sees: server__tool, [A-Za-z0-9_-], at most 64 characters, unique in the catalog.
	Label string
	// AppURI is the ui:// resource of its app; empty without one. AppProblem says why a declared one was dropped.
	AppURI     string
	AppProblem string
	// ForModel is false for tools whose visibility lacks "model".
	ForModel bool
}

// Prompt is one prompt of one server in the catalog. Identity is (Server, Name).
type Prompt struct {
	Server string
	client.Prompt
}

// Resource is one resource of one server in the catalog. Identity is (Server, URI).
type Resource struct {
	Server string
	client.Resource
}

// ResourceTemplate is one resource template of one server in the catalog. Identity is (Server, URITemplate).
type ResourceTemplate struct {
	Server string
	client.ResourceTemplate
}

// Catalog is an immutable snapshot of everything the ready servers offer, in a stable order.
// Do not change what it holds; readers share it.
type Catalog struct {
	// Revision grows by one with each change.
	Revision  uint64
	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
	Templates []ResourceTemplate
	Rejected  map[string][]client.Rejected // by server
}

// Call asks for one tool call.
type Call struct {
	Server string
	Tool   string
	// Arguments is a JSON object; nil means {}.
	Arguments json.RawMessage
	// Owner names the session the call belongs to; progress and questions stay with it. ID names the call in its
	// questions.
	Owner, ID  string
	OnProgress func(client.Progress)

	// Mode, when not empty, replaces the mode of [Options.Permissions] for this call.
	Mode permission.Mode
	// Consented says that a person asked for exactly this call, so that nobody needs to be asked whether it may run.
	// What rules or the mode deny is denied all the same.
	Consented bool
	// OnDecision is told whether the call may run, and what decided, before anything is sent. It may be called again when the
	// server had to be connected anew and has changed the tool meanwhile.
	OnDecision func(permission.Decision)
}

// Result is what a call returned: everything the server sent, and how to show it.
type Result struct {
	Server, Tool    string
	Era             client.Era
	ProtocolVersion string
	*client.Result
	Display  Display
	Duration time.Duration
}

// Display types.
const (
	DisplayText     = "text"
	DisplayImage    = "image"
	DisplayResource = "resource"
	DisplayApp      = "mcp_app"
)

// Display says how a result is shown. Text, image and resource displays point at the result's own content;
// an mcp_app display carries the app. FallbackText is always there.
type Display struct {
	Type         string `json:"type"`
	FallbackText string `json:"fallbackText"`
	// Problem says why an app that the tool declares is not shown: one sentence for the person.
	Problem string `json:"problem,omitempty"`

	Server        string            `json:"server,omitempty"`
	Tool          string            `json:"tool,omitempty"`
	ResourceURI   string            `json:"resourceUri,omitempty"`
	HTML          string            `json:"html,omitempty"`
	CSP           *apps.CSP         `json:"csp,omitempty"`
	Permissions   *apps.Permissions `json:"permissions,omitempty"`
	PrefersBorder *bool             `json:"prefersBorder,omitempty"`
	ToolInput     json.RawMessage   `json:"toolInput,omitempty"`
	ToolResult    json.RawMessage   `json:"toolResult,omitempty"`
}

// The types of host events.
const (
	EventServerChanged  = "server.changed"
	EventCatalogChanged = "catalog.changed"
)

// Event is something that happened in the host.
type Event struct {
	Time time.Time
	// Type is EventServerChanged or EventCatalogChanged.
	Type     string
	Server   string
	State    State
	Revision uint64
}
