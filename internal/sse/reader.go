package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// DefaultMaxEvent bounds the size of one event that is read, in bytes.
const DefaultMaxEvent = 64 << 20

// ErrTooLarge says that an event is larger than the reader takes.
var ErrTooLarge = errors.New("sse: the event is too large")

// Reader reads a stream. It is not safe for concurrent use.
type Reader struct {
	r      *bufio.Reader
	max    int
	begun  bool
	lastID string
	// afterCR: the last byte ended a line, and a line feed now belongs to that end.
	afterCR bool
}

// NewReader reads events of at most maxEvent bytes; 0 means [DefaultMaxEvent].
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &Reader{r: bufio.NewReader(r), max: maxEvent}
}

// LastID is the id to come back with, even if the event that brought it was not whole.
func (r *Reader) LastID() string { return r.lastID }

// Next returns the next event that has data. Its ID is the last one the stream gave, as the standard has it. At the
// end of the stream the error is io.EOF, and an event that was not finished is dropped.
func (r *Reader) Next() (Event, error) {
	var (
		e    = Event{ID: r.lastID}
		data bytes.Buffer
		some bool
		size int
	)
	for {
		line, err := r.line(r.max - size)
		if err != nil {
			return Event{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if !some {
				e, size = Event{ID: r.lastID}, 0
				data.Reset()
				continue
			}
			e.Data = bytes.TrimSuffix(data.Bytes(), []byte("\n"))
			return e, nil
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			some = true
			data.WriteString(value)
			data.WriteByte('\n')
		case "event":
			e.Type = value
		case "id":
			if !strings.Contains(value, "\x00") {
				e.ID, r.lastID = value, value
			}
		}
	}
}

// line reads up to a line end of any kind: LF, CR or CRLF.
func (r *Reader) line(limit int) ([]byte, error) {
	if !r.begun {
		r.begun = true
		if mark, err := r.r.Peek(3); err == nil && string(mark) == "\ufeff" {
			_, _ = r.r.Discard(3) // it was peeked at
		}
	}
	var line []byte
	for {
		b, err := r.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("event stream: %w", err)
		case b == '\n' && r.afterCR:
			r.afterCR = false // the second half of a CRLF
			continue
		case b == '\n', b == '\r':
			// Whether a line feed follows is not waited for: it may be long in coming.
			r.afterCR = b == '\r'
			return line, nil
		case len(line) >= limit:
			return nil, ErrTooLarge
		}
		r.afterCR = false
		line = append(line, b)
	}
}
