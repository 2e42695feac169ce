package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
)

// maxAnswers bounds the file of --on-question, in bytes.
const maxAnswers = 1 << 20

// answers is what --on-question says: whether the first question ends the run, and answers to choose from.
type answers struct {
	fail bool
	list []presetAnswer
}

// presetAnswer answers the questions that it fits. Empty fields fit every question.
type presetAnswer struct {
	Kind    string          `json:"kind"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Message string          `json:"message"` // a part of the question's message
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// questionPolicy reads the value of --on-question.
func questionPolicy(value string) (answers, error) {
	switch value {
	case "deny":
		return answers{}, nil
	case "fail":
		return answers{fail: true}, nil
	}
	invalid := func(format string, args ...any) (answers, error) {
		return answers{}, &client.Error{
			Code: client.CodeInvalid, Message: "--on-question: " + fmt.Sprintf(format, args...),
			Hint: `want deny, fail or a file such as {"answers": [{"kind": "form", "server": "x", "action": "accept", "content": {}}]}`,
		}
	}
	info, err := os.Stat(value)
	if err != nil {
		return invalid("%v", err)
	}
	if info.Size() > maxAnswers {
		return invalid("%s has more than %d KiB", value, maxAnswers>>10)
	}
	data, err := os.ReadFile(value)
	if err != nil {
		return invalid("%v", err)
	}
	var file struct {
		Answers []presetAnswer `json:"answers"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return invalid("%s: %v", value, err)
	}
	for i, one := range file.Answers {
		if one.Action == "" {
			return invalid("%s: answer %d has no action", value, i+1)
		}
	}
	return answers{list: file.Answers}, nil
}

// to is the answer to a question.
func (p answers) to(q api.QuestionAsked) usher.Answer {
	for _, one := range p.list {
		fits := func(want, got string) bool { return want == "" || want == got }
		if fits(one.Kind, q.Kind) && fits(one.Server, q.Server) && fits(one.Tool, q.Tool) && strings.Contains(q.Message, one.Message) {
			return usher.Answer{Action: one.Action, Content: one.Content}
		}
	}
	return usher.Answer{Action: refusal(q)}
}

// headless follows one turn and answers its questions.
type headless struct {
	*app
	sessions *conversation.Sessions
	policy   answers

	session   string
	texts     map[int]*strings.Builder // by step
	calls     map[string]*runCall
	order     []string
	questions []runQuestion
	asked     bool // a question came, and the policy is fail
	end       api.TurnEnded
	kind      string
}

// run sends the message and follows until its turn has ended.
func (r *headless) run(ctx context.Context, resume, text string) error {
	r.texts, r.calls = map[int]*strings.Builder{}, map[string]*runCall{}
	session, err := r.open(ctx, resume)
	if err != nil {
		return err
	}
	r.session = session.ID
	watch := r.sessions.Watch(session.ID)
	defer watch.Close()
	if _, err := r.sessions.Message(ctx, session.ID, text); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = r.sessions.Cancel(context.WithoutCancel(ctx), session.ID, "") // the end of the turn tells
	})
	defer stop()
	ending := context.WithoutCancel(ctx)
	after := session.LastEventID
	if resume == "" {
		after = 0
	}
	for r.kind == "" {
		events, err := r.sessions.Events(ending, session.ID, after, conversation.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			after = e.ID
			if err := r.event(ending, e); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			<-watch.More() // each turn ends: with the model, or with ctx
		}
	}
	return r.finish(ctx)
}

func (r *headless) open(ctx context.Context, resume string) (conversation.Session, error) {
	if resume == "" {
		return r.sessions.Create(ctx, "")
	}
	found, err := r.sessions.Session(ctx, resume)
	if errors.Is(err, conversation.ErrNotFound) {
		return found, &client.Error{Code: client.CodeNotFound, Message: fmt.Sprintf("there is no session %q", resume)}
	}
	return found, err
}

// event takes in one event: prints it, answers it, remembers what the result tells.
func (r *headless) event(ctx context.Context, e conversation.Event) error {
	if r.json {
		if err := r.printJSON(api.Event{ID: e.ID, Session: e.Session, Time: e.Time, Type: e.Type, Data: e.Data}); err != nil {
			return err
		}
	}
	switch e.Type {
	case api.EventText:
		return with(e, func(t api.TextAppended) error {
			if !t.Reasoning {
				if r.texts[t.Step] == nil {
					r.texts[t.Step] = &strings.Builder{}
				}
				r.texts[t.Step].WriteString(t.Text)
			}
			return nil
		})
	case api.EventCallRequested:
		return with(e, func(c api.CallRequested) error {
			r.calls[c.CallID] = &runCall{Server: c.Server, Tool: c.Tool}
			r.order = append(r.order, c.CallID)
			r.say("%s %s %s", c.Server, c.Tool, line(string(c.Arguments), 120))
			return nil
		})
	case api.EventCallFinished:
		return with(e, func(f api.CallFinished) error {
			if c := r.calls[f.CallID]; c != nil {
				c.Outcome, c.DurationMs = f.Outcome, f.DurationMs
				r.say("%s %s: %s", c.Server, c.Tool, f.Outcome)
			}
			return nil
		})
	case api.EventQuestionAsked:
		return with(e, func(q api.QuestionAsked) error { return r.answer(ctx, q) })
	case api.EventNotice:
		return with(e, func(n api.NoticeRaised) error { r.say("%s", n.Text); return nil })
	case api.EventTurnFinished, api.EventTurnFailed, api.EventTurnCancelled:
		r.kind = e.Type
		return with(e, func(t api.TurnEnded) error { r.end = t; return nil })
	}
	return nil
}

// say notes what goes on, for a person who watches.
func (r *headless) say(format string, args ...any) {
	if !r.json {
		r.note("· "+format, args...)
	}
}

func with[T any](e conversation.Event, do func(T) error) error {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return fmt.Errorf("reading event %d: %w", e.ID, err)
	}
	return do(data)
}

// answer answers a question by the policy. An answer that does not fit is as none: the question is declined.
func (r *headless) answer(ctx context.Context, q api.QuestionAsked) error {
	a := r.policy.to(q)
	a.By = "policy"
	if r.policy.fail {
		r.asked = true
	}
	err := r.sessions.Answer(ctx, q.QuestionID, a)
	if unfit, ok := errors.AsType[*conversation.InvalidError](err); ok {
		r.note("warning: the answer to %q of server %s does not fit: %v", line(q.Message, 80), q.Server, unfit)
		a = usher.Answer{Action: refusal(q), By: "policy"}
		err = r.sessions.Answer(ctx, q.QuestionID, a)
	}
	var late *conversation.SettledError
	if err != nil && !errors.As(err, &late) {
		return err
	}
	r.questions = append(r.questions, runQuestion{Kind: q.Kind, Server: q.Server, Tool: q.Tool, Action: a.Action})
	r.say("asked by %s %s: %s; answered %s", q.Server, q.Tool, line(q.Message, 120), a.Action)
	if r.policy.fail {
		return r.sessions.Cancel(ctx, r.session, "")
	}
	return nil
}

// finish prints the result and returns what the exit code follows from.
func (r *headless) finish(ctx context.Context) error {
	result := runResult{
		Type: "result", Session: r.session, Steps: r.end.Steps, Usage: r.end.Usage, Limit: r.end.Limit, Error: r.end.Error,
		Calls: []runCall{}, Questions: r.questions,
	}
	if result.Questions == nil {
		result.Questions = []runQuestion{}
	}
	for _, id := range r.order {
		result.Calls = append(result.Calls, *r.calls[id])
	}
	if text := r.texts[r.end.Steps]; text != nil {
		result.Text = text.String()
	}
	var err error
	switch {
	case r.asked:
		result.Outcome = "question"
		err = &client.Error{
			Code: client.CodeDenied, Message: "a question came, and --on-question is fail", Server: r.questions[0].Server,
			Hint: "answer it with --on-question FILE, or let the tool run with --allow",
		}
	case r.kind == api.EventTurnFinished:
		result.Outcome = "finished"
	case r.kind == api.EventTurnCancelled:
		result.Outcome = "cancelled"
		if err = context.Cause(ctx); err == nil {
			err = &client.Error{Code: client.CodeCancelled, Message: "the turn was cancelled"}
		}
	default:
		result.Outcome = "failed"
		err = turnFailure(r.end.Error)
	}
	if err != nil && result.Error == nil {
		shape := r.errorShape(err)
		result.Error = &shape
	}
	result.ExitCode = exitCode(ctx, err)
	if !r.json {
		if printErr := r.print(result.Text); printErr != nil {
			return printErr
		}
		return err
	}
	if printErr := r.printJSON(result); printErr != nil {
		return printErr
	}
	if err == nil {
		return nil
	}
	return told{err}
}
