package daemon

import (
	"context"
	"sync"

	usher "github.com/usher-mcp/usher"
)

// hints passes what happens in the host to every event stream. A stream that is slow gets the newest of each server
// and of the catalog: they say what to look at again, not what was seen.
type hints struct {
	mu      sync.Mutex
	readers map[*hintReader]struct{}
}

type hintReader struct {
	mu      sync.Mutex
	order   []hintKey
	pending map[hintKey]usher.Event // bounded by the number of servers
	more    chan struct{}
}

type hintKey struct{ kind, server string }

// run hands the host's events on until ctx ends.
func (h *hints) run(ctx context.Context, host Host) {
	for event := range host.Events(ctx) {
		h.mu.Lock()
		for r := range h.readers {
			r.put(event)
		}
		h.mu.Unlock()
	}
}

func (h *hints) join() *hintReader {
	r := &hintReader{pending: map[hintKey]usher.Event{}, more: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == nil {
		h.readers = map[*hintReader]struct{}{}
	}
	h.readers[r] = struct{}{}
	return r
}

func (h *hints) leave(r *hintReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, r)
}

func (r *hintReader) put(event usher.Event) {
	r.mu.Lock()
	key := hintKey{event.Type, event.Server}
	if _, waiting := r.pending[key]; !waiting {
		r.order = append(r.order, key)
	}
	r.pending[key] = event
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// take returns what has come since the last time.
func (r *hintReader) take() []usher.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := make([]usher.Event, 0, len(r.order))
	for _, key := range r.order {
		events = append(events, r.pending[key])
		delete(r.pending, key)
	}
	r.order = r.order[:0]
	return events
}
