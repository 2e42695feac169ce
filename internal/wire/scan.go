package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

var (
	errIncomplete = errors.New("the JSON text ends early")
	errNotMessage = errors.New("not a JSON object")
)

// message is one JSON-RPC message: parts of its frame, each a JSON value as sent, nil when absent.
type message struct {
	version, id, method, params, result, err []byte
	// depth is how deep its values nest.
	depth int
}

// scan finds the members of the message at the start of b, which begins with '{', and returns how many bytes it
// takes. Only the outermost object is held to JSON's grammar; inner values are delimited by their brackets and
// quotes, and judged by whoever decodes them.
func scan(b []byte) (m message, n int, err error) {
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == '}' {
		return m, i + 1, nil
	}
	for {
		if i >= len(b) {
			return m, 0, errIncomplete
		}
		if b[i] != '"' {
			return m, 0, errNotMessage
		}
		end, err := skipString(b, i)
		if err != nil {
			return m, 0, err
		}
		key := b[i+1 : end-1]
		if i = skipSpace(b, end); i >= len(b) {
			return m, 0, errIncomplete
		}
		if b[i] != ':' {
			return m, 0, errNotMessage
		}
		if i = skipSpace(b, i+1); i >= len(b) {
			return m, 0, errIncomplete
		}
		if end, err = skipValue(b, i, &m.depth); err != nil {
			return m, 0, err
		}
		m.set(key, b[i:end])
		if i = skipSpace(b, end); i >= len(b) {
			return m, 0, errIncomplete
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return m, i + 1, nil
		default:
			return m, 0, errNotMessage
		}
	}
}

func (m *message) set(key, value []byte) {
	switch string(unescape(key)) {
	case "jsonrpc":
		m.version = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "result":
		m.result = value
	case "error":
		m.err = value
	}
}

// unescape gives the text between the quotes of a JSON string.
func unescape(inner []byte) []byte {
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	quoted := append(append([]byte{'"'}, inner...), '"')
	if json.Unmarshal(quoted, &s) != nil {
		return inner
	}
	return []byte(s)
}

// Members calls fn for each member of the object in b, in order, until fn returns false, and reports whether it came to
// the object's end. Keys come as they are written, with their quotes. What is no object has no members.
func Members(b []byte, fn func(key, value []byte) bool) (whole bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = skipSpace(b, i+1)
	first := i
	for i < len(b) && b[i] == '"' {
		end, err := skipString(b, i)
		if err != nil {
			return false
		}
		key := b[i:end]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return false
		}
		if i = skipSpace(b, i+1); i >= len(b) {
			return false
		}
		var depth int
		if end, err = skipValue(b, i, &depth); err != nil || !fn(key, b[i:end]) {
			return false
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == '}'
		}
		i = skipSpace(b, i+1)
	}
	return i == first && i < len(b) && b[i] == '}'
}

// Member returns the value of one member of the object in b, nil when it has none.
func Member(b []byte, name string) []byte {
	var found []byte
	Members(b, func(key, value []byte) bool {
		if Text(key) == name {
			found = value
		}
		return true
	})
	return found
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(b []byte, i int) (int, error) {
	i++
	for {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return 0, errIncomplete
		}
		e := bytes.IndexByte(b[i:i+q], '\\')
		if e < 0 {
			return i + q + 1, nil
		}
		if i += e + 2; i > len(b) {
			return 0, errIncomplete
		}
	}
}

// skipValue returns the index after the value that starts at i, and raises *depth to its nesting.
func skipValue(b []byte, i int, depth *int) (int, error) {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i, depth)
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			if i == start {
				return 0, errNotMessage
			}
			return i, nil
		case '"', '{', '[', ':':
			return 0, errNotMessage
		}
		i++
	}
	return 0, errIncomplete
}

func skipNested(b []byte, i int, depth *int) (int, error) {
	level := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, err := skipString(b, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case '{', '[':
			level++
			*depth = max(*depth, level)
		case '}', ']':
			if level--; level == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errIncomplete
}

// idOf gives a JSON-RPC id as a Go value: a string, an int64, or ok false for anything else. Value and JSON type
// both count (BASE-04): "1" is not 1, and 2.7 is no id at all.
func idOf(raw []byte) (s string, n int64, isString, ok bool) {
	if len(raw) == 0 {
		return "", 0, false, false
	}
	if raw[0] == '"' {
		if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
			return string(inner), 0, true, true
		}
		if json.Unmarshal(raw, &s) != nil {
			return "", 0, false, false
		}
		return s, 0, true, true
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return "", n, false, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return "", 0, false, false
	}
	return "", int64(f), false, true
}

// Elements calls fn for each element of the array in b, in order, and reports whether it came to the array's end. What
// is no array has no elements.
func Elements(b []byte, fn func(value []byte)) (whole bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	i = skipSpace(b, i+1)
	first := i
	for i < len(b) && b[i] != ']' {
		var depth int
		end, err := skipValue(b, i, &depth)
		if err != nil {
			return false
		}
		fn(b[i:end])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == ']'
		}
		i = skipSpace(b, i+1)
	}
	return i == first && i < len(b) && b[i] == ']'
}

// Depth returns how deep the value in b nests: 0 for a scalar, 1 for an object or array of scalars.
func Depth(b []byte) int {
	depth, i := 0, skipSpace(b, 0)
	if i < len(b) {
		_, _ = skipValue(b, i, &depth) // a value that breaks off is as deep as it came
	}
	return depth
}

// Text decodes a JSON string; what is none gives "".
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return string(unescape(raw[1 : len(raw)-1]))
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// Repair rewrites what servers get wrong inside strings, so that the value can be decoded after all: raw control
// characters are escaped and invalid UTF-8 is replaced by U+FFFD.
func Repair(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(raw)+16)
	inString := false
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		switch {
		case inString && b == '\\' && i+1 < len(raw):
			out = append(out, b)
			i++
			b = raw[i]
		case b == '"':
			inString = !inString
		}
		if inString && b < 0x20 {
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
			continue
		}
		out = append(out, b)
	}
	return out
}
