package usher

import (
	"context"
	"iter"
	"sync"
)

// eventBacklog is how far a reader of events may fall behind before it loses the oldest.
const eventBacklog = 256

// hub hands events to any number of readers. A slow reader loses its own oldest events and slows nobody.
type hub struct {
	mu      sync.Mutex
	readers map[*reader]struct{}
	closed  bool
}

type reader struct {
	queue []Event
	ready chan struct{} // holds one token while queue may be non-empty
}

func (b *hub) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		if len(r.queue) == eventBacklog {
			r.queue = r.queue[1:]
		}
		r.queue = append(r.queue, e)
		r.wake()
	}
}

func (b *hub) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for r := range b.readers {
		r.wake()
	}
}

// listen registers its reader at once, so that nothing which happens after it returns is missed.
func (b *hub) listen(ctx context.Context) iter.Seq[Event] {
	r := &reader{ready: make(chan struct{}, 1)}
	b.mu.Lock()
	if b.readers == nil {
		b.readers = make(map[*reader]struct{})
	}
	b.readers[r] = struct{}{}
	closed := b.closed
	b.mu.Unlock()
	if closed {
		r.wake()
	}
	// An iterator that is never started must not stay registered.
	stop := context.AfterFunc(ctx, func() { b.remove(r) })
	return func(yield func(Event) bool) {
		defer func() { stop(); b.remove(r) }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.ready:
			}
			events, closed := b.take(r)
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if closed {
				return
			}
		}
	}
}

func (b *hub) take(r *reader) (events []Event, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, r.queue = r.queue, nil
	return events, b.closed
}

func (b *hub) remove(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.readers, r)
}

func (r *reader) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}
