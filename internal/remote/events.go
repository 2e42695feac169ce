package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"
)

// event is one event of a stream that means something to a session: a JSON-RPC message, or an id or a retry time
// without data, which only prime a resumption (LEG-16).
type event struct {
	id    *string // nil when the event names none; an empty one resets the last id
	retry time.Duration
	data  []byte // one JSON object on one line, or nil
}

// scanner reads events. A line that is no field, an event that is not a JSON object and a foreign event name are
// dropped with a word in the log, and what is odd in a message is mended; in the SDK each of them would end the session.
type scanner struct {
	lines   *bufio.Reader
	limit   int64           // of one event, in bytes
	request json.RawMessage // the id of the request that the stream answers, nil for none
	log     *slog.Logger
	begun   bool
	size    int64 // of the event being read
}

func newScanner(src io.Reader, limit int64, log *slog.Logger) *scanner {
	return &scanner{lines: bufio.NewReaderSize(src, 32<<10), limit: limit, log: log}
}

// next returns the next event that means something. An event that the stream's end cuts off is dropped, as the
// standard has it.
func (s *scanner) next() (event, error) {
	var e event
	var data [][]byte
	name := ""
	for {
		line, err := s.line()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			s.size = 0
			if e.data = s.payload(name, data); e.data != nil || e.id != nil || e.retry > 0 {
				return e, nil
			}
			e, data, name = event{}, nil, ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "": // a comment, often a heartbeat
		case "data":
			data = append(data, value)
		case "event":
			name = string(value)
		case "id":
			if id := string(value); !bytes.ContainsRune(value, 0) {
				e.id = &id
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		default:
			s.log.Debug("event stream: a line that is no field was dropped", "bytes", len(line))
		}
	}
}

var errEventTooLarge = errors.New("event stream: one event is larger than the bound")

// line reads one line without its end: LF or CR LF. The caller owns the line.
func (s *scanner) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		s.size += int64(len(part))
		if s.size > s.limit {
			return nil, fmt.Errorf("%w of %d bytes", errEventTooLarge, s.limit)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, bom)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (s *scanner) payload(name string, data [][]byte) []byte {
	joined := bytes.Join(data, []byte("\n"))
	switch {
	case len(joined) == 0:
		return nil
	case name != "" && name != "message":
		s.log.Debug("event stream: a foreign event was dropped", "event", name)
		return nil
	}
	line, err := sound(joined, s.request)
	if err != nil {
		s.log.Warn("event stream: an event was dropped", "bytes", len(joined), "reason", err)
		return nil
	}
	return line
}

// eventFilter is a stream with nothing in it but the events that mean something, well-formed.
type eventFilter struct {
	src    io.Closer
	events *scanner
	out    bytes.Buffer
	err    error // what ends the stream once out is read
}

// newEventFilter filters a stream that answers a request with this id; nil when it answers none.
func newEventFilter(src io.ReadCloser, request json.RawMessage, limit int64, log *slog.Logger) *eventFilter {
	events := newScanner(src, limit, log)
	events.request = request
	return &eventFilter{src: src, events: events}
}

// Read implements [io.Reader]. It returns as soon as one event is complete.
func (f *eventFilter) Read(p []byte) (int, error) {
	if f.out.Len() == 0 && f.err == nil {
		var e event
		if e, f.err = f.events.next(); f.err == nil {
			f.write(e)
		}
	}
	if f.out.Len() > 0 {
		return f.out.Read(p)
	}
	return 0, f.err
}

func (f *eventFilter) write(e event) {
	if e.id != nil {
		fmt.Fprintf(&f.out, "id: %s\n", *e.id)
	}
	if e.retry > 0 {
		fmt.Fprintf(&f.out, "retry: %d\n", e.retry.Milliseconds())
	}
	if e.data != nil {
		f.out.WriteString("data: ")
		f.out.Write(e.data)
		f.out.WriteByte('\n')
	}
	f.out.WriteByte('\n')
}

// Close implements [io.Closer].
func (f *eventFilter) Close() error { return f.src.Close() }
