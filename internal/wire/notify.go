package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

const (
	maxNotes     = 256
	maxNoteBytes = 8 << 20
)

// notes is the queue of notifications: bounded in number and bytes, with repetitions of one invalidation merged.
// When it is full the oldest goes.
type notes struct {
	wake chan struct{}

	mu      sync.Mutex
	queue   []note
	bytes   int
	dropped int
}

type note struct {
	method string
	params json.RawMessage
}

// merges reports whether a second notification of this kind says nothing new while the first one waits.
func merges(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
}

func (n *notes) add(method string, params []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if merges(method) {
		for _, q := range n.queue {
			if q.method == method && bytes.Equal(q.params, params) {
				return
			}
		}
	}
	n.queue = append(n.queue, note{method, bytes.Clone(params)})
	n.bytes += len(params)
	for len(n.queue) > 1 && (len(n.queue) > maxNotes || n.bytes > maxNoteBytes) {
		n.bytes -= len(n.queue[0].params)
		n.queue[0] = note{}
		n.queue = n.queue[1:]
		n.dropped++
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notes) next() (note, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		return note{}, false
	}
	first := n.queue[0]
	n.queue[0] = note{}
	if n.queue = n.queue[1:]; len(n.queue) == 0 {
		n.queue = nil
	}
	n.bytes -= len(first.params)
	return first, true
}

// Inject queues a notification as if the server had sent it.
func (c *Conn) Inject(method string, params json.RawMessage) { c.notes.add(method, params) }

func (c *Conn) notify() {
	for {
		select {
		case <-c.notes.wake:
		case <-c.life.Done():
			return
		}
		for c.life.Err() == nil {
			n, ok := c.notes.next()
			if !ok {
				break
			}
			c.cfg.Notify(n.method, n.params)
		}
	}
}
