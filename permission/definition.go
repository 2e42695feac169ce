package permission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Definition is what a person agrees to when they allow a tool: what the model is told about it, and what it takes
// and gives. The schemas and annotations are as the server sent them; nil means absent.
type Definition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

// Hash identifies the definition: SHA-256, in hex. The order of members and white space in the JSON parts do not
// count, everything else does, the spelling of numbers included.
func (d Definition) Hash() string {
	h := sha256.New()
	part := func(data []byte) {
		fmt.Fprintf(h, "%d:", len(data))
		h.Write(data)
	}
	part([]byte("usher tool 1"))
	part([]byte(d.Name))
	part([]byte(d.Description))
	for _, raw := range []json.RawMessage{d.InputSchema, d.OutputSchema, d.Annotations} {
		part(canonical(raw))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is JSON in one form for equal values. What is not JSON stands for itself, marked as such.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	value, ok := decode(raw)
	if !ok {
		return append([]byte{0}, raw...)
	}
	return encode(value)
}

func decode(raw json.RawMessage) (any, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return value, errors.Is(err, io.EOF)
}

// encode writes maps in the order of their keys.
func encode(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil { // what decode returned can be encoded
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Change is one difference between two definitions, for a person to read. Text in it is safe to print: characters
// that do not show are written as escapes.
type Change struct {
	// Where is the field, with the JSON Pointer of the place in it: "description", "inputSchema/properties/path".
	Where string `json:"where"`
	// Before and After are empty where there was nothing, or is nothing now. Strings are quoted; what is long is cut.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String is the change in one line.
func (c Change) String() string {
	switch {
	case c.Before == "":
		return c.Where + ": added " + c.After
	case c.After == "":
		return c.Where + ": removed " + c.Before
	default:
		return c.Where + ": " + c.Before + " → " + c.After
	}
}

const (
	// MaxChanges bounds a difference; the last one then says that there are more.
	MaxChanges = 50
	// maxShown bounds each side of a change, in characters.
	maxShown = 400
	// maxPlace bounds how deep in a schema the place of a change is told; what changed deeper is shown as a whole.
	maxPlace = 64
)

// Diff lists what changed from one definition to the next, in a stable order. It is empty exactly when their hashes
// are equal.
func Diff(before, after Definition) []Change {
	d := differ{}
	d.text("name", before.Name, after.Name)
	d.text("description", before.Description, after.Description)
	d.json("inputSchema", before.InputSchema, after.InputSchema)
	d.json("outputSchema", before.OutputSchema, after.OutputSchema)
	d.json("annotations", before.Annotations, after.Annotations)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(c Change) {
	switch n := len(d.changes); {
	case n < MaxChanges-1:
		d.changes = append(d.changes, c)
	case n == MaxChanges-1:
		d.changes = append(d.changes, Change{Where: "…", After: "more than can be shown"})
	}
}

func (d *differ) text(where, before, after string) {
	if before != after {
		// Show where they part, so that a change deep in a long text is seen.
		b, a := apart([]rune(before), []rune(after))
		d.add(Change{Where: where, Before: b, After: a})
	}
}

func (d *differ) json(where string, before, after json.RawMessage) {
	if bytes.Equal(canonical(before), canonical(after)) {
		return
	}
	b, okB := decode(before)
	a, okA := decode(after)
	switch {
	case okB && okA:
		d.values(where, b, a, 0)
	default:
		d.add(Change{Where: where, Before: raw(before, b, okB), After: raw(after, a, okA)})
	}
}

func raw(text json.RawMessage, value any, ok bool) string {
	switch {
	case len(text) == 0:
		return ""
	case ok:
		return show(value)
	default:
		return quote([]rune(string(text)))
	}
}

// values compares two decoded values. It takes time in proportion to their size: what lies deep is compared once,
// as a whole.
func (d *differ) values(where string, before, after any, depth int) {
	if len(d.changes) >= MaxChanges {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && depth < maxPlace {
			d.members(where, b, a, depth+1)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) && depth < maxPlace {
			for i := range b {
				d.values(where+"/"+strconv.Itoa(i), b[i], a[i], depth+1)
			}
			return
		}
	case string:
		if a, ok := after.(string); ok {
			d.text(where, b, a)
			return
		}
	}
	if !bytes.Equal(encode(before), encode(after)) {
		d.add(Change{Where: where, Before: show(before), After: show(after)})
	}
}

func (d *differ) members(where string, before, after map[string]any, depth int) {
	keys := slices.Sorted(maps.Keys(before))
	for k := range after {
		if _, both := before[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		b, inBefore := before[k]
		a, inAfter := after[k]
		at := where + "/" + visible(strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
		switch {
		case !inBefore:
			d.add(Change{Where: at, After: show(a)})
		case !inAfter:
			d.add(Change{Where: at, Before: show(b)})
		default:
			d.values(at, b, a, depth)
		}
	}
}

func show(value any) string {
	if s, ok := value.(string); ok {
		return quote([]rune(s))
	}
	text := []rune(visible(string(encode(value))))
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}

// apart quotes two different texts from shortly before the place where they part.
func apart(before, after []rune) (b, a string) {
	const context = 40
	same := 0
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	if same <= 2*context {
		return quote(before), quote(after)
	}
	from := same - context
	return "…" + quote(before[from:]), "…" + quote(after[from:])
}

func quote(text []rune) string {
	cut := ""
	if len(text) > maxShown {
		text, cut = text[:maxShown], "…"
	}
	return strconv.QuoteToGraphic(string(text)) + cut
}

// visible writes what does not show, or would move the text around it, as escapes.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
