package conversation

import (
	"fmt"
	"sync"
	"time"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model"
)

const (
	// textEvery is the least time between two text.appended of one answer; after manyTexts of them it is textRarely.
	textEvery  = 100 * time.Millisecond
	textRarely = 400 * time.Millisecond
	manyTexts  = 200
	// textBytes is how much is gathered before it is stored at once.
	textBytes = 16 << 10
)

// gatherer stores what a model says while it says it, a little at a time. Reasoning and answer stay apart and in order.
type gatherer struct {
	turn  string
	step  int
	store func(Entry)

	mu     sync.Mutex
	held   []api.TextAppended // at most one of each kind in a row
	bytes  int
	stored int
	timer  *time.Timer
	ended  bool
}

func newGatherer(turn string, step int, store func(Entry)) *gatherer {
	return &gatherer{turn: turn, step: step, store: store}
}

// take is told of each piece of an answer.
func (g *gatherer) take(d model.Delta) {
	switch {
	case d.Text != "":
		g.add(d.Text, false)
	case d.Reasoning != "":
		g.add(d.Reasoning, true)
	case d.Retry != nil:
		g.store(entry(api.EventNotice, api.NoticeRaised{Level: "info", Text: fmt.Sprintf(
			"The model did not answer (%v); trying again in %s.", d.Retry.Err, d.Retry.Wait.Round(100*time.Millisecond))}))
	}
}

func (g *gatherer) add(text string, reasoning bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.held); n > 0 && g.held[n-1].Reasoning == reasoning {
		g.held[n-1].Text += text
	} else {
		g.held = append(g.held, api.TextAppended{TurnID: g.turn, Step: g.step, Text: text, Reasoning: reasoning})
	}
	g.bytes += len(text)
	switch {
	case g.bytes >= textBytes:
		g.flush()
	case g.timer == nil && !g.ended:
		pause := textEvery
		if g.stored > manyTexts {
			pause = textRarely
		}
		g.timer = time.AfterFunc(pause, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if !g.ended {
				g.flush()
			}
		})
	}
}

// flush stores what is held. Callers hold mu.
func (g *gatherer) flush() {
	for _, e := range g.rest() {
		g.store(e)
		g.stored++
	}
}

// rest takes what is held. Callers hold mu.
func (g *gatherer) rest() []Entry {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	var entries []Entry
	for _, t := range g.held {
		entries = append(entries, entry(api.EventText, t))
	}
	g.held, g.bytes = nil, 0
	return entries
}

// end returns what has not been stored yet; nothing is stored after it.
func (g *gatherer) end() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	return g.rest()
}
