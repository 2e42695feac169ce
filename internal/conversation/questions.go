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
	"unicode/utf8"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
)

const (
	// questionsPerSession bounds what may wait for one person at a time, so that a server cannot flood them (ELI-24).
	questionsPerSession = 32
	// settledKept is how many answered questions are remembered, to tell who was first.
	settledKept = 1024
	maxSurface  = 40
	// claimPause is between two looks at an answer that is being recorded, which takes settleTime at most.
	claimPause = 10 * time.Millisecond
)

// Why a question ended without an answer.
const (
	expiredDeadline  = "deadline"
	expiredWithdrawn = "withdrawn"
	expiredRestarted = "restarted"
)

// SettledError is an answer that came too late.
type SettledError struct {
	// Action and By are those of the answer that counts; both are empty when the question expired, for the Reason.
	Action, By, Reason string
	At                 time.Time
}

func (e *SettledError) Error() string {
	if e.Action == "" {
		switch e.Reason {
		case expiredDeadline:
			return "The question was not answered in time, so it is closed."
		default:
			return "The question is closed, because its call has ended."
		}
	}
	return fmt.Sprintf("The question was answered with %q by %s before.", e.Action, e.By)
}

// Desk is where questions to a person wait. It is made before the host that asks and the sessions that tell, and joins
// the two: its Ask and Sample are options of the host, and it is itself one of [Open].
type Desk struct {
	mu       sync.Mutex
	sessions *Sessions // nil before Open
	open     map[string]*question
	waiting  map[string]int // by session
	settled  map[string]*SettledError
	order    []string // keys of settled, the oldest first
}

// question is one that waits.
type question struct {
	usher.Question
	answer  chan usher.Answer // holds the answer that counts
	claimed bool              // an answer is being recorded
}

// NewDesk returns a desk without questions.
func NewDesk() *Desk {
	return &Desk{open: map[string]*question{}, waiting: map[string]int{}, settled: map[string]*SettledError{}}
}

var errNoSession = errors.New("it belongs to no session that a person could see")

// Ask records a question in its owner's session and waits for the answer, or for the end of ctx.
func (d *Desk) Ask(ctx context.Context, q usher.Question) (usher.Answer, error) {
	d.mu.Lock()
	s := d.sessions
	switch {
	case s == nil || q.Owner == "":
		d.mu.Unlock()
		return usher.Answer{}, errNoSession
	case d.waiting[q.Owner] >= questionsPerSession:
		d.mu.Unlock()
		return usher.Answer{}, fmt.Errorf("%d questions wait already", questionsPerSession)
	}
	waits := &question{Question: q, answer: make(chan usher.Answer, 1)}
	d.open[q.ID] = waits
	d.waiting[q.Owner]++
	d.mu.Unlock()

	asked := entry(api.EventQuestionAsked, wireQuestion(q))
	asked.Opens = q.ID
	if err := s.keep(ctx, q.Owner, asked); err != nil {
		d.settle(q.ID, &SettledError{Reason: expiredWithdrawn, At: now()})
		return usher.Answer{}, errNoSession
	}
	select {
	case a := <-waits.answer:
		return a, nil
	case <-ctx.Done():
	}
	reason := expiredWithdrawn
	if !time.Now().Before(q.Deadline) {
		reason = expiredDeadline
	}
	for !d.claim(waits) {
		// An answer was first. It is being recorded, and then it counts; should that fail, the question ends after all.
		select {
		case a := <-waits.answer:
			return a, nil
		case <-time.After(claimPause):
		}
	}
	expired := entry(api.EventQuestionExpired, api.QuestionExpired{QuestionID: q.ID, Reason: reason})
	expired.Closes = q.ID
	if err := s.keep(ctx, q.Owner, expired); err != nil {
		s.log.Error("end of a question not stored", slog.String("session", q.Owner), slog.Any("error", err))
	}
	d.settle(q.ID, &SettledError{Reason: reason, At: now()})
	return usher.Answer{}, context.Cause(ctx)
}

// Answer answers an open question; the first answer counts. The error is an [*InvalidError] for an answer that does not
// fit, a [*SettledError] for one that came too late, and ErrNotFound when there is no such question.
func (s *Sessions) Answer(ctx context.Context, id string, a usher.Answer) error {
	d := s.desk
	d.mu.Lock()
	waits, before := d.open[id], d.settled[id]
	d.mu.Unlock()
	switch {
	case before != nil:
		return before
	case waits == nil:
		return fmt.Errorf("question %s: %w", id, ErrNotFound)
	}
	a.By = cmp.Or(strings.TrimSpace(a.By), "api")
	if len(a.By) > maxSurface || !utf8.ValidString(a.By) {
		return &InvalidError{Field: "by", Reason: fmt.Sprintf("want at most %d bytes", maxSurface)}
	}
	if len(a.Content) > 0 && !json.Valid(a.Content) {
		return &InvalidError{Field: "content", Reason: "it is not JSON"}
	}
	if err := waits.Check(a); err != nil {
		if field, ok := errors.AsType[*usher.FieldError](err); ok {
			return &InvalidError{Field: field.Field, Reason: field.Reason}
		}
		return err
	}
	if !d.claim(waits) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if before := d.settled[id]; before != nil {
			return before
		}
		return &SettledError{Reason: expiredWithdrawn, At: now()}
	}
	told := api.QuestionAnswered{QuestionID: id, Action: a.Action, By: a.By}
	if !waits.Secret {
		told.Content = a.Content
	}
	answered := entry(api.EventQuestionAnswered, told)
	answered.Closes = id
	if err := s.keep(ctx, waits.Owner, answered); err != nil {
		d.mu.Lock()
		waits.claimed = false
		d.mu.Unlock()
		return err
	}
	d.settle(id, &SettledError{Action: a.Action, By: a.By, At: now()})
	waits.answer <- a
	return nil
}

// Questions returns the number of open questions of a session, or of all of them for "".
func (s *Sessions) Questions(session string) int {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if session == "" {
		return len(s.desk.open)
	}
	return s.desk.waiting[session]
}

// claim takes a question for the one who may end it.
func (d *Desk) claim(q *question) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.claimed {
		return false
	}
	q.claimed = true
	return true
}

// settle ends a question and remembers how.
func (d *Desk) settle(id string, how *SettledError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.open[id]
	if q == nil {
		return
	}
	delete(d.open, id)
	if d.waiting[q.Owner]--; d.waiting[q.Owner] == 0 {
		delete(d.waiting, q.Owner)
	}
	if len(d.order) >= settledKept {
		delete(d.settled, d.order[0])
		d.order = append(d.order[:0], d.order[1:]...)
	}
	d.settled[id] = how
	d.order = append(d.order, id)
}

func (d *Desk) bind(s *Sessions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = s
}

// Sample puts a server's request to the model of the sessions (SAM-03, SAM-08).
func (d *Desk) Sample(ctx context.Context, _ string, request client.Sampling) (json.RawMessage, error) {
	d.mu.Lock()
	s := d.sessions
	d.mu.Unlock()
	if s == nil || s.model == nil {
		return nil, errors.New("there is no model")
	}
	return s.sample(ctx, request)
}

// keep stores an entry although whoever asked for it may have left meanwhile.
func (s *Sessions) keep(ctx context.Context, session string, e ...Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_, err := s.append(ctx, session, Change{}, e...)
	return err
}

func wireQuestion(q usher.Question) api.QuestionAsked {
	w := api.QuestionAsked{
		QuestionID: q.ID, Kind: string(q.Kind), CallID: q.CallID, Server: q.Server, Tool: q.Tool, Title: q.Title,
		Description: q.Description, Message: q.Message, Schema: valid(q.Schema), URL: q.URL, Host: q.Host,
		Arguments: valid(q.Arguments), Annotations: valid(q.Annotations), Sampling: valid(q.Sampling),
		Warnings: q.Warnings, Round: q.Round, Allowed: q.Allowed, ExpiresAt: q.Deadline.UTC().Truncate(time.Millisecond),
	}
	for _, c := range q.Difference {
		w.Difference = append(w.Difference, api.Difference{Where: c.Where, Before: c.Before, After: c.After})
	}
	return w
}

// valid is raw JSON that can be part of an event; nil for what is none.
func valid(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	return raw
}
