package conversation

import "sync"

const (
	// tailEvents and tailBytes bound what is kept in memory of a session's newest events while somebody watches it, so
	// that many watchers of one session do not each ask the store.
	tailEvents = 64
	tailBytes  = 1 << 20
)

// hub tells watchers that their session's log has grown.
type hub struct {
	mu     sync.Mutex
	topics map[string]*topic
}

// topic is a session that somebody watches.
type topic struct {
	watches map[*Watch]struct{}
	tail    []Event
	bytes   int
}

// Watch hints that a session's log has grown. It is made by [Sessions.Watch].
type Watch struct {
	hub     *hub
	session string
	more    chan struct{} // holds one token while there may be more to read
	gone    chan struct{} // closed when the session is deleted
}

// More receives after the log has grown; any number of events may be behind one hint.
func (w *Watch) More() <-chan struct{} { return w.more }

// Gone is closed when the session has been deleted.
func (w *Watch) Gone() <-chan struct{} { return w.gone }

// Close ends the watch.
func (w *Watch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	t := w.hub.topics[w.session]
	if t == nil {
		return
	}
	delete(t.watches, w)
	if len(t.watches) == 0 {
		delete(w.hub.topics, w.session)
	}
}

func (h *hub) watch(session string) *Watch {
	w := &Watch{hub: h, session: session, more: make(chan struct{}, 1), gone: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics == nil {
		h.topics = map[string]*topic{}
	}
	t := h.topics[session]
	if t == nil {
		t = &topic{watches: map[*Watch]struct{}{}}
		h.topics[session] = t
	}
	t.watches[w] = struct{}{}
	return w
}

// publish keeps the events for the session's watchers and hints at them. Callers publish in the order of the log.
func (h *hub) publish(session string, events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[session]
	if t == nil {
		return
	}
	for _, e := range events {
		t.tail = append(t.tail, e)
		t.bytes += len(e.Data)
	}
	drop := 0
	for len(t.tail)-drop > tailEvents || t.bytes > tailBytes && drop < len(t.tail) {
		t.bytes -= len(t.tail[drop].Data)
		t.tail[drop] = Event{}
		drop++
	}
	t.tail = t.tail[drop:]
	for w := range t.watches {
		select {
		case w.more <- struct{}{}:
		default:
		}
	}
}

// forget drops what is kept of a session, whose events have changed.
func (h *hub) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[session]; t != nil {
		t.tail, t.bytes = nil, 0
	}
}

// remove ends every watch of a deleted session.
func (h *hub) remove(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[session]; t != nil {
		for w := range t.watches {
			close(w.gone)
		}
		delete(h.topics, session)
	}
}

// after returns what the tail holds after the given id, and whether the tail reaches that far back.
func (h *hub) after(session string, id int64, limit, maxBytes int) ([]Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[session]
	if t == nil || len(t.tail) == 0 || id+1 < t.tail[0].ID || id > t.tail[len(t.tail)-1].ID {
		return nil, false
	}
	var events []Event
	bytes := 0
	for _, e := range t.tail[id+1-t.tail[0].ID:] {
		if len(events) == limit || len(events) > 0 && bytes+len(e.Data) > maxBytes {
			break
		}
		events = append(events, e)
		bytes += len(e.Data)
	}
	return events, true
}
