package stdio

import "sync"

// ring keeps the last bytes written to it, up to a fixed size. It is safe for concurrent use and its Write never fails.
type ring struct {
	mu      sync.Mutex
	buf     []byte
	next    int // where the next byte goes once buf is full
	size    int
	dropped bool
}

func newRing(size int) *ring { return &ring{size: size} }

func (r *ring) Write(p []byte) (int, error) {
	n := len(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) >= r.size {
		r.dropped = r.dropped || len(p) > r.size || len(r.buf) > 0
		r.buf = append(r.buf[:0], p[len(p)-r.size:]...)
		r.next = 0
		return n, nil
	}
	if room := r.size - len(r.buf); room > 0 {
		take := min(room, len(p))
		r.buf = append(r.buf, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		r.dropped = true
		c := copy(r.buf[r.next:], p)
		p = p[c:]
		r.next = (r.next + c) % r.size
	}
	return n, nil
}

// tail returns what is kept, oldest byte first, and whether older bytes were dropped.
func (r *ring) tail() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.buf) < r.size {
		return string(r.buf), r.dropped
	}
	return string(r.buf[r.next:]) + string(r.buf[:r.next]), r.dropped
}
