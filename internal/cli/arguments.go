package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/nearest"
)

// keyedArguments makes the arguments of a tool from key=value and key:=JSON pairs, each value read by the type
// that the tool's input schema gives its key. The order of the pairs is kept.
func keyedArguments(tool usher.Tool, pairs []string) (json.RawMessage, error) {
	s := newSchema(tool.InputSchema)
	invalid := func(format string, args ...any) error {
		return &client.Error{
			Server: tool.Server, Code: client.CodeInvalid, Message: fmt.Sprintf(format, args...), Hint: s.usage(tool),
		}
	}
	properties := s.properties()
	var (
		keys   []string
		values = map[string][]json.RawMessage{}
		known  []string
	)
	for _, p := range properties {
		known = append(known, p.name)
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		key, raw := strings.CutSuffix(key, ":")
		if !ok || key == "" {
			return nil, invalid("%q: want key=value or key:=JSON", pair)
		}
		i := slices.Index(known, key)
		if i < 0 && !s.open() {
			return nil, unknownKey(tool.Server, "tool", tool.Name, key, known)
		}
		var typed json.RawMessage
		var err error
		switch {
		case raw && !json.Valid([]byte(value)):
			err = fmt.Errorf("want JSON, got %s", clipped(value))
		case raw:
			typed = json.RawMessage(value)
		case i < 0:
			typed, err = schema{}.convert(value)
		default:
			typed, err = properties[i].convert(value)
		}
		if err != nil {
			return nil, invalid("%s: %v", key, err)
		}
		if _, again := values[key]; again {
			if i < 0 || !properties[i].allows("array") {
				return nil, invalid("%s is given twice, and takes one value", key)
			}
		} else {
			keys = append(keys, key)
		}
		values[key] = append(values[key], typed)
	}
	for _, name := range s.required() {
		if len(values[name]) == 0 {
			description := ""
			if i := slices.Index(known, name); i >= 0 {
				description = about(properties[i].description())
			}
			return nil, invalid("tool %s needs %s%s", tool.Name, name, description)
		}
	}
	return object(keys, values)
}

// object writes the arguments in order. Repeated keys are lists: one value that is an array stands for itself.
func object(keys []string, values map[string][]json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		list := values[key]
		if len(list) == 1 {
			b.Write(list[0])
			continue
		}
		b.WriteByte('[')
		for j, value := range list {
			if j > 0 {
				b.WriteByte(',')
			}
			// A value of a list was made a list of one; here it is one of several.
			var inner []json.RawMessage
			if json.Unmarshal(value, &inner) == nil {
				value = bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(value), []byte("[")), []byte("]"))
			}
			b.Write(value)
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schema is a JSON Schema as far as the command line needs it: what types a value may have. What it does not
// understand it lets through; the server has the last word.
type schema struct {
	name    string
	members map[string]json.RawMessage
	root    map[string]json.RawMessage // for $ref
	depth   int
}

// maxSchemaDepth bounds references to references.
const maxSchemaDepth = 16

func newSchema(raw json.RawMessage) schema {
	members := decodeObject(raw)
	return schema{members: members, root: members}
}

func decodeObject(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// at is a schema within s, with a local $ref followed.
func (s schema) at(name string, raw json.RawMessage) schema {
	inner := schema{name: name, members: decodeObject(raw), root: s.root, depth: s.depth + 1}
	var ref string
	if json.Unmarshal(inner.members["$ref"], &ref) != nil || inner.depth > maxSchemaDepth {
		return inner
	}
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return inner
	}
	target := s.root
	var found json.RawMessage
	for part := range strings.SplitSeq(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		found = target[part]
		target = decodeObject(found)
	}
	if found == nil {
		return inner
	}
	return inner.at(name, found)
}

// properties are those of an object, in the order written.
func (s schema) properties() []schema {
	raw := s.members["properties"]
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var list []schema
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || decoder.Decode(&value) != nil {
			break
		}
		list = append(list, s.at(name, value))
	}
	return list
}

func (s schema) required() []string {
	var names []string
	if json.Unmarshal(s.members["required"], &names) != nil {
		return nil
	}
	return names
}

// open reports whether an object takes keys that its schema does not name. A schema that names some and says
// nothing of others takes them by the letter of JSON Schema; a misspelt key is far likelier, so it must say so.
func (s schema) open() bool {
	additional, given := s.members["additionalProperties"]
	if given {
		return string(bytes.TrimSpace(additional)) != "false"
	}
	return len(s.properties()) == 0 || s.members["patternProperties"] != nil
}

func (s schema) description() string {
	var text string
	if json.Unmarshal(s.members["description"], &text) != nil {
		return ""
	}
	return text
}

// types are the JSON types a value may have; none means any.
func (s schema) types() []string {
	var one string
	if json.Unmarshal(s.members["type"], &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(s.members["type"], &many) == nil && len(many) > 0 {
		return many
	}
	if values := s.enum(); len(values) > 0 {
		for _, value := range values {
			many = append(many, typeOf(value))
		}
		return many
	}
	if s.depth > maxSchemaDepth {
		return nil
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		var alternatives []json.RawMessage
		if json.Unmarshal(s.members[word], &alternatives) != nil {
			continue
		}
		for _, alternative := range alternatives {
			types := s.at("", alternative).types()
			if len(types) == 0 {
				return nil
			}
			many = append(many, types...)
		}
	}
	return many
}

func (s schema) allows(kind string) bool {
	types := s.types()
	return len(types) == 0 || slices.Contains(types, kind)
}

// enum are the values that alone are allowed; none means any.
func (s schema) enum() []json.RawMessage {
	var values []json.RawMessage
	if value, ok := s.members["const"]; ok {
		return []json.RawMessage{value}
	}
	if json.Unmarshal(s.members["enum"], &values) != nil {
		return nil
	}
	return values
}

func typeOf(value json.RawMessage) string {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		return "string"
	case value[0] == '{':
		return "object"
	case value[0] == '[':
		return "array"
	case value[0] == 't' || value[0] == 'f':
		return "boolean"
	case value[0] == 'n':
		return "null"
	case bytes.ContainsAny(value, ".eE"):
		return "number"
	default:
		return "integer"
	}
}

// convert reads a word of the command line as a value of this schema.
func (s schema) convert(text string) (json.RawMessage, error) {
	types := s.types()
	value, err := s.typed(types, text)
	if err != nil {
		return nil, err
	}
	if allowed := s.enum(); len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a json.RawMessage) bool { return sameJSON(a, value) }) {
		var words []string
		for _, a := range allowed {
			words = append(words, plainJSON(a))
		}
		message := fmt.Sprintf("want one of %s, got %s", strings.Join(words, ", "), clipped(text))
		if near := nearest.Name(text, words); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, fmt.Errorf("%s", message)
	}
	return value, nil
}

func (s schema) typed(types []string, text string) (json.RawMessage, error) {
	if len(types) == 1 && types[0] == "string" {
		return quoted(text)
	}
	trimmed := strings.TrimSpace(text)
	isJSON := json.Valid([]byte(trimmed))
	kind := ""
	if isJSON {
		kind = typeOf(json.RawMessage(trimmed))
	}
	if slices.Contains(types, "array") && kind != "array" && (len(types) == 1 || !slices.Contains(types, "string")) {
		item, err := s.at("", s.members["items"]).convert(text)
		if err != nil {
			return nil, err
		}
		return json.RawMessage("[" + string(item) + "]"), nil
	}
	switch {
	case kind == "string" && len(types) > 0:
		// The quotes are part of the text.
	case len(types) == 0 && isJSON:
		return json.RawMessage(trimmed), nil
	case slices.Contains(types, kind), kind == "integer" && slices.Contains(types, "number"):
		return json.RawMessage(trimmed), nil
	case kind == "number" && slices.Contains(types, "integer") && isWhole(trimmed):
		return json.RawMessage(trimmed), nil
	}
	if len(types) == 0 || slices.Contains(types, "string") {
		return quoted(text)
	}
	want := strings.Join(slices.Compact(types), " or ")
	switch want {
	case "boolean":
		want = "true or false"
	case "integer":
		want = "a whole number"
	case "number":
		want = "a number"
	case "object":
		want = `an object as JSON, such as '{"key": "value"}'`
	}
	return nil, fmt.Errorf("want %s, got %s", want, clipped(text))
}

// isWhole reports whether a JSON number such as 3.0 or 1e3 is an integer.
func isWhole(number string) bool {
	var f float64
	return json.Unmarshal([]byte(number), &f) == nil && f == float64(int64(f))
}

func quoted(text string) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && (x.String() == y.String() || plainJSON(a) == plainJSON(b) && typeOf(a) == typeOf(b))
}

// plainJSON is a value as it would be written on the command line.
func plainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && typeOf(value) == "string" {
		return text
	}
	return string(value)
}

func clipped(text string) string { return fmt.Sprintf("%q", line(text, 60)) }

// usage is how a tool is called, for a hint.
func (s schema) usage(tool usher.Tool) string {
	words := []string{"usher call", shellWord(tool.Server), shellWord(tool.Name)}
	required := s.required()
	for i, p := range s.properties() {
		if i == 12 {
			words = append(words, "…")
			break
		}
		kind := strings.Join(p.types(), "|")
		if kind == "" {
			kind = "any"
		}
		word := p.name + "=" + strings.ToUpper(kind)
		if !slices.Contains(required, p.name) {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return "usage: " + strings.Join(words, " ")
}
