package model

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/usher-mcp/usher/internal/sse"
)

const (
	maxEvent  = 8 << 20  // bytes of one event
	maxAnswer = 32 << 20 // bytes of text, reasoning and arguments
	maxCalls  = 128
)

// answer puts one answer together.
type answer struct {
	client  *Client
	onDelta func(Delta)

	text, reasoning strings.Builder
	calls           []*partialCall
	finish          *string
	usage           Usage
	model           string
	size            int
	split           thinkSplitter
	// delivered: something was passed on, so the request cannot be sent again.
	delivered bool
}

type partialCall struct {
	id, name  string
	index     *int
	arguments strings.Builder
}

// The answer on the wire: an event of a stream, or all of it.
type (
	chunk struct {
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   *wireUsage      `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	choice struct {
		Index        int     `json:"index"`
		Delta        *piece  `json:"delta"`
		Message      *piece  `json:"message"`
		FinishReason *string `json:"finish_reason"`
	}
	piece struct {
		Content          json.RawMessage `json:"content"`           // a text, or parts
		ReasoningContent json.RawMessage `json:"reasoning_content"` // DeepSeek, llama.cpp, and others
		Reasoning        json.RawMessage `json:"reasoning"`         // OpenRouter, vLLM, Ollama
		Refusal          string          `json:"refusal"`
		ToolCalls        []struct {
			Index    *int   `json:"index"`
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"` // a text; from some servers an object
			} `json:"function"`
		} `json:"tool_calls"`
	}
	wireUsage struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// readStream reads events until the answer is whole. A stream that ends before is an error.
func (a *answer) readStream(r io.Reader) error {
	events := sse.NewReader(r, maxEvent)
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && a.finish != nil:
			return a.end()
		case errors.Is(err, io.EOF):
			return a.client.fail(KindStream, 0, "the answer broke off before its end", "Try again; if it happens every time, check that model.baseUrl is right.")
		case errors.Is(err, sse.ErrTooLarge):
			return a.client.fail(KindTooLarge, 0, fmt.Sprintf("an event of the answer is larger than %d bytes", maxEvent), "")
		case err != nil:
			if a.finish != nil { // the answer is whole; what is missing is the goodbye
				return a.end()
			}
			broken := a.client.network(err)
			broken.Kind = KindStream
			return broken
		}
		data := bytes.TrimSpace(e.Data)
		if string(data) == "[DONE]" {
			return a.end()
		}
		if err := a.take(data); err != nil {
			return err
		}
	}
}

// readWhole reads the answer of a server that does not stream.
func (a *answer) readWhole(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		broken := a.client.network(err)
		broken.Kind = KindStream
		return broken
	}
	if len(data) > maxAnswer {
		return a.tooLarge()
	}
	if err := a.take(data); err != nil {
		return err
	}
	if a.finish == nil {
		return a.client.fail(KindAddress, 0, "the answer is not one of a model", "Check model.baseUrl: it usually ends in /v1.")
	}
	return a.end()
}

func (a *answer) tooLarge() error {
	return a.client.fail(KindTooLarge, 0, fmt.Sprintf("the answer is larger than %d bytes", maxAnswer), "")
}

func (a *answer) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return a.client.fail(KindStream, 0, "the answer cannot be read: "+err.Error(), "Check that model.baseUrl is that of an OpenAI-compatible server.")
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		e := readError(data)
		if e.message == "" {
			e.message = string(c.Error)
		}
		return a.client.classify(0, e)
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if u := c.Usage; u != nil {
		a.usage = Usage{u.Prompt, u.Completion, u.PromptDetails.Cached, u.CompletionDetails.Reasoning}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		for _, p := range []*piece{ch.Delta, ch.Message} {
			if p == nil {
				continue
			}
			if err := a.piece(p); err != nil {
				return err
			}
		}
		if ch.FinishReason != nil && *ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
	}
	return nil
}

func (a *answer) piece(p *piece) error {
	reasoning := plainText(p.ReasoningContent)
	if reasoning == "" {
		reasoning = plainText(p.Reasoning)
	}
	text, thought := parts(p.Content)
	a.pass("", reasoning+thought)
	a.pass(a.split.next(text + p.Refusal))
	for _, tc := range p.ToolCalls {
		if err := a.call(tc.Index, tc.ID, tc.Function.Name, tc.Function.Arguments); err != nil {
			return err
		}
	}
	if a.size > maxAnswer {
		return a.tooLarge()
	}
	return nil
}

func (a *answer) pass(text, reasoning string) {
	a.size += len(text) + len(reasoning)
	if reasoning != "" {
		a.reasoning.WriteString(reasoning)
		a.delivered = true
		a.onDelta(Delta{Reasoning: reasoning})
	}
	if text != "" {
		a.text.WriteString(text)
		a.delivered = true
		a.onDelta(Delta{Text: text})
	}
}

// call takes a fragment of a call. Servers tell calls apart by index, by id, or by nothing but their order.
func (a *answer) call(index *int, id, name string, raw json.RawMessage) error {
	var c *partialCall
	at := -1
	for i, known := range a.calls {
		switch {
		case id != "" && known.id == id,
			index != nil && known.index != nil && *index == *known.index && (id == "" || known.id == ""):
			c, at = known, i
		}
	}
	if c == nil && index == nil && id == "" && name == "" && len(a.calls) > 0 {
		at = len(a.calls) - 1
		c = a.calls[at]
	}
	if c == nil {
		if len(a.calls) >= maxCalls {
			return a.client.fail(KindTooLarge, 0, fmt.Sprintf("the answer asks for more than %d calls", maxCalls), "")
		}
		c, at = &partialCall{index: index}, len(a.calls)
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = id
	}
	if c.name == "" {
		c.name = name
	}
	fragment := string(raw)
	if len(raw) > 0 && (raw[0] == '"' || string(raw) == "null") {
		fragment = plainText(raw)
	}
	a.size += len(fragment) + len(name)
	c.arguments.WriteString(fragment)
	a.delivered = true
	a.onDelta(Delta{Call: &CallDelta{Index: at, ID: c.id, Name: c.name, Arguments: fragment}})
	return nil
}

// end passes on what was held back.
func (a *answer) end() error {
	a.pass(a.split.rest())
	if a.finish == nil && !a.delivered {
		return a.client.fail(KindStream, 0, "the answer is empty", "Try again.")
	}
	return nil
}

func (a *answer) response() Response {
	r := Response{Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.usage, Model: a.model}
	if a.finish != nil {
		r.Finish = Finish(*a.finish)
	}
	for _, c := range a.calls {
		if c.id == "" {
			c.id = "call_" + rand.Text()
		}
		arguments := c.arguments.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		r.Calls = append(r.Calls, ToolCall{ID: c.id, Name: c.name, Arguments: arguments})
	}
	if len(r.Calls) > 0 && (r.Finish == FinishStop || r.Finish == "function_call") {
		r.Finish = FinishCalls // some servers say stop
	}
	return r
}

func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// parts reads content, which is a text or a list of texts and thoughts.
func parts(raw json.RawMessage) (text, thought string) {
	if len(raw) == 0 || raw[0] != '[' {
		return plainText(raw), ""
	}
	var list []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	for _, p := range list {
		text += p.Text
		if len(p.Thinking) > 0 {
			inner, _ := parts(p.Thinking)
			thought += inner
		}
	}
	return text, thought
}

// thinkSplitter takes reasoning out of a text that begins with <think>, as some local models write it.
type thinkSplitter struct {
	state int // 0: at the start, 1: thinking, 2: text
	held  string
}

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// next takes a piece of text and returns what is known of it now.
func (t *thinkSplitter) next(piece string) (text, reasoning string) {
	t.held += piece
	if t.state == 0 {
		start := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(start, thinkOpen):
			t.state, t.held = 1, start[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, start) && len(t.held) < 1000:
			return "", ""
		default:
			t.state = 2
		}
	}
	if t.state == 1 {
		if thought, after, closed := strings.Cut(t.held, thinkClose); closed {
			t.state, t.held = 2, ""
			return strings.TrimLeft(after, " \t\r\n"), thought
		}
		keep := 0
		for n := min(len(thinkClose)-1, len(t.held)); n > 0; n-- {
			if strings.HasSuffix(t.held, thinkClose[:n]) {
				keep = n
				break
			}
		}
		cut := len(t.held) - keep
		reasoning, t.held = t.held[:cut], t.held[cut:]
		return "", reasoning
	}
	text, t.held = t.held, ""
	return text, ""
}

// rest is what was held back, now that nothing follows.
func (t *thinkSplitter) rest() (text, reasoning string) {
	held := t.held
	t.held = ""
	if t.state == 1 {
		return "", held
	}
	return held, ""
}
