package api

import (
	"encoding/json"
	"time"
)

// Event types of turns, of the model's calls and of questions.
const (
	EventTurnStarted      = "turn.started"
	EventTurnStepped      = "turn.stepped"
	EventTurnFinished     = "turn.finished"
	EventTurnFailed       = "turn.failed"
	EventTurnCancelled    = "turn.cancelled"
	EventText             = "text.appended"
	EventToolsChanged     = "tools.changed"
	EventCallApproved     = "call.approved"
	EventCallDenied       = "call.denied"
	EventQuestionAsked    = "question.asked"
	EventQuestionAnswered = "question.answered"
	EventQuestionExpired  = "question.expired"
)

// TurnStarted is the data of turn.started: the model works on what the person said. Exactly one of turn.finished,
// turn.failed and turn.cancelled follows.
type TurnStarted struct {
	TurnID string `json:"turnId"`
	Model  string `json:"model"`
}

// TurnStepped is the data of turn.stepped: a request goes to the model. Steps of a turn count from 1.
type TurnStepped struct {
	TurnID string `json:"turnId"`
	Step   int    `json:"step"`
}

// TurnEnded is the data of turn.finished, turn.failed and turn.cancelled. Failed turns have an error. Limit says which
// bound of the model cut the last answer short: length, or content_filter.
type TurnEnded struct {
	TurnID     string `json:"turnId"`
	Steps      int    `json:"steps"`
	Calls      int    `json:"calls"`
	DurationMs int64  `json:"durationMs"`
	Usage      Usage  `json:"usage"`
	Limit      string `json:"limit,omitempty"`
	Error      *Error `json:"error,omitempty"`
}

// Usage counts tokens as the model's server told them, all steps of a turn together. All are 0 where it told none.
type Usage struct {
	InputTokens     int64 `json:"inputTokens"`
	CachedTokens    int64 `json:"cachedTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	ReasoningTokens int64 `json:"reasoningTokens"`
	// ContextTokens is what the last step took of the model's context, ContextLimit how much there is; 0 is unknown.
	ContextTokens int64 `json:"contextTokens"`
	ContextLimit  int64 `json:"contextLimit"`
}

// TextAppended is the data of text.appended: the model said more. What it says is gathered for a moment first, so one
// answer is a few of these. The answer of a step is the texts of that step together, reasoning apart.
type TextAppended struct {
	TurnID    string `json:"turnId"`
	Step      int    `json:"step"`
	Text      string `json:"text"`
	Reasoning bool   `json:"reasoning,omitempty"` // Text is what the model thought on the way, not its answer
}

// ToolsChanged is the data of tools.changed: the model is told, with its next step, that the tools are others now.
// Names are the labels that models see.
type ToolsChanged struct {
	TurnID  string   `json:"turnId"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// CallDecided is the data of call.approved and call.denied: whether a call of the model may run, and what decided. After
// call.denied comes call.finished with the outcome denied.
type CallDecided struct {
	CallID string `json:"callId"`
	Source string `json:"source"` // deny_rule, excludeTools, includeTools, allow_rule, alwaysAllow, readOnlyHint, session, remembered, mode, person, nobody
	Reason string `json:"reason"` // a sentence for the person
	Rule   string `json:"rule,omitempty"`
}

// Kinds of questions.
const (
	QuestionPermission = "permission" // may this tool run?
	QuestionForm       = "form"       // fill this form
	QuestionURL        = "url"        // open this address
	QuestionSampling   = "sampling"   // may the server ask the model this?
	QuestionLogin      = "login"      // log in to this server
)

// QuestionAsked is the data of question.asked: something only a person can say. Exactly one of question.answered and
// question.expired follows, and the first answer counts. Message, Title, Description, Annotations, Schema and URL are
// the server's own words.
type QuestionAsked struct {
	QuestionID  string `json:"questionId"`
	Kind        string `json:"kind"`
	CallID      string `json:"callId,omitempty"`
	Server      string `json:"server"`
	Tool        string `json:"tool,omitempty"`
	Title       string `json:"title,omitempty"` // of the tool
	Description string `json:"description,omitempty"`
	Message     string `json:"message"`
	// Schema is a form's flat JSON Schema; its order of properties counts.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`  // whole, to be shown whole
	Host   string          `json:"host,omitempty"` // of the URL, to be shown clearly
	// Arguments of the call that wants to run, Annotations what the server claims about the tool.
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// Difference is what the server changed about a tool that was allowed before.
	Difference []Difference `json:"difference,omitempty"`
	// Sampling is the request that the server wants put to the model (the params of sampling/createMessage).
	Sampling json.RawMessage `json:"sampling,omitempty"`
	// Warnings are what the person should notice before answering.
	Warnings []string `json:"warnings,omitempty"`
	// Round counts from 1 how often the call has asked; 0 when that is not known.
	Round int `json:"round,omitempty"`
	// Allowed are the actions an answer may have: once, session, always, no for permission; accept, decline, cancel
	// for a form or a URL; once, no for sampling.
	Allowed   []string  `json:"allowed"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Difference is one change between two definitions of a tool.
type Difference struct {
	Where  string `json:"where"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// QuestionAnswered is the data of question.answered. Content is the filled form; it is left out of the log when a field
// looks like a secret.
type QuestionAnswered struct {
	QuestionID string          `json:"questionId"`
	Action     string          `json:"action"`
	By         string          `json:"by"` // which surface, such as webshell, or policy
	Content    json.RawMessage `json:"content,omitempty"`
}

// QuestionExpired is the data of question.expired: nobody can answer any more.
type QuestionExpired struct {
	QuestionID string `json:"questionId"`
	Reason     string `json:"reason"` // deadline, withdrawn (its call has ended), restarted (Usher has ended since)
}

// AnswerRequest answers a question. Action is one of the question's allowed ones, Content the filled form with accept.
// By names the surface for others to see, such as webshell; empty is api.
type AnswerRequest struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
	By      string          `json:"by,omitempty"`
}

// ModelStatus is the model that answers messages.
type ModelStatus struct {
	Name          string `json:"name"`
	ContextTokens int64  `json:"contextTokens"` // 0 is unknown
	Vision        bool   `json:"vision"`
}
