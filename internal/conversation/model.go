package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/model"
)

// Model answers messages. [model.Client] is one.
type Model interface {
	// Stream sends one step and returns its answer, whose pieces onDelta gets in order as they come. With an error the
	// response holds what had come.
	Stream(ctx context.Context, r model.Request, onDelta func(model.Delta)) (model.Response, error)
}

// ModelInfo tells of a model what requests depend on.
type ModelInfo struct {
	Name string
	// ContextTokens is how many tokens fit into a request and its answer; 0 when that is not known. Conversations that
	// come near it are compacted.
	ContextTokens int
	Vision        bool
}

// ModelInfo tells of the model; false when there is none.
func (s *Sessions) ModelInfo() (ModelInfo, bool) { return s.info, s.model != nil }

// maxSampling bounds the messages of one sampling request, maxSampled the tokens of its answer.
const (
	maxSampling = 100
	maxSampled  = 8192
)

// sample answers sampling/createMessage with the model. It sees the server's messages and nothing of the session
// (SAM-09).
func (s *Sessions) sample(ctx context.Context, request client.Sampling) (json.RawMessage, error) {
	var params struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		SystemPrompt string `json:"systemPrompt"`
		MaxTokens    int    `json:"maxTokens"`
	}
	if err := json.Unmarshal(request.Params, &params); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if len(params.Messages) == 0 || len(params.Messages) > maxSampling {
		return nil, fmt.Errorf("the request has %d messages; want 1 to %d", len(params.Messages), maxSampling)
	}
	r := model.Request{MaxTokens: maxSampled}
	if params.MaxTokens > 0 {
		r.MaxTokens = min(params.MaxTokens, maxSampled)
	}
	if params.SystemPrompt != "" {
		r.Messages = append(r.Messages, model.Text(model.System, params.SystemPrompt))
	}
	for _, m := range params.Messages {
		role := model.User
		if m.Role == "assistant" {
			role = model.Assistant
		}
		parts, err := samplingParts(m.Content)
		if err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, model.Message{Role: role, Parts: parts})
	}
	answer, err := s.model.Stream(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	stop := "endTurn"
	if answer.Finish == model.FinishLength {
		stop = "maxTokens"
	}
	return json.Marshal(map[string]any{
		"role": "assistant", "model": answer.Model, "stopReason": stop,
		"content": map[string]string{"type": "text", "text": answer.Text},
	})
}

// samplingParts reads the content of a message: one block, or several.
func samplingParts(raw json.RawMessage) ([]model.Part, error) {
	type block struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		var one block
		if json.Unmarshal(raw, &one) != nil {
			return nil, errors.New("the request has content that cannot be read")
		}
		blocks = []block{one}
	}
	var parts []model.Part
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, model.Part{Text: b.Text})
		case "image":
			parts = append(parts, model.Part{Image: &model.Image{MIMEType: b.MIMEType, Data: b.Data}})
		default:
			return nil, fmt.Errorf("the request has content of type %.40q, which the model does not take", b.Type)
		}
	}
	return parts, nil
}
