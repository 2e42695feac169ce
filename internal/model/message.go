package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Role is who says a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role
	Parts []Part
	// Calls are what an assistant's message asks for. Each needs a tool's message with its ID after it.
	Calls []ToolCall
	// CallID is the call that a tool's message answers.
	CallID string
}

// Text is a message of one text.
func Text(role Role, text string) Message { return Message{Role: role, Parts: []Part{{Text: text}}} }

// Part is a piece of a message: a text, or an image.
type Part struct {
	Text  string
	Image *Image
}

// Image is an image in base64. A model without vision is told that there was one.
type Image struct {
	MIMEType string
	Data     string
}

// ToolCall is a call that the model asks for. Arguments are what the model wrote: JSON, if it is well.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is an object schema; nil leaves it out.
	Parameters json.RawMessage
	Strict     bool
}

// Request is one step. Equal requests give equal bytes, so that prompt caches hold.
type Request struct {
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the answer; 0 leaves that to the server.
	MaxTokens int
}

// Delta is a piece of an answer as it comes, or news about it. One of its fields is set.
type Delta struct {
	Text      string
	Reasoning string
	Call      *CallDelta
	Retry     *Retry
}

// CallDelta is a fragment of a call. ID and Name are what is known of the call so far.
type CallDelta struct {
	Index     int // of the call in the answer
	ID, Name  string
	Arguments string // the fragment
}

// Retry says that the request is sent again after a wait.
type Retry struct {
	Attempt int // the one that failed, from 1
	Wait    time.Duration
	Err     error
}

// Finish is why an answer ended.
type Finish string

// Why answers end. Servers may have reasons of their own.
const (
	FinishStop    Finish = "stop"
	FinishCalls   Finish = "tool_calls"
	FinishLength  Finish = "length" // MaxTokens or the context is used up
	FinishFilter  Finish = "content_filter"
	FinishUnknown Finish = ""
)

// Usage counts tokens. All are 0 when the server does not say.
type Usage struct {
	Prompt     int // of it Cached
	Completion int // of it Reasoning
	Cached     int
	Reasoning  int
}

// Response is an answer: whole, or with an error as much as came.
type Response struct {
	Text      string
	Reasoning string // never to be sent back
	Calls     []ToolCall
	Finish    Finish
	Usage     Usage
	Model     string // as the server names it
}

// Message is the answer as a message of the conversation. The reasoning is not in it.
func (r Response) Message() Message {
	m := Message{Role: Assistant, Calls: r.Calls}
	if r.Text != "" {
		m.Parts = []Part{{Text: r.Text}}
	}
	return m
}

// The request on the wire.
type (
	wireRequest struct {
		Model               string         `json:"model"`
		Messages            []wireMessage  `json:"messages"`
		Tools               []wireTool     `json:"tools,omitempty"`
		MaxTokens           int            `json:"max_tokens,omitempty"`
		MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
		Stream              bool           `json:"stream"`
		StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	wireMessage struct {
		Role       Role           `json:"role"`
		Content    any            `json:"content"` // a string, parts, or null beside calls
		ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
		ToolCallID string         `json:"tool_call_id,omitempty"`
	}
	wirePart struct {
		Type     string    `json:"type"`
		Text     *string   `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	wireToolCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function wireFunction `json:"function"`
	}
	wireFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	wireTool struct {
		Type     string         `json:"type"`
		Function wireDefinition `json:"function"`
	}
	wireDefinition struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		Strict      bool            `json:"strict,omitempty"`
	}
)

func (c *Client) wire(r Request) wireRequest {
	w := wireRequest{Model: c.config.Name, Stream: true, Messages: make([]wireMessage, 0, len(r.Messages))}
	if !c.noStreamOptions.Load() {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if c.completionTokens.Load() {
		w.MaxCompletionTokens = r.MaxTokens
	} else {
		w.MaxTokens = r.MaxTokens
	}
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{"function", wireDefinition(t)})
	}
	var pending []wirePart // images of tools' messages, which take text only: they follow as a person's
	flush := func() {
		if len(pending) > 0 {
			w.Messages = append(w.Messages, wireMessage{Role: User, Content: pending})
			pending = nil
		}
	}
	for _, m := range r.Messages {
		if m.Role != ToolRole {
			flush()
		}
		parts := c.parts(m)
		if m.Role == ToolRole {
			var texts []wirePart
			for _, p := range parts {
				if p.ImageURL == nil {
					texts = append(texts, p)
					continue
				}
				note := fmt.Sprintf("[image %d of this result follows]", len(pending)/2+1)
				label := fmt.Sprintf("Image %d, of the result of call %s:", len(pending)/2+1, m.CallID)
				texts = append(texts, wirePart{Type: "text", Text: &note})
				pending = append(pending, wirePart{Type: "text", Text: &label}, p)
			}
			parts = texts
		}
		out := wireMessage{Role: m.Role, Content: content(parts), ToolCallID: m.CallID}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, wireToolCall{call.ID, "function", wireFunction{call.Name, call.Arguments}})
		}
		if len(parts) == 0 && len(m.Calls) > 0 {
			out.Content = nil
		}
		w.Messages = append(w.Messages, out)
	}
	flush()
	return w
}

func (c *Client) parts(m Message) []wirePart {
	var parts []wirePart
	for _, p := range m.Parts {
		switch {
		case p.Image == nil:
			parts = append(parts, wirePart{Type: "text", Text: &p.Text})
		case c.config.Vision:
			parts = append(parts, wirePart{Type: "image_url", ImageURL: &imageURL{"data:" + p.Image.MIMEType + ";base64," + p.Image.Data}})
		default:
			note := fmt.Sprintf("[an image, %s, %d bytes, which this model cannot see]", p.Image.MIMEType, len(p.Image.Data)/4*3)
			parts = append(parts, wirePart{Type: "text", Text: &note})
		}
	}
	return parts
}

// content is one string where it can be: some servers know nothing else.
func content(parts []wirePart) any {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text == nil {
			return parts
		}
		texts = append(texts, *p.Text)
	}
	return strings.Join(texts, "\n")
}
