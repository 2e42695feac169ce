package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model"
	"github.com/usher-mcp/usher/internal/nearest"
)

const (
	// defaultMaxSteps bounds the steps of a turn.
	defaultMaxSteps = 50
	// parallelCalls bounds the calls of one step that run at once; the others wait their turn.
	parallelCalls = 8

	byModel  = "model"
	byPerson = "person"
)

// errStepLimit ends a turn that goes on and on.
var errStepLimit = errors.New("too many steps")

// worker carries one turn.
type worker struct {
	*Sessions
	talk    *talk
	id      string
	history *history
	number  int // of the step
	calls   int
	usage   api.Usage
	limit   string
	// factor corrects the estimate of tokens by what the model counted.
	factor float64
	// squeezed: the model refused the conversation as too long, and it was compacted for that.
	squeezed bool
}

// turn answers what the person said, and records how that went.
func (s *Sessions) turn(ctx context.Context, t *talk) {
	began := time.Now()
	resultCap, stepCap := s.caps()
	w := &worker{Sessions: s, talk: t, id: newID(kindTurn), history: newHistory(resultCap, stepCap), factor: 1}
	start := entry(api.EventTurnStarted, api.TurnStarted{TurnID: w.id, Model: s.info.Name})
	start.Opens = w.id
	last := s.tell(ctx, t.session, start)
	if last == 0 {
		s.mu.Lock()
		t.seen = max(t.seen, t.last) // what cannot be recorded cannot be answered
		s.mu.Unlock()
		return
	}
	if s.await != nil && time.Now().Before(s.awaitEnd) {
		waiting, done := context.WithDeadline(ctx, s.awaitEnd)
		s.await(waiting)
		done()
	}
	err := w.steps(ctx, last)
	w.usage.ContextLimit = int64(s.info.ContextTokens)
	data := api.TurnEnded{
		TurnID: w.id, Steps: w.number, Calls: w.calls, DurationMs: time.Since(began).Milliseconds(), Usage: w.usage, Limit: w.limit,
	}
	kind := api.EventTurnFinished
	switch {
	case err == nil:
	case ctx.Err() != nil:
		kind = api.EventTurnCancelled
	default:
		kind, data.Error = api.EventTurnFailed, turnError(err)
		s.log.Warn("turn failed", slog.String("session", t.session), slog.String("turn", w.id), slog.Any("error", err))
	}
	end := entry(kind, data)
	end.Closes = w.id
	s.tell(ctx, t.session, end)
}

// caps are the bounds of results for the model's context.
func (s *Sessions) caps() (result, step int) {
	result, step = resultCap, stepCap
	if c := s.info.ContextTokens; c > 0 {
		result, step = min(result, max(leastCap, c/2)), min(step, max(leastCap, c))
	}
	return result, step
}

// turnError is why a turn failed, for programs and the person.
func turnError(err error) *api.Error {
	var m *model.Error
	switch {
	case errors.As(err, &m):
		return &api.Error{Code: "model_" + string(m.Kind), Message: fmt.Sprintf("The model %s did not answer: %s.", m.Model, strings.TrimSuffix(m.Message, ".")), Hint: m.Hint}
	case errors.Is(err, errStepLimit):
		return &api.Error{Code: "step_limit", Message: err.Error(), Hint: "Send a message to let it go on."}
	default:
		return &api.Error{Code: "internal", Message: "Something went wrong inside Usher; its log says more."}
	}
}

// steps goes from step to step until the model has nothing more to do.
func (w *worker) steps(ctx context.Context, last int64) error {
	for {
		if w.number >= w.maxSteps {
			return fmt.Errorf("the model asked for tools in %d steps, the most that one turn may have: %w", w.number, errStepLimit)
		}
		w.number++
		if err := w.history.catchUp(ctx, w.store, w.talk.session, last); err != nil {
			return err
		}
		next, more, err := w.one(ctx)
		if err != nil || !more {
			return err
		}
		last = next
	}
}

// one makes a step: a request, its answer and the calls that it asks for. last is the newest event then.
func (w *worker) one(ctx context.Context) (last int64, more bool, _ error) {
	change := w.talk.tools.refresh(w.host.Catalog(), w.profile)
	if err := w.makeRoom(ctx); err != nil {
		return 0, false, err
	}
	stepped := entry(api.EventTurnStepped, api.TurnStepped{TurnID: w.id, Step: w.number})
	entries := []Entry{stepped}
	if change.any() {
		entries = []Entry{entry(api.EventToolsChanged, api.ToolsChanged{
			TurnID: w.id, Added: change.added, Removed: change.removed, Changed: change.changed,
		}), stepped}
	}
	last = w.tell(ctx, w.talk.session, entries...)
	if last == 0 {
		return 0, false, errors.New("a step could not be recorded")
	}
	if err := w.history.catchUp(ctx, w.store, w.talk.session, last); err != nil {
		return 0, false, err
	}
	w.told(w.talk, last)

	request := w.request()
	said := newGatherer(w.id, w.number, func(e Entry) { w.tell(ctx, w.talk.session, e) })
	answer, err := w.model.Stream(ctx, request, said.take)
	rest := said.end()
	w.count(answer.Usage)
	if err != nil {
		if len(rest) > 0 {
			w.tell(ctx, w.talk.session, rest...)
		}
		var refused *model.Error
		if ctx.Err() == nil && errors.As(err, &refused) && refused.Kind == model.KindContext && !w.squeezed {
			return w.squeeze(ctx, last, err)
		}
		return 0, false, err
	}
	planned := w.plan(answer.Calls)
	for _, p := range planned {
		rest = append(rest, p.request)
	}
	if len(rest) > 0 {
		if last = w.tell(ctx, w.talk.session, rest...); last == 0 {
			return 0, false, errors.New("an answer could not be recorded")
		}
	}
	if len(planned) == 0 {
		if answer.Finish == model.FinishLength || answer.Finish == model.FinishFilter {
			w.limit = string(answer.Finish)
		}
		return last, w.unanswered(w.talk), nil
	}
	w.calls += len(planned)
	if err := w.history.catchUp(ctx, w.store, w.talk.session, last); err != nil {
		w.abandon(ctx, planned)
		return 0, false, err
	}
	last = max(last, w.runAll(ctx, planned))
	if ctx.Err() != nil {
		return 0, false, context.Cause(ctx)
	}
	return last, true, nil
}

// request is what goes to the model now. Equal histories make equal requests.
func (w *worker) request() model.Request {
	messages := append([]model.Message{model.Text(model.System, systemPrompt(w.servers()))}, w.history.messages()...)
	return model.Request{Messages: messages, Tools: w.talk.tools.block()}
}

// count adds up what the model's server counted.
func (w *worker) count(u model.Usage) {
	if u.Prompt > 0 {
		if estimated := w.estimated(); estimated > 0 {
			w.factor = min(4, max(0.5, float64(u.Prompt)/float64(estimated)))
		}
		w.usage.ContextTokens = int64(u.Prompt + u.Completion)
	}
	w.usage.InputTokens += int64(u.Prompt)
	w.usage.OutputTokens += int64(u.Completion)
	w.usage.CachedTokens += int64(u.Cached)
	w.usage.ReasoningTokens += int64(u.Reasoning)
}

// plannedCall is a call that the model asked for: recorded, not begun.
type plannedCall struct {
	job       *job
	label     string
	arguments json.RawMessage
	request   Entry
	// problem is why it cannot run.
	problem *api.Error
}

// plan makes calls of what the model wrote.
func (w *worker) plan(asked []model.ToolCall) []*plannedCall {
	var (
		list []*plannedCall
		ids  = map[string]bool{}
	)
	for i, one := range asked {
		for ids[one.ID] || one.ID == "" {
			one.ID += fmt.Sprintf("_%d", i+1)
		}
		ids[one.ID] = true
		p := &plannedCall{label: one.Name, arguments: json.RawMessage(strings.TrimSpace(one.Arguments))}
		tool, known := w.talk.tools.find(one.Name)
		switch {
		case one.Name == readOutputName:
			tool = offered{name: readOutputName, title: "Read on in a result"}
		case !known:
			p.problem = w.noTool(one.Name)
			tool.name = one.Name
		}
		if len(p.arguments) == 0 {
			p.arguments = json.RawMessage("{}")
		}
		if p.arguments[0] != '{' || !json.Valid(p.arguments) {
			p.problem = &api.Error{
				Code: string(client.CodeInvalid), Field: "arguments",
				Message: "The arguments are not a JSON object: " + clip(one.Arguments, 500), Hint: "Write them again.",
			}
			p.arguments = json.RawMessage("{}")
		} else if known {
			p.arguments = tool.result.Arguments(p.arguments)
		}
		p.job = &job{
			id: newID(kindCall), session: w.talk.session, done: make(chan struct{}), byModel: true,
			call: Direct{Server: tool.server, Tool: tool.name, Arguments: p.arguments},
		}
		p.request = entry(api.EventCallRequested, api.CallRequested{
			CallID: p.job.id, Server: tool.server, Tool: tool.name, Title: cmp.Or(tool.title, tool.name), Arguments: p.arguments,
			By: byModel, TurnID: w.id, Step: w.number, ModelCallID: one.ID, Label: one.Name,
		})
		p.request.Opens = p.job.id
		list = append(list, p)
	}
	return list
}

func (w *worker) noTool(label string) *api.Error {
	e := &api.Error{Code: string(client.CodeNotFound), Message: fmt.Sprintf("There is no tool %q.", clip(label, 200))}
	labels := make([]string, 0, len(w.talk.tools.tools))
	for _, t := range w.talk.tools.tools {
		labels = append(labels, t.Name)
	}
	if near := nearest.Name(label, labels); near != "" {
		e.Hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return e
}

// runAll runs the calls of a step and returns when each has its end in the log, with the newest event's id.
func (w *worker) runAll(ctx context.Context, planned []*plannedCall) int64 {
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, parallelCalls)
		mu    sync.Mutex
		last  int64
	)
	for _, p := range planned {
		wg.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
			}
			id := w.runOne(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			last = max(last, id)
		})
	}
	wg.Wait()
	return last
}

// runOne brings one call to its end, and returns that event's id.
func (w *worker) runOne(ctx context.Context, p *plannedCall) int64 {
	switch {
	case ctx.Err() != nil:
		return w.conclude(ctx, p, api.CallFinished{Outcome: api.OutcomeCancelled, Error: &api.Error{
			Code: string(client.CodeCancelled), Message: context.Cause(ctx).Error(),
		}})
	case p.problem != nil:
		return w.conclude(ctx, p, api.CallFinished{Outcome: api.OutcomeError, Error: p.problem})
	case p.label == readOutputName:
		text, isError := w.readOutput(ctx, w.talk.session, w.history, p.arguments)
		f := api.CallFinished{
			Outcome: api.OutcomeResult, Display: &api.Display{Type: "text", FallbackText: text},
			Result: encode(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}, "isError": isError}),
		}
		if isError {
			f.Outcome = api.OutcomeToolError
		}
		return w.conclude(ctx, p, f)
	}
	inner, cancel := context.WithCancelCause(ctx)
	p.job.cancel = cancel
	if err := w.enter(p.job); err != nil {
		cancel(nil)
		return w.conclude(ctx, p, api.CallFinished{Outcome: api.OutcomeError, Error: &api.Error{
			Code: "busy", Message: "Too many calls are running.", Hint: "Call fewer tools at once.",
		}})
	}
	defer w.leave(p.job)
	return w.run(inner, p.job)
}

// conclude records the end of a call that never went to a server.
func (w *worker) conclude(ctx context.Context, p *plannedCall, f api.CallFinished) int64 {
	f.CallID = p.job.id
	end := entry(api.EventCallFinished, f)
	end.Closes = p.job.id
	return w.tell(ctx, w.talk.session, end)
}

// abandon ends calls that could not be begun.
func (w *worker) abandon(ctx context.Context, planned []*plannedCall) {
	for _, p := range planned {
		w.conclude(ctx, p, api.CallFinished{Outcome: api.OutcomeError, Error: &api.Error{
			Code: "internal", Message: "Something went wrong inside Usher; its log says more.",
		}})
	}
}
