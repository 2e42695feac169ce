package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// eventFilter reads a server's event stream and passes on what the SDK can take: one well-formed event after the
// other, whose data is a JSON-RPC message, or which has no data and only primes a resumption (LEG-16). A line
// that is no field, an event that is not JSON and a foreign event name are dropped with a word in the log;
// in the SDK each of them would end the session.
type eventFilter struct {
	src    io.ReadCloser
	lines  *bufio.Reader
	limit  int64
	log    *slog.Logger
	out    bytes.Buffer // complete events, ready to be read
	err    error        // what ends the stream once out is read
	first  bool         // no line was read yet
	size   int64        // of the event being read
	data   [][]byte
	fields bytes.Buffer // id and retry of the event being read
	name   string
}

func newEventFilter(src io.ReadCloser, limit int64, log *slog.Logger) *eventFilter {
	return &eventFilter{src: src, lines: bufio.NewReaderSize(src, 32<<10), limit: limit, log: log, first: true}
}

// Read implements [io.Reader]. It returns as soon as one event is complete.
func (f *eventFilter) Read(p []byte) (int, error) {
	for f.out.Len() == 0 && f.err == nil {
		line, err := f.line()
		if err != nil {
			// An event without its blank line is incomplete, and the standard says to drop it.
			f.err = err
			break
		}
		f.feed(line)
	}
	if f.out.Len() > 0 {
		return f.out.Read(p)
	}
	return 0, f.err
}

// Close implements [io.Closer].
func (f *eventFilter) Close() error { return f.src.Close() }

var errEventTooLarge = errors.New("event stream: one event is larger than the bound")

// line reads one line without its end: LF or CR LF.
func (f *eventFilter) line() ([]byte, error) {
	var line []byte
	for {
		part, err := f.lines.ReadSlice('\n')
		f.size += int64(len(part))
		if f.size > f.limit {
			return nil, fmt.Errorf("%w of %d bytes", errEventTooLarge, f.limit)
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
	if f.first {
		f.first = false
		line = bytes.TrimPrefix(line, bom)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (f *eventFilter) feed(line []byte) {
	if len(line) == 0 {
		f.dispatch()
		return
	}
	field, value, found := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "": // a comment, often a heartbeat
	case "data":
		f.data = append(f.data, bytes.Clone(value))
	case "event":
		f.name = string(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			fmt.Fprintf(&f.fields, "id: %s\n", value)
		}
	case "retry":
		fmt.Fprintf(&f.fields, "retry: %s\n", value)
	default:
		f.log.Debug("event stream: line that is no field dropped", "bytes", len(line), "colon", found)
	}
}

// dispatch ends the event being read and passes it on if it is one for the session.
func (f *eventFilter) dispatch() {
	data, fields, name := f.data, f.fields.String(), f.name
	f.data, f.name, f.size = nil, "", 0
	f.fields.Reset()
	switch {
	case name != "" && name != "message":
		f.log.Debug("event stream: foreign event dropped", "event", name)
		data = nil
	case len(data) == 0:
	default:
		var line bytes.Buffer
		var object map[string]json.RawMessage
		joined := bytes.Join(data, []byte("\n"))
		if err := json.Unmarshal(joined, &object); err != nil || object == nil || json.Compact(&line, joined) != nil {
			f.log.Warn("event stream: an event that is not a JSON-RPC message was dropped", "bytes", len(joined))
			data = nil
			break
		}
		data = [][]byte{line.Bytes()}
	}
	if len(data) == 0 && fields == "" {
		return
	}
	f.out.WriteString(fields)
	if len(data) == 1 {
		f.out.WriteString("data: ")
		f.out.Write(data[0])
		f.out.WriteByte('\n')
	}
	f.out.WriteByte('\n')
}
