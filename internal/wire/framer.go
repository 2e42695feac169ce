package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

const readBuffer = 64 << 10

var (
	bom      = []byte("\xef\xbb\xbf")
	newline  = []byte{'\n'}
	errBatch = errors.New("a batch that holds something else than messages")
)

// framer cuts a byte stream into messages: one a line, as the protocol says (STD-01), and what servers do besides.
type framer struct {
	r        *bufio.Reader
	maxFrame int

	// onMessage gets each message and its frame. They are valid during the call, unless owned is true: then the
	// frame is the receiver's to keep.
	onMessage func(m message, frame []byte, owned bool)
	// onNoise gets each line that is no message.
	onNoise func(line []byte)
	// onOversize gets the id of a message beyond maxFrame, nil when none could be found, and whether it was a
	// request or a notification.
	onOversize func(id []byte, hasMethod bool)

	// partial holds the lines of a message that was begun and not ended, as pretty printers write it.
	partial []byte
	balance balance
}

// run reads until the stream ends and returns why, nil for its regular end.
func (f *framer) run() error {
	for {
		line, owned, err := f.readLine()
		if len(line) > 0 {
			f.line(line, owned)
		}
		if err != nil {
			f.giveUp()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// readLine returns the next line without its end; owned tells whether it has memory of its own. A line beyond the
// bound is read to its end, reported and not returned.
func (f *framer) readLine() (line []byte, owned bool, err error) {
	line, err = f.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > f.maxFrame {
			f.oversize(line, nil)
			return nil, false, err
		}
		return bytes.TrimSuffix(line, newline), false, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = f.r.ReadSlice('\n')
		if len(long)+len(line) > f.maxFrame {
			return nil, false, f.skipLong(long, line, err)
		}
		long = append(long, line...)
	}
	return bytes.TrimSuffix(long, newline), true, err
}

// skipLong reads to the end of a line that is too long, looking for the id of its message on the way.
func (f *framer) skipLong(begun, chunk []byte, err error) error {
	var finder idFinder
	finder.feed(begun)
	finder.feed(chunk)
	for errors.Is(err, bufio.ErrBufferFull) {
		chunk, err = f.r.ReadSlice('\n')
		finder.feed(chunk)
	}
	f.oversize(nil, &finder)
	return err
}

func (f *framer) oversize(line []byte, finder *idFinder) {
	if finder == nil {
		finder = new(idFinder)
		finder.feed(line)
	}
	f.giveUp()
	f.onOversize(finder.id, finder.hasMethod)
}

// line takes one line apart.
func (f *framer) line(line []byte, owned bool) {
	line = trim(line)
	if len(line) == 0 {
		return
	}
	if f.partial != nil {
		if f.whole(line, owned) {
			return
		}
		f.extend(line)
		return
	}
	if line[0] != '{' && line[0] != '[' {
		f.onNoise(line)
		return
	}
	rest, err := f.messages(line, owned)
	switch {
	case err == nil:
	case errors.Is(err, errIncomplete) && f.balance.start(rest):
		f.partial = bytes.Clone(rest)
	default:
		f.onNoise(rest)
	}
}

// whole handles a line that is a message by itself although another one was begun: what was begun is noise.
func (f *framer) whole(line []byte, owned bool) bool {
	if line[0] != '{' {
		return false
	}
	m, n, err := scan(line)
	if err != nil || n != len(line) || !m.isRPC() {
		return false
	}
	f.giveUp()
	f.onMessage(m, line, owned)
	return true
}

// extend adds a line to a message that was begun.
func (f *framer) extend(line []byte) {
	if len(f.partial)+len(line)+1 > f.maxFrame {
		f.oversize(append(append(f.partial, '\n'), line...), nil)
		return
	}
	f.partial = append(append(f.partial, '\n'), line...)
	if !f.balance.feed(line) {
		f.giveUp()
		f.line(line, false)
		return
	}
	if f.balance.depth > 0 {
		return
	}
	whole := f.partial
	f.partial = nil
	if rest, err := f.messages(whole, true); err != nil {
		f.onNoise(rest)
	}
}

func (f *framer) giveUp() {
	if f.partial != nil {
		begun := f.partial
		f.partial = nil
		f.onNoise(begun)
	}
}

// messages emits every message in b, alone, one after the other, or in a batch (LEG-27). On error it returns what
// could not be read.
func (f *framer) messages(b []byte, owned bool) (rest []byte, err error) {
	for len(b) > 0 {
		switch b[0] {
		case '{':
			m, n, err := scan(b)
			if err != nil {
				return b, err
			}
			f.emit(m, b[:n], owned)
			b = b[n:]
		case '[':
			n, err := f.batch(b, owned)
			if err != nil {
				return b, err
			}
			b = b[n:]
		default:
			return b, errNotMessage
		}
		b = trim(b)
	}
	return nil, nil
}

func (f *framer) batch(b []byte, owned bool) (int, error) {
	type part struct {
		m     message
		frame []byte
	}
	var parts []part
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == ']' {
		return 0, errBatch
	}
	for {
		if i >= len(b) {
			return 0, errIncomplete
		}
		if b[i] != '{' {
			return 0, errBatch
		}
		m, n, err := scan(b[i:])
		if err != nil {
			return 0, err
		}
		parts = append(parts, part{m, b[i : i+n]})
		if i = skipSpace(b, i+n); i >= len(b) {
			return 0, errIncomplete
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			for _, p := range parts {
				f.emit(p.m, p.frame, owned)
			}
			return i + 1, nil
		default:
			return 0, errBatch
		}
	}
}

func (f *framer) emit(m message, frame []byte, owned bool) {
	if !m.isRPC() {
		f.onNoise(frame)
		return
	}
	if !utf8.Valid(frame) {
		fixed := bytes.ToValidUTF8(frame, []byte("\uFFFD"))
		again, _, err := scan(fixed)
		if err != nil {
			f.onNoise(frame)
			return
		}
		m, frame, owned = again, fixed, true
	}
	f.onMessage(m, frame, owned)
}

// isRPC tells a JSON-RPC message from another JSON object, such as a line of a structured log. A missing or wrong
// "jsonrpc" is forgiven, unless nothing else tells what the message is.
func (m *message) isRPC() bool {
	return len(m.method) > 1 && m.method[0] == '"' || m.result != nil || m.err != nil || m.version != nil && m.id != nil
}

// trim removes what is no part of a message: blanks, a byte order mark, terminal colours.
func trim(b []byte) []byte {
	for {
		n := len(b)
		b = bytes.TrimSpace(b)
		b = bytes.TrimPrefix(b, bom)
		b = bytes.Trim(b, "\x00")
		if len(b) > 2 && b[0] == 0x1b && b[1] == '[' {
			if end := bytes.IndexFunc(b[2:], isFinal); end >= 0 {
				b = b[2+end+1:]
			}
		}
		if esc := bytes.LastIndexByte(b, 0x1b); esc > 0 && esc+1 < len(b) && b[esc+1] == '[' {
			if bytes.IndexFunc(b[esc+2:], isFinal) == len(b)-esc-3 {
				b = b[:esc]
			}
		}
		if len(b) == n {
			return b
		}
	}
}

// isFinal reports the last character of a terminal control sequence.
func isFinal(r rune) bool { return r >= 0x40 && r <= 0x7e }

// balance follows the brackets of a JSON text over several lines.
type balance struct{ depth int }

func (l *balance) start(line []byte) bool {
	l.depth = 0
	return l.feed(line)
}

// feed reports whether a JSON text may go on after this line: no string of JSON goes over the end of a line.
func (l *balance) feed(line []byte) bool {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			end, err := skipString(line, i)
			if err != nil {
				return false
			}
			i = end - 1
		case '{', '[':
			l.depth++
		case '}', ']':
			l.depth--
		}
	}
	return l.depth >= 0
}

const maxID = 256

// idFinder looks for the id of a message that is too long to be kept.
type idFinder struct {
	depth              int
	inString, escaped  bool
	isKey, isValue     bool
	key, value         []byte
	id                 []byte
	hasMethod, nothing bool
}

func (f *idFinder) feed(chunk []byte) {
	for _, b := range chunk {
		if f.nothing {
			return
		}
		f.step(b)
	}
}

func (f *idFinder) step(b byte) {
	if f.inString {
		f.keep(b)
		switch {
		case f.escaped:
			f.escaped = false
		case b == '\\':
			f.escaped = true
		case b == '"':
			f.inString = false
		}
		return
	}
	switch b {
	case '"':
		f.inString = true
		f.keep(b)
	case '{', '[':
		if f.depth++; f.depth == 1 {
			f.nothing = b == '['
			f.expectKey()
		}
	case ':':
		if f.depth == 1 {
			f.isKey, f.isValue, f.value = false, true, f.value[:0]
		}
	case ',':
		if f.depth == 1 {
			f.settle()
		}
	case '}', ']':
		if f.depth == 1 {
			f.settle()
		}
		f.depth--
	case ' ', '\t', '\r', '\n':
	default:
		f.keep(b)
	}
}

func (f *idFinder) expectKey() { f.isKey, f.isValue, f.key = true, false, f.key[:0] }

func (f *idFinder) keep(b byte) {
	switch {
	case f.depth != 1:
	case f.isKey && len(f.key) < maxID:
		f.key = append(f.key, b)
	case f.isValue && len(f.value) < maxID:
		f.value = append(f.value, b)
	}
}

func (f *idFinder) settle() {
	switch string(f.key) {
	case `"id"`:
		if len(f.value) < maxID {
			f.id = bytes.Clone(f.value)
		}
	case `"method"`:
		f.hasMethod = true
	}
	f.expectKey()
}
