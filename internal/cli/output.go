package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/usher-mcp/usher/client"
)

// printJSON writes v as one line on standard output.
func (a *app) printJSON(v any) error {
	text, err := jsonLine(v)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return a.write(text)
}

// write writes to standard output.
func (a *app) write(data []byte) error {
	_, err := a.stdout.Write(data)
	if err == nil {
		return nil
	}
	reason := err
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathErr.Err
	}
	return &client.Error{
		Code: client.CodeInvalid, Message: fmt.Sprintf("writing to standard output: %v", reason), Err: err,
		Hint: "the output is lost or cut short; what the command did is done all the same",
	}
}

// jsonLine is v as one line of JSON that does nothing to a terminal: control characters and what reorders text are
// escaped, and bytes that are no text replaced.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	text := b.Bytes()
	harmless := func(r rune, size int) bool {
		return r != utf8.RuneError && r != 0x7f && (r < 0x80 || r > 0x9f) && !unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError && size > 1
	}
	var escaped []byte // nil as long as text is good as it is
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		switch good := harmless(r, size); {
		case !good && escaped == nil:
			escaped = append(make([]byte, 0, len(text)+64), text[:i]...)
			fallthrough
		case !good:
			// All of them lie in the basic plane, and inside strings: JSON has them nowhere else.
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		case escaped != nil:
			escaped = append(escaped, text[i:i+size]...)
		}
		i += size
	}
	if escaped != nil {
		return escaped, nil
	}
	return text, nil
}

// print writes text from a server to standard output; on a terminal it cannot move the cursor or change colours.
func (a *app) print(text string) error {
	if isTerminal(a.stdout) {
		text = printable(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return a.write([]byte(text))
}

// printable replaces control characters other than line end and tab, and what reorders text on a screen.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '\ufffd'
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// line is text for one cell of a table: printable, on one line, at most limit characters.
func line(s string, limit int) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if utf8.RuneCountInString(s) > limit {
		s = strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
	}
	return s
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(printable(s), "\n"), "\n", "\n"+by)
}

// Styles of a terminal (ECMA-48).
const (
	styleBold  = "\x1b[1m"
	styleDim   = "\x1b[2m"
	styleRed   = "\x1b[31m"
	styleGreen = "\x1b[32m"
	styleReset = "\x1b[0m"
)

// cell is one field of a table.
type cell struct{ text, style string }

// table writes rows with aligned columns. Styles are used on a terminal, unless NO_COLOR is set.
func (a *app) table(rows [][]cell) error {
	colour := isTerminal(a.stdout) && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		last := len(row) - 1
		for last > 0 && row[last].text == "" {
			last--
		}
		for i, c := range row[:last+1] {
			padding := ""
			if i < last {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2)
			}
			if colour && c.style != "" {
				c.text = c.style + c.text + styleReset
			}
			b.WriteString(c.text + padding)
		}
		b.WriteString("\n")
	}
	return a.write([]byte(b.String()))
}
