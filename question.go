package usher

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/permission"
)

// QuestionKind says what a question is about.
type QuestionKind string

// The kinds of questions.
const (
	QuestionPermission QuestionKind = "permission" // may this tool run?
	QuestionForm       QuestionKind = "form"       // fill this form
	QuestionURL        QuestionKind = "url"        // open this address
	QuestionSampling   QuestionKind = "sampling"   // may the server ask the model this?
	QuestionLogin      QuestionKind = "login"      // log in to this server
)

// DefaultAskTime is how long a question waits for its answer.
const DefaultAskTime = 30 * time.Minute

// Question is something that only a person can say. It is plain data; whoever shows it must not change it.
type Question struct {
	// ID is unique and cannot be guessed. It is good for one answer.
	ID   string
	Kind QuestionKind
	// Owner and CallID are those of the [Call] that the question belongs to.
	Owner, CallID string
	Server        string
	Tool          string
	// Title, Description and Annotations are what the server says of the tool: its own claims.
	Title, Description string
	Annotations        json.RawMessage
	// Message is the server's text, or for a permission the sentence that says why a person is asked.
	Message string
	// Schema is the form's flat JSON Schema as sent (ELI-04).
	Schema json.RawMessage
	// URL is to be shown whole, with Host clear to see, and opened by the person alone (ELI-12 to ELI-15).
	URL, Host string
	// Arguments are those that the call wants to run with.
	Arguments json.RawMessage
	// Difference is what the server changed about a tool that was allowed before.
	Difference []permission.Change
	// Sampling holds the params of sampling/createMessage as sent.
	Sampling json.RawMessage
	// Warnings are sentences that the person should read before answering (ELI-11, ELI-16).
	Warnings []string
	// Secret says that a field of the form looks like one for a secret: the answer is not to be logged.
	Secret bool
	// Round counts from 1 how often the call has asked for input; 0 when that is not known (MRTR-21).
	Round int
	// Allowed are the actions an answer may have.
	Allowed []string
	// Deadline is when nobody waits for the answer any more.
	Deadline time.Time
}

// Answer is what a person said.
type Answer struct {
	// Action is one of the question's Allowed: a [permission.Answer] for a permission or for sampling, else accept,
	// decline or cancel.
	Action string
	// Content is the filled form, a JSON object; only with accept.
	Content json.RawMessage
	// By names the surface that answered.
	By string
}

// FieldError says what is wrong with an answer.
type FieldError struct {
	Field  string // action, content, or content.NAME
	Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Check says what is wrong with an answer, a [*FieldError], or nil: the action must be allowed, and a filled form
// must fit its schema and hold nothing that the schema does not name (ELI-06, ELI-07).
func (q Question) Check(a Answer) error {
	if !slices.Contains(q.Allowed, a.Action) {
		return &FieldError{"action", "want one of " + strings.Join(q.Allowed, ", ")}
	}
	if q.Kind != QuestionForm || a.Action != client.ActionAccept {
		if len(bytes.TrimSpace(a.Content)) > 0 {
			return &FieldError{"content", "only a form that is accepted has content"}
		}
		return nil
	}
	return checkAnswer(q.Schema, a.Content)
}

var (
	errNobodyAnswers = errors.New("nobody answered in time")
	errNobodyToAsk   = errors.New("nobody can be asked")
	errCallEnded     = errors.New("the call has ended")
)

// scope is what a question of a server is attributed by: the call whose ctx carries it.
type scope struct {
	owner, call, tool, title string
	// running ends with the call, and its questions with it: a legacy server may not withdraw them.
	running context.Context //nolint:containedctx // only its end is of interest
}

type scopeKey struct{}

// ask puts a question to the person and checks the answer.
func (h *Host) ask(ctx context.Context, q Question) (Answer, error) {
	if h.asker == nil {
		return Answer{}, errNobodyToAsk
	}
	q.ID = "q_" + strings.ToLower(rand.Text())
	q.Deadline = time.Now().Add(h.askTime)
	ctx, cancel := context.WithDeadlineCause(ctx, q.Deadline, errNobodyAnswers)
	defer cancel()
	if in, known := ctx.Value(scopeKey{}).(scope); known {
		inCall, leave := context.WithCancelCause(ctx)
		defer leave(nil)
		stop := context.AfterFunc(in.running, func() { leave(errCallEnded) })
		defer stop()
		ctx = inCall
	}
	a, err := h.asker(ctx, q)
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case err != nil:
		return Answer{}, err
	}
	return a, q.Check(a)
}

// handler answers the questions of one server's session. What nobody could answer is not offered to the server.
func (s *server) handler() *client.Handler {
	h := &client.Handler{}
	if s.h.asker != nil {
		h.Elicit, h.ElicitURL = s.elicit, true
	}
	if s.h.asker != nil && s.h.sample != nil {
		h.Sample = s.sampling
	}
	if s.h.roots != nil {
		h.Roots = func(ctx context.Context) ([]client.Root, error) {
			in, _ := ctx.Value(scopeKey{}).(scope)
			return s.h.roots(ctx, in.owner)
		}
	}
	return h
}

// elicit asks the person to fill a form or to open a URL. What cannot be attributed to a call, or shown, is declined,
// and the server's warnings say why.
func (s *server) elicit(ctx context.Context, e client.Elicitation) (client.ElicitAnswer, error) {
	decline := client.ElicitAnswer{Action: client.ActionDecline}
	in, known := ctx.Value(scopeKey{}).(scope)
	if !known {
		s.remark("a question was declined, because it could not be told which call it belongs to")
		return decline, nil
	}
	q := Question{
		Kind: QuestionForm, Owner: in.owner, CallID: in.call, Server: s.spec.Name, Tool: in.tool, Title: in.title,
		Message: e.Message, Schema: e.Schema, Round: e.Round,
		Allowed: []string{client.ActionAccept, client.ActionDecline, client.ActionCancel},
	}
	var err error
	if e.Mode == "url" {
		q.Kind, q.URL = QuestionURL, e.URL
		q.Host, q.Warnings, err = checkURL(e.URL)
	} else {
		q.Secret, q.Warnings, err = checkForm(e.Schema)
	}
	if err != nil {
		s.remark(fmt.Sprintf("a question of %q was declined: %v", in.tool, err))
		return decline, nil
	}
	a, err := s.h.ask(ctx, q)
	if err != nil {
		return client.ElicitAnswer{}, err // cancels the question
	}
	return client.ElicitAnswer{Action: a.Action, Content: a.Content}, nil
}

// sampling asks the person whether the server may ask the model, and then the model (SAM-07).
func (s *server) sampling(ctx context.Context, request client.Sampling) (json.RawMessage, error) {
	in, known := ctx.Value(scopeKey{}).(scope)
	if !known {
		s.remark("a request to the model was refused, because it could not be told which call it belongs to")
		return nil, errors.New("it belongs to no call")
	}
	a, err := s.h.ask(ctx, Question{
		Kind: QuestionSampling, Owner: in.owner, CallID: in.call, Server: s.spec.Name, Tool: in.tool, Title: in.title,
		Message:  fmt.Sprintf("Server %q wants to ask the model something.", s.spec.Name),
		Sampling: request.Params, Round: request.Round,
		Allowed: []string{string(permission.Once), string(permission.No)},
	})
	if err != nil {
		return nil, err
	}
	if a.Action != string(permission.Once) {
		return nil, errors.New("the person refused")
	}
	return s.h.sample(ctx, in.owner, request)
}

// maxRemarks bounds what a server's warnings keep of its questions.
const maxRemarks = 8

// remark keeps a sentence among the server's warnings, once.
func (s *server) remark(text string) {
	s.h.log.Warn("a server's question was not put", "server", s.spec.Name, "reason", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.remarks) < maxRemarks && !slices.Contains(s.remarks, text) {
		s.remarks = append(s.remarks, text)
		s.setLocked(func(*ServerStatus) {})
	}
}
