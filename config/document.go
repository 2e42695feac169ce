package config

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	// maxFile bounds a configuration file, in bytes.
	maxFile = 1 << 20
	// maxDepth bounds the nesting of a file; the parser recurses.
	maxDepth = 64
)

// document is a parsed file that knows the place of each of its values.
type document struct {
	data  []byte
	lines []int // offset of the first byte of each line
	root  hujson.Value
}

var bom = []byte("\ufeff")

// newDocument parses data. On failure the problem has a place within the file and no Severity, File or Server.
func newDocument(data []byte) (*document, *Problem) {
	if len(data) > maxFile {
		return nil, &Problem{Line: 1, Column: 1, Message: fmt.Sprintf("is larger than %d KiB", maxFile>>10)}
	}
	data = bytes.TrimPrefix(data, bom)
	d := &document{data: data, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, d.problemAt(i, "is not UTF-8 text")
	}
	if i := tooDeep(data); i >= 0 {
		return nil, d.problemAt(i, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, d.problemAt(0, `is empty; the least that works is {"mcpServers": {}}`)
	}
	// A line comment at the very end may lack its line end.
	root, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, d.syntaxProblem(err)
	}
	d.root = root
	return d, nil
}

var hujsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s:(.*))$`)

// syntaxProblem turns the parser's error into a problem. Only the messages without text from the file are
// passed on: a broken string may be a secret.
func (d *document) syntaxProblem(err error) *Problem {
	m := hujsonPlace.FindStringSubmatch(err.Error())
	if m == nil {
		return d.problemAt(0, "is not JSON")
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	offset := len(d.data)
	if line >= 1 && line <= len(d.lines) {
		offset = min(d.lines[line-1]+max(column, 1)-1, len(d.data))
	}
	message := "JSON syntax: " + m[3]
	if bytes.HasPrefix([]byte(m[3]), []byte("invalid literal")) {
		message = "JSON syntax: this is no valid string, number, true, false or null"
		if offset < len(d.data) && d.data[offset] == '"' {
			message = `JSON syntax: this string is not valid; is a closing quote missing, or a "\" or line break inside it not escaped?`
		}
	}
	return d.problemAt(offset, message)
}

func (d *document) problemAt(offset int, message string) *Problem {
	line, column := d.place(offset)
	return &Problem{Line: line, Column: column, Message: message}
}

// place gives the line and the column, in characters, of a byte offset.
func (d *document) place(offset int) (line, column int) {
	offset = min(max(offset, 0), len(d.data))
	line = sort.SearchInts(d.lines, offset+1)
	return line, 1 + utf8.RuneCount(d.data[d.lines[line-1]:offset])
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// tooDeep gives the offset at which data is nested deeper than maxDepth, or -1.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			if n := commentLength(data[i:]); n > 0 {
				i += n - 1
			}
		}
	}
	return -1
}

func commentLength(data []byte) int {
	start, end := 2, []byte("\n")
	switch {
	case bytes.HasPrefix(data, []byte("//")):
	case bytes.HasPrefix(data, []byte("/*")):
		end = []byte("*/")
	default:
		return 0
	}
	if i := bytes.Index(data[start:], end); i >= 0 {
		return start + i + len(end)
	}
	return len(data)
}

// kindOf names a value for a message, without its text.
func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return string(v.Value.(hujson.Literal)) // true or false
	}
}

func memberName(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }
