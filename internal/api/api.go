// Package api holds the wire types of the daemon's HTTP API. TypeScript and OpenAPI are generated from them.
package api

//go:generate go run -C gen .

import (
	"encoding/json"
	"time"
)

// Problem is the one error shape: {"error": {...}}.
type Problem struct {
	Error Error `json:"error"`
}

// Error says what failed, where, and what to do next. Code is one of the codes of docs/errors.md.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Server  string `json:"server,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Stderr  string `json:"stderr,omitempty"`
	Field   string `json:"field,omitempty"`
}

// LoginRequest trades a one-time code for the session cookie.
type LoginRequest struct {
	Code string `json:"code"`
}

// LoginCode is a one-time code that a browser trades for its cookie, and the address that brings it along.
type LoginCode struct {
	Code      string    `json:"code"`
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Session is one conversation.
type Session struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Archived    bool      `json:"archived"`
	LastEventID int64     `json:"lastEventId"`
	// Questions is how many questions to a person wait in it.
	Questions int `json:"questions"`
}

// SessionList is a page of sessions, newest first.
type SessionList struct {
	Sessions   []Session `json:"sessions"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// CreateSessionRequest makes a session; Title may be empty.
type CreateSessionRequest struct {
	Title string `json:"title,omitempty"`
}

// UpdateSessionRequest changes what is given.
type UpdateSessionRequest struct {
	Title    *string `json:"title,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
}

// MessageRequest is a person's message.
type MessageRequest struct {
	Text string `json:"text"`
}

// CallRequest runs a tool directly.
type CallRequest struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Accepted answers 202: the event that records the request, and the call's id where there is one. What a message starts
// is seen in the events.
type Accepted struct {
	EventID int64  `json:"eventId"`
	CallID  string `json:"callId,omitempty"`
}

// CancelRequest cancels one call, or without an id everything that runs in the session.
type CancelRequest struct {
	CallID string `json:"callId,omitempty"`
}

// Compacted says how many app displays lost their html, and whether the model's view was replaced by a summary.
type Compacted struct {
	Displays   int  `json:"displays"`
	Summarized bool `json:"summarized"`
}

// Event is one entry of a session's log, and of its stream. Host events (server.changed, catalog.changed)
// ride the stream with ID 0: they are hints to fetch again, not part of the log.
type Event struct {
	ID      int64           `json:"id"`
	Session string          `json:"session"`
	Time    time.Time       `json:"time"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// EventList answers GET …/events?until=now.
type EventList struct {
	Events []Event `json:"events"`
	More   bool    `json:"more"`
}

// Event types.
const (
	EventSessionCreated   = "session.created"
	EventSessionRenamed   = "session.renamed"
	EventSessionArchived  = "session.archived"
	EventSessionCompacted = "session.compacted"
	EventMessage          = "message.received"
	EventCallRequested    = "call.requested"
	EventCallStarted      = "call.started"
	EventCallProgressed   = "call.progressed"
	EventCallFinished     = "call.finished"
	EventNotice           = "notice.raised"
	EventServerChanged    = "server.changed"
	EventCatalogChanged   = "catalog.changed"
)

// SessionRenamed is the data of session.created and session.renamed.
type SessionRenamed struct {
	Title string `json:"title"`
}

// SessionArchived is the data of session.archived: whether the session has left the list or come back.
type SessionArchived struct {
	Archived bool `json:"archived"`
}

// SessionCompacted is the data of session.compacted: the app displays of events up to Through have lost their html.
// With a summary, that is what the model sees from now on in the place of all events up to Summarized; the events stay.
type SessionCompacted struct {
	Through    int64  `json:"through"`
	Displays   int    `json:"displays"`
	Summarized int64  `json:"summarized,omitempty"`
	Summary    string `json:"summary,omitempty"`
}

// MessageReceived is the data of message.received.
type MessageReceived struct {
	Text string `json:"text"`
}

// CallRequested is the data of call.requested: who asked for what.
type CallRequested struct {
	CallID    string          `json:"callId"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Title     string          `json:"title"`
	Arguments json.RawMessage `json:"arguments"`
	By        string          `json:"by"` // person, model
	// TurnID and Step say which step of a turn asked for it, ModelCallID and Label by which id and name of the tool;
	// only with by model. Server and Tool are empty when there is no such tool.
	TurnID      string `json:"turnId,omitempty"`
	Step        int    `json:"step,omitempty"`
	ModelCallID string `json:"modelCallId,omitempty"`
	Label       string `json:"label,omitempty"`
}

// CallStarted is the data of call.started: the request went to the server.
type CallStarted struct {
	CallID string `json:"callId"`
}

// CallProgressed is the data of call.progressed. Reports are coalesced: the newest wins, at most ten a second.
type CallProgressed struct {
	CallID   string   `json:"callId"`
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"`
	Message  string   `json:"message,omitempty"`
}

// Call outcomes.
const (
	OutcomeResult    = "result"
	OutcomeToolError = "tool_error"
	OutcomeError     = "error"
	OutcomeCancelled = "cancelled"
	OutcomeUnknown   = "unknown" // the daemon or the connection went away before the answer
	OutcomeDenied    = "denied"  // a rule or a person said no, so nothing ran
)

// CallFinished is the data of call.finished. Display carries no toolInput and toolResult here: they are
// call.requested's arguments and this event's result.
type CallFinished struct {
	CallID          string          `json:"callId"`
	Outcome         string          `json:"outcome"`
	Result          json.RawMessage `json:"result,omitempty"` // the CallToolResult as sent
	Display         *Display        `json:"display,omitempty"`
	Error           *Error          `json:"error,omitempty"`
	Era             string          `json:"era,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	DurationMs      int64           `json:"durationMs"`
	Warnings        []string        `json:"warnings,omitempty"`
	// OutputBytes is the size of the result's whole text, kept apart, when the result here is only its beginning.
	OutputBytes int `json:"outputBytes,omitempty"`
}

// Display says how a result is shown: text, image, resource or mcp_app. Text, image and resource point at
// the result's content. An mcp_app with empty html was compacted: show fallbackText, mount nothing.
type Display struct {
	Type          string          `json:"type"`
	FallbackText  string          `json:"fallbackText"`
	Problem       string          `json:"problem,omitempty"`
	Server        string          `json:"server,omitempty"`
	Tool          string          `json:"tool,omitempty"`
	ResourceURI   string          `json:"resourceUri,omitempty"`
	HTML          string          `json:"html"`
	CSP           json.RawMessage `json:"csp,omitempty"`
	Permissions   json.RawMessage `json:"permissions,omitempty"`
	PrefersBorder *bool           `json:"prefersBorder,omitempty"`
}

// NoticeRaised is the data of notice.raised: something the person should know.
type NoticeRaised struct {
	Level string `json:"level"` // info, warning, error
	Text  string `json:"text"`
}

// HostChanged is the data of server.changed and catalog.changed.
type HostChanged struct {
	Server   string `json:"server,omitempty"`
	State    string `json:"state,omitempty"`
	Revision uint64 `json:"revision"`
}

// Server is one server as it stands.
type Server struct {
	Name            string          `json:"name"`
	State           string          `json:"state"`
	Since           time.Time       `json:"since"`
	Error           *Error          `json:"error,omitempty"`
	Transport       string          `json:"transport"` // stdio, http, sse, ws
	Era             string          `json:"era,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	ServerName      string          `json:"serverName,omitempty"`
	ServerTitle     string          `json:"serverTitle,omitempty"`
	ServerVersion   string          `json:"serverVersion,omitempty"`
	Instructions    string          `json:"instructions,omitempty"`
	Capabilities    json.RawMessage `json:"capabilities,omitempty"`
	Negotiation     Negotiation     `json:"negotiation"`
	PID             int             `json:"pid,omitempty"`
	Starts          int             `json:"starts"`
	ConnectedMs     int64           `json:"connectedMs"`
	Tools           int             `json:"tools"`
	Prompts         int             `json:"prompts"`
	Resources       int             `json:"resources"`
	Warnings        []string        `json:"warnings,omitempty"`
	Description     string          `json:"description,omitempty"`
	Settings        []Setting       `json:"settings"`
	Rejected        []Rejected      `json:"rejected,omitempty"`
}

// Negotiation tells how the era was chosen.
type Negotiation struct {
	Policy  string `json:"policy"` // legacy, auto
	Probed  bool   `json:"probed"`
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	ProbeMs int64  `json:"probeMs,omitempty"`
}

// Setting is one effective setting of a server and where it came from; secrets are masked.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // "default", or file:line
	// Note says what a person should know about the value before approving it.
	Note string `json:"note,omitempty"`
}

// Rejected is a list item that could not be used.
type Rejected struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ServerList is every server, in configured order.
type ServerList struct {
	Servers []Server `json:"servers"`
}

// Stderr is the tail of a server's standard error.
type Stderr struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// Catalog is everything the ready servers offer.
type Catalog struct {
	Revision  uint64     `json:"revision"`
	Tools     []Tool     `json:"tools"`
	Prompts   []Prompt   `json:"prompts"`
	Resources []Resource `json:"resources"`
	Templates []Template `json:"templates"`
}

// Tool is one tool of the catalog.
type Tool struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Label        string          `json:"label"`
	Title        string          `json:"title"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	AppURI       string          `json:"appUri,omitempty"`
	AppProblem   string          `json:"appProblem,omitempty"`
	ForModel     bool            `json:"forModel"`
}

// Prompt is one prompt of the catalog.
type Prompt struct {
	Server      string           `json:"server"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments"`
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// Resource is one resource of the catalog.
type Resource struct {
	Server      string `json:"server"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"`
}

// Template is one resource template of the catalog.
type Template struct {
	Server      string `json:"server"`
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// ReadRequest reads one resource.
type ReadRequest struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// ReadResponse holds the contents as sent.
type ReadResponse struct {
	Contents []json.RawMessage `json:"contents"`
}

// PromptRequest gets one prompt.
type PromptRequest struct {
	Server    string            `json:"server"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// PromptResponse holds the messages as sent.
type PromptResponse struct {
	Description string            `json:"description,omitempty"`
	Messages    []json.RawMessage `json:"messages"`
}

// CompleteRequest asks for completions of a prompt argument or a template variable.
type CompleteRequest struct {
	Server   string            `json:"server"`
	Prompt   string            `json:"prompt,omitempty"`
	Template string            `json:"template,omitempty"`
	Argument string            `json:"argument"`
	Value    string            `json:"value"`
	Context  map[string]string `json:"context,omitempty"`
}

// CompleteResponse holds at most 100 values.
type CompleteResponse struct {
	Values  []string `json:"values"`
	HasMore bool     `json:"hasMore"`
}

// Health answers GET /healthz: the daemon is alive.
type Health struct {
	Status string `json:"status"` // ok
}

// Status are the daemon's numbers.
type Status struct {
	Version        string    `json:"version"`
	StartedAt      time.Time `json:"startedAt"`
	Servers        int       `json:"servers"`
	ServersReady   int       `json:"serversReady"`
	Sessions       int       `json:"sessions"`
	CallsRunning   int       `json:"callsRunning"`
	EventClients   int       `json:"eventClients"`
	CatalogVersion uint64    `json:"catalogRevision"`
	QuestionsOpen  int       `json:"questionsOpen"`
	TurnsRunning   int       `json:"turnsRunning"`
	// Model answers messages; without one, tools are run by hand.
	Model *ModelStatus `json:"model,omitempty"`
	// SandboxSwap is true when both loopback addresses on the port are this daemon's, so that the page may
	// load app frames from the other loopback name.
	SandboxSwap bool `json:"sandboxSwap"`
	// AppReadyMs is how long an app may take to be ready before its text is shown.
	AppReadyMs int64 `json:"appReadyMs"`
}
