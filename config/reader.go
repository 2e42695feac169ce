package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/internal/nearest"
)

// maxClock bounds the clocks of a server.
const maxClock = 24 * time.Hour

// reader reads typed values and collects the errors of one server, or of the file when server is empty.
type reader struct {
	*parser
	server   string
	problems Problems
	expanded []Secret
}

func (r *reader) fail(v hujson.Value, path, message string) {
	problem := r.problem(SeverityError, v, path, r.server, message)
	r.config.Problems = append(r.config.Problems, problem)
	r.problems = append(r.problems, problem)
}

// text reads a string and expands it.
func (r *reader) text(path string, v hujson.Value) (string, bool) {
	if v.Value.Kind() != '"' {
		message := "want a string, got " + kindOf(v)
		if k := v.Value.Kind(); k == '0' || k == 't' || k == 'f' {
			message += "; put it in quotes"
		}
		r.fail(v, path, message)
		return "", false
	}
	s, refs, err := expand(v.Value.(hujson.Literal).String(), r.lookup)
	if err != nil {
		r.fail(v, path, err.Error())
		return "", false
	}
	for _, ref := range refs {
		if looksSecret(ref.name) && ref.value != "" && !slices.Contains(r.expanded, Secret(ref.value)) {
			r.expanded = append(r.expanded, Secret(ref.value))
		}
	}
	return s, true
}

// filled reads a string that may not be empty.
func (r *reader) filled(path string, v hujson.Value) (string, bool) {
	s, ok := r.text(path, v)
	if ok && strings.TrimSpace(s) == "" {
		message := "is empty"
		if v.Value.(hujson.Literal).String() != s {
			message = "is empty after expansion"
		}
		r.fail(v, path, message)
		return "", false
	}
	return s, ok
}

// texts reads an array of strings; it is not nil when the array was one. With names, empty and repeated members
// are errors and warnings.
func (r *reader) texts(path string, v hujson.Value, names bool) []string {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		message := "want an array of strings, got " + kindOf(v)
		if v.Value.Kind() == '"' {
			message += "; put it in brackets"
		}
		r.fail(v, path, message)
		return nil
	}
	list := make([]string, 0, len(array.Elements))
	for i, element := range array.Elements {
		at := path + "[" + strconv.Itoa(i) + "]"
		read := r.text
		if names {
			read = r.filled
		}
		s, ok := read(at, element)
		if !ok {
			continue
		}
		if strings.ContainsRune(s, 0) {
			r.fail(element, at, "holds a NUL character")
			continue
		}
		if names && slices.Contains(list, s) {
			r.report(SeverityWarning, element, at, r.server, "is in the list already")
			continue
		}
		list = append(list, s)
	}
	return list
}

// secrets reads an object of strings whose values are not to be shown.
func (r *reader) secrets(path string, v hujson.Value) map[string]Secret {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		r.fail(v, path, "want an object of strings, got "+kindOf(v))
		return nil
	}
	values := make(map[string]Secret, len(object.Members))
	for _, m := range object.Members {
		name := memberName(m)
		at := join(path, name)
		switch _, twice := values[name]; {
		case twice:
			r.fail(m.Name, at, "is given twice")
		case name == "" || strings.ContainsAny(name, "=\x00"):
			r.fail(m.Name, at, "is no name for a value")
		default:
			s, ok := r.text(at, m.Value)
			if ok && strings.ContainsRune(s, 0) {
				r.fail(m.Value, at, "holds a NUL character")
			}
			values[name] = Secret(s)
		}
	}
	return values
}

func (r *reader) boolean(path string, v hujson.Value) bool {
	switch v.Value.Kind() {
	case 't':
		return true
	case 'f':
		return false
	}
	message := "want true or false, got " + kindOf(v)
	if lit, ok := v.Value.(hujson.Literal); ok && (lit.String() == "true" || lit.String() == "false") {
		message += "; leave out the quotes"
	}
	r.fail(v, path, message)
	return false
}

// choice reads one of a few words; those maps what may be written to what it means, want names them for a message.
func (r *reader) choice(path string, v hujson.Value, those map[string]string, want string) string {
	if v.Value.Kind() != '"' {
		r.fail(v, path, "want "+want+", got "+kindOf(v))
		return ""
	}
	s, ok := r.filled(path, v)
	if !ok {
		return ""
	}
	meaning, ok := those[s]
	if !ok {
		words := make([]string, 0, len(those))
		for word := range those {
			words = append(words, word)
		}
		slices.Sort(words)
		message := fmt.Sprintf("want %s, got %s", want, clip(string(v.Value.(hujson.Literal))))
		if near := nearest.Name(s, words); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		r.fail(v, path, message)
	}
	return meaning
}

// integer reads a whole number from 1 to high; 0 when it is none.
func (r *reader) integer(path string, v hujson.Value, high int64) int64 {
	n, ok := whole(v)
	if !ok || n < 1 || n > high {
		got := kindOf(v)
		if v.Value.Kind() == '0' {
			got = clip(v.Value.(hujson.Literal).String())
		}
		r.fail(v, path, fmt.Sprintf("want a whole number from 1 to %d, got %s", high, got))
		return 0
	}
	return n
}

// whole reads a JSON number that is an integer, 30000.0 and 3e4 included.
func whole(v hujson.Value) (int64, bool) {
	if v.Value.Kind() != '0' {
		return 0, false
	}
	text := v.Value.(hujson.Literal).String()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// duration reads "90s" or whole milliseconds, more than 0 and at most 24 h.
func (r *reader) duration(path string, v hujson.Value) time.Duration {
	const want = `want a duration like "90s" or milliseconds`
	var d time.Duration
	switch v.Value.Kind() {
	case '"':
		s, ok := r.filled(path, v)
		if !ok {
			return 0
		}
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			r.fail(v, path, want+", got "+clip(string(v.Value.(hujson.Literal))))
			return 0
		}
	case '0':
		n, ok := whole(v)
		if !ok {
			r.fail(v, path, want+", got "+clip(v.Value.(hujson.Literal).String()))
			return 0
		}
		d = milliseconds(n)
	default:
		r.fail(v, path, want+", got "+kindOf(v))
		return 0
	}
	return r.clock(path, v, d)
}

// millis reads whole milliseconds.
func (r *reader) millis(path string, v hujson.Value) (time.Duration, bool) {
	n, ok := whole(v)
	if !ok {
		got := kindOf(v)
		if lit, isLiteral := v.Value.(hujson.Literal); isLiteral {
			got = clip(string(lit))
		}
		r.fail(v, path, "want whole milliseconds such as 30000, got "+got)
		return 0, false
	}
	d := r.clock(path, v, milliseconds(n))
	return d, d > 0
}

// milliseconds saturates instead of overflowing.
func milliseconds(n int64) time.Duration {
	const most = int64(2 * maxClock / time.Millisecond)
	return time.Duration(min(max(n, -1), most)) * time.Millisecond
}

func (r *reader) clock(path string, v hujson.Value, d time.Duration) time.Duration {
	switch {
	case d <= 0:
		r.fail(v, path, "want more than 0; leave the field out for the default")
	case d > maxClock:
		r.fail(v, path, "want at most 24h")
	default:
		return d
	}
	return 0
}
