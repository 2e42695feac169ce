package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model"
)

// history is what a model has seen of a session, folded from its log. Nothing else goes into it, so a process that
// starts anew makes the same one.
type history struct {
	// resultCap and stepCap bound results; see [Sessions.caps].
	resultCap, stepCap int

	after int64 // the last event that was taken in
	items []item
	step  *step
	// later waits until the step that is open has ended: the model had not seen it when it began.
	later []item
	calls map[string]*callRecord // by call id
	named map[string]*callRecord // by the name that read_output knows
	turns int
}

// item is a part of the conversation that stays whole: a message, or a step with its calls and their results.
type item struct {
	first, last int64 // its events
	messages    []model.Message
	tokens      int
}

// step is what the model said in one step, as far as the log goes.
type step struct {
	turn        string
	number      int
	first, last int64
	text        strings.Builder
	calls       []*callRecord
}

// callRecord is one call and what became of it.
type callRecord struct {
	api.CallRequested
	name   string // for read_output
	first  int64
	ended  int64 // the event of its end; 0 while it runs
	result model.Message
	size   int // of its whole text
}

func newHistory(resultCap, stepCap int) *history {
	return &history{resultCap: resultCap, stepCap: stepCap, calls: map[string]*callRecord{}, named: map[string]*callRecord{}}
}

// catchUp folds the events up to and including the given one.
func (h *history) catchUp(ctx context.Context, store Store, session string, through int64) error {
	for h.after < through {
		events, err := store.Events(ctx, session, h.after, MaxPage, pageBytes)
		if err != nil {
			return fmt.Errorf("reading session %s: %w", session, err)
		}
		if len(events) == 0 {
			return nil
		}
		for _, e := range events {
			if e.ID > through {
				return nil
			}
			if err := h.take(e); err != nil {
				return fmt.Errorf("event %d of session %s: %w", e.ID, session, err)
			}
		}
	}
	return nil
}

// take folds one event.
func (h *history) take(e Event) error {
	h.after = e.ID
	switch e.Type {
	case api.EventMessage:
		return with(e, func(m api.MessageReceived) { h.say(e.ID, m.Text) })
	case api.EventToolsChanged:
		return with(e, func(c api.ToolsChanged) { h.say(e.ID, changeText(c)) })
	case api.EventTurnStepped:
		return with(e, func(s api.TurnStepped) {
			h.closeStep("")
			h.step = &step{turn: s.TurnID, number: s.Step, first: e.ID, last: e.ID}
		})
	case api.EventText:
		return with(e, func(t api.TextAppended) {
			if h.step != nil && !t.Reasoning {
				h.step.text.WriteString(t.Text)
				h.step.last = e.ID
			}
		})
	case api.EventCallRequested:
		return with(e, func(c api.CallRequested) { h.request(e.ID, c) })
	case api.EventCallFinished:
		return with(e, func(f api.CallFinished) { h.finish(e.ID, f) })
	case api.EventTurnFinished:
		h.turns++
		h.closeStep("")
	case api.EventTurnFailed:
		return with(e, func(t api.TurnEnded) {
			h.turns++
			h.closeStep("[Usher: this answer broke off here.]")
		})
	case api.EventTurnCancelled:
		h.turns++
		h.closeStep("[Usher: the person stopped this answer here.]")
	case api.EventSessionCompacted:
		return with(e, func(c api.SessionCompacted) {
			if c.Summary != "" {
				h.closeStep("")
				h.replace(e.ID, c)
			}
		})
	}
	return nil
}

func with[T any](e Event, do func(T)) error {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	do(data)
	return nil
}

// say adds a person's message, or a note that stands where one could.
func (h *history) say(id int64, text string) {
	h.add(item{first: id, last: id, messages: []model.Message{model.Text(model.User, text)}})
}

func (h *history) add(i item) {
	for _, m := range i.messages {
		i.tokens += messageTokens(m)
	}
	if h.step != nil {
		h.later = append(h.later, i)
		return
	}
	h.items = append(h.items, i)
}

func messageTokens(m model.Message) int {
	n := 4
	for _, p := range m.Parts {
		if p.Image != nil {
			n += imageTokens
		}
		n += estimate(p.Text)
	}
	for _, c := range m.Calls {
		n += 8 + estimate(c.Name) + estimate(c.Arguments)
	}
	return n
}

func (h *history) request(id int64, c api.CallRequested) {
	r := &callRecord{CallRequested: c, first: id, name: fmt.Sprintf("call-%d", len(h.calls)+1)}
	h.calls[c.CallID], h.named[r.name] = r, r
	if c.By == byModel && h.step != nil {
		h.step.calls = append(h.step.calls, r)
		h.step.last = id
	}
}

func (h *history) finish(id int64, f api.CallFinished) {
	r := h.calls[f.CallID]
	if r == nil || r.ended != 0 {
		return
	}
	r.ended = id
	v := view{text: endText(f)}
	if f.Outcome == api.OutcomeResult || f.Outcome == api.OutcomeToolError {
		v = viewOf(f.Result)
	}
	r.size = max(len(v.text), f.OutputBytes)
	if f.OutputBytes > 0 {
		v.text = capHead(v.text, f.OutputBytes, h.resultCap/2, r.name)
	}
	if r.By != byModel || h.step == nil {
		h.ran(id, r, v)
		return
	}
	h.step.last = id
	limit := max(leastCap, min(h.resultCap, h.stepCap/max(1, len(h.step.calls))))
	if r.Label == readOutputName {
		limit = max(limit, h.resultCap) // it was asked for, and is bounded already
	}
	r.result = model.Message{Role: model.ToolRole, CallID: r.ModelCallID, Parts: parts(v, limit, r.name)}
}

// ran tells of a tool that the person ran by themselves.
func (h *history) ran(id int64, r *callRecord, v view) {
	head := fmt.Sprintf("[Usher: the person ran the tool %q of server %q themselves, with %s. This came of it:]",
		r.Tool, r.Server, clip(string(r.Arguments), 1000))
	list := append([]model.Part{{Text: head}}, parts(v, min(directCap, h.resultCap), r.name)...)
	h.add(item{first: r.first, last: id, messages: []model.Message{{Role: model.User, Parts: list}}})
}

func parts(v view, limit int, name string) []model.Part {
	var list []model.Part
	if v.text != "" {
		list = append(list, model.Part{Text: capText(v.text, limit, name)})
	}
	for _, image := range v.images {
		list = append(list, model.Part{Image: &image})
	}
	return list
}

// closeStep makes an item of the open step. Each of its calls has a result in it: without one the API refuses the
// whole conversation. note is added to an answer that broke off.
func (h *history) closeStep(note string) {
	s := h.step
	h.step = nil
	if s != nil {
		i := item{first: s.first, last: s.last}
		text := s.text.String()
		if note != "" && text != "" {
			text += "\n\n" + note
		}
		if text != "" || len(s.calls) > 0 {
			m := model.Message{Role: model.Assistant}
			if text != "" {
				m.Parts = []model.Part{{Text: text}}
			}
			i.messages = []model.Message{m}
			for _, c := range s.calls {
				i.messages[0].Calls = append(i.messages[0].Calls, model.ToolCall{ID: c.ModelCallID, Name: c.Label, Arguments: string(c.Arguments)})
				if c.ended == 0 {
					c.result = model.Text(model.ToolRole, endText(api.CallFinished{Outcome: api.OutcomeUnknown}))
					c.result.CallID = c.ModelCallID
				}
				i.messages = append(i.messages, c.result)
			}
			h.add(i)
		}
	}
	h.items = append(h.items, h.later...)
	h.later = nil
}

// replace puts a summary in the place of what it sums up.
func (h *history) replace(id int64, c api.SessionCompacted) {
	text := "[Usher: to make room, the conversation up to here was replaced by this summary.]\n\n" + c.Summary
	summary := item{first: id, last: c.Summarized, messages: []model.Message{model.Text(model.User, text)}}
	summary.tokens = messageTokens(summary.messages[0])
	kept := []item{summary}
	for _, i := range h.items {
		if i.last > c.Summarized {
			kept = append(kept, i)
		}
	}
	h.items = kept
}

// messages are the conversation as a request has it: two messages of the person in a row are one, since some models
// want the roles to alternate.
func (h *history) messages() []model.Message {
	var list []model.Message
	for _, i := range h.items {
		for _, m := range i.messages {
			if n := len(list); n > 0 && m.Role == model.User && list[n-1].Role == model.User {
				list[n-1].Parts = slices.Concat(list[n-1].Parts, m.Parts)
				continue
			}
			list = append(list, m)
		}
	}
	return list
}

func (h *history) tokens() int {
	n := 0
	for _, i := range h.items {
		n += i.tokens
	}
	return n
}

// changeText tells a model of tools that came and went.
func changeText(c api.ToolsChanged) string {
	var b strings.Builder
	b.WriteString("[Usher: the tools have changed.")
	for _, one := range []struct {
		words string
		names []string
	}{{"New", c.Added}, {"Gone", c.Removed}, {"Defined anew", c.Changed}} {
		if len(one.names) > 0 {
			fmt.Fprintf(&b, " %s: %s.", one.words, strings.Join(one.names, ", "))
		}
	}
	return b.String() + "]"
}
