package conversation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/usher-mcp/usher/internal/api"
)

const (
	// maxTurns bounds the turns that run at once, in all sessions; maxTalks what is remembered of those that rest.
	maxTurns = 64
	maxTalks = 1000
)

// talk is a session's conversation with the model. Its fields but tools are guarded by the Sessions' mu.
type talk struct {
	session string
	// busy: a goroutine answers, or compacts. It alone uses tools, and closes done when it ends.
	busy bool
	done chan struct{}
	// cancel ends the running turn; nil between two.
	cancel context.CancelCauseFunc
	// last is the newest message of the person, seen the newest event that the model was told of.
	last, seen int64
	tools      toolset
}

// Message records a person's message and returns its event's id. With a model it is answered in the background: the
// events tell how. A message that comes while the model works is told to it with its next step. Without a model a notice
// says that nobody answers. ErrBusy: the model is busy in too many sessions.
func (s *Sessions) Message(ctx context.Context, id, text string) (int64, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return 0, &InvalidError{Field: "text", Reason: "it is empty"}
	case len(text) > MaxMessage:
		return 0, &InvalidError{Field: "text", Reason: fmt.Sprintf("it has %d bytes; at most %d are taken", len(text), MaxMessage)}
	case !utf8.ValidString(text):
		return 0, &InvalidError{Field: "text", Reason: "it is not UTF-8"}
	}
	entries := []Entry{entry(api.EventMessage, api.MessageReceived{Text: text})}
	if s.model == nil {
		entries = append(entries, entry(api.EventNotice, api.NoticeRaised{
			Level: "info", Text: "No model is configured, so nobody answers. Tools can be run directly.",
		}))
	} else if err := s.mayTalk(id); err != nil {
		return 0, err
	}
	events, err := s.appendTitled(ctx, id, titleFrom(text), entries...)
	if err != nil {
		return 0, err
	}
	if s.model != nil {
		s.heard(id, events[0].ID)
	}
	return events[0].ID, nil
}

// mayTalk says whether a message would be answered now.
func (s *Sessions) mayTalk(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := s.talks[id]; {
	case s.closing:
		return ErrClosing
	case s.leaving[id]:
		return fmt.Errorf("session %s: %w", id, ErrNotFound)
	case (t == nil || !t.busy) && s.turns >= maxTurns:
		return fmt.Errorf("the model answers in %d sessions: %w", s.turns, ErrBusy)
	}
	return nil
}

// heard makes sure that a message is answered.
func (s *Sessions) heard(id string, event int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.talk(id)
	t.last = max(t.last, event)
	if !t.busy && !s.closing && !s.leaving[id] {
		s.occupy(t)
		go s.converse(t)
	}
}

// talk finds or makes a session's talk. Callers hold mu.
func (s *Sessions) talk(id string) *talk {
	t := s.talks[id]
	if t == nil {
		if len(s.talks) >= maxTalks {
			for other, rests := range s.talks {
				if !rests.busy {
					delete(s.talks, other)
					break
				}
			}
		}
		t = &talk{session: id}
		s.talks[id] = t
	}
	return t
}

// occupy takes a talk for one goroutine, which must give it back with converse. Callers hold mu.
func (s *Sessions) occupy(t *talk) {
	t.busy, t.done = true, make(chan struct{})
	s.turns++
	s.wg.Add(1)
}

// converse runs turns until nothing is left to answer. It is the body of a goroutine.
func (s *Sessions) converse(t *talk) {
	defer s.wg.Done()
	for {
		ctx, cancel, more := s.next(t)
		if !more {
			return
		}
		s.turn(ctx, t)
		cancel(nil)
	}
}

// next begins a turn, or gives the talk back.
func (s *Sessions) next(t *talk) (context.Context, context.CancelCauseFunc, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.last <= t.seen || s.closing || s.leaving[t.session] {
		t.busy, t.cancel = false, nil
		s.turns--
		close(t.done)
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(s.base)
	t.cancel = cancel
	return ctx, cancel, true
}

// unanswered reports whether a message came that the model was not told of.
func (s *Sessions) unanswered(t *talk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.last > t.seen
}

// told notes that the model is told of everything up to an event.
func (s *Sessions) told(t *talk, event int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.seen = max(t.seen, event)
}

// hush ends a session's turn, and leaves unanswered what has not been answered. Callers hold mu.
func (s *Sessions) hush(id string, cause error) (done <-chan struct{}) {
	t := s.talks[id]
	if t == nil || !t.busy {
		return nil
	}
	t.seen = max(t.seen, t.last)
	if t.cancel != nil {
		t.cancel(cause)
	}
	return t.done
}

// Turns returns the number of sessions that the model works for.
func (s *Sessions) Turns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns
}

// Idle returns when the model does not work for a session any more, or when ctx ends.
func (s *Sessions) Idle(ctx context.Context, id string) error {
	for {
		s.mu.Lock()
		t := s.talks[id]
		var done chan struct{}
		if t != nil && t.busy {
			done = t.done
		}
		s.mu.Unlock()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell stores entries of a turn, whose end does not lose them, and returns the last one's id; 0 if they could not be
// stored.
func (s *Sessions) tell(ctx context.Context, session string, entries ...Entry) int64 {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	events, err := s.append(ctx, session, Change{}, entries...)
	if err != nil {
		s.log.Error("events not stored", slog.String("session", session), slog.String("type", entries[0].Type), slog.Any("error", err))
		return 0
	}
	return events[len(events)-1].ID
}
