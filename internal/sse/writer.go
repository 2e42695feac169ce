// Package sse writes and reads event streams (text/event-stream, HTML standard §9.2).
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ContentType is the media type of an event stream.
const ContentType = "text/event-stream"

// DefaultWriteTimeout is how long one write may take: a client that stops reading must not hold a goroutine.
const DefaultWriteTimeout = 15 * time.Second

// Event is one message of a stream.
type Event struct {
	// ID is what a client that comes back sends as Last-Event-ID; empty leaves the last one standing.
	ID string
	// Type names the kind; empty means "message".
	Type string
	Data []byte
}

// errLineEnd: an id or a type that would end its line, and forge what follows.
var errLineEnd = errors.New("sse: an id or a type holds a line end or a null")

// Writer writes a stream as the answer to a request. It is not safe for concurrent use.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	buf     bytes.Buffer
}

// NewWriter begins a stream: it sends the status and the headers. Each write may take timeout; 0 means
// [DefaultWriteTimeout].
func NewWriter(w http.ResponseWriter, timeout time.Duration) (*Writer, error) {
	if timeout <= 0 {
		timeout = DefaultWriteTimeout
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // a proxy in between passes each event on at once
	w.WriteHeader(http.StatusOK)
	s := &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
	return s, s.flush()
}

// Send writes one event and sends what is buffered on its way.
func (s *Writer) Send(e Event) error {
	if err := s.Write(e); err != nil {
		return err
	}
	return s.flush()
}

// Write adds one event to the buffer; Flush or Send sends it.
func (s *Writer) Write(e Event) error {
	if strings.ContainsAny(e.ID, "\r\n\x00") || strings.ContainsAny(e.Type, "\r\n\x00") {
		return errLineEnd
	}
	if e.ID != "" {
		fmt.Fprintf(&s.buf, "id: %s\n", e.ID)
	}
	if e.Type != "" {
		fmt.Fprintf(&s.buf, "event: %s\n", e.Type)
	}
	rest := e.Data
	for {
		at := bytes.IndexAny(rest, "\r\n")
		s.buf.WriteString("data: ")
		if at < 0 {
			s.buf.Write(rest)
			s.buf.WriteString("\n\n")
			return nil
		}
		s.buf.Write(rest[:at])
		s.buf.WriteByte('\n')
		if rest[at] == '\r' && at+1 < len(rest) && rest[at+1] == '\n' {
			at++
		}
		rest = rest[at+1:]
	}
}

// Buffered is the number of bytes that wait for Flush.
func (s *Writer) Buffered() int { return s.buf.Len() }

// Flush sends what is buffered, if anything is.
func (s *Writer) Flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	return s.flush()
}

// Ping sends a comment, which a reader passes over: it keeps the connection from looking dead.
func (s *Writer) Ping() error {
	s.buf.WriteString(": ping\n\n")
	return s.flush()
}

// Retry tells the client how long to wait before it comes back.
func (s *Writer) Retry(after time.Duration) error {
	fmt.Fprintf(&s.buf, "retry: %d\n\n", after.Milliseconds())
	return s.flush()
}

func (s *Writer) flush() error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("event stream: %w", err)
	}
	if s.buf.Len() > 0 {
		_, err := s.w.Write(s.buf.Bytes())
		if s.buf.Cap() > 1<<20 {
			s.buf = bytes.Buffer{} // a large event's room is not kept for the small ones after it
		}
		s.buf.Reset()
		if err != nil {
			return fmt.Errorf("event stream: %w", err)
		}
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return nil
}
