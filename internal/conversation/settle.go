package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
)

// The kinds of ids, and of the open work that bears them.
const (
	kindCall     = "c"
	kindQuestion = "q"
	kindTurn     = "t"
)

// settle ends what was open when the last process ended: first the questions, then the calls, then the turns that they
// were part of.
func (s *Sessions) settle(ctx context.Context) error {
	open, err := s.store.Open(ctx)
	if err != nil {
		return err
	}
	rank := func(w OpenWork) int {
		return slices.Index([]string{kindQuestion, kindCall, kindTurn}, kindOf(w.Name))
	}
	slices.SortStableFunc(open, func(a, b OpenWork) int { return rank(a) - rank(b) })
	for _, work := range open {
		e := settled(work.Name)
		e.Closes = work.Name
		if _, err := s.append(ctx, work.Session, Change{}, e); err != nil {
			return fmt.Errorf("settling %s: %w", work.Name, err)
		}
	}
	return nil
}

func kindOf(id string) string {
	kind, _, _ := strings.Cut(id, "_")
	return kind
}

// settled is the end of work whose process is gone.
func settled(name string) Entry {
	switch kindOf(name) {
	case kindQuestion:
		return entry(api.EventQuestionExpired, api.QuestionExpired{QuestionID: name, Reason: expiredRestarted})
	case kindTurn:
		return entry(api.EventTurnFailed, api.TurnEnded{TurnID: name, Error: &api.Error{
			Code:    "interrupted",
			Message: "Usher ended in the middle of this answer. What had been said is kept.",
			Hint:    "Send a message to go on.",
		}})
	default:
		return entry(api.EventCallFinished, api.CallFinished{
			CallID: name, Outcome: api.OutcomeUnknown,
			Error: &api.Error{
				Code:    string(client.CodeUnknown),
				Message: "Usher ended before the server answered, so it is not known whether the tool did its work.",
				Hint:    "See what the tool changed before running it again.",
			},
		})
	}
}
