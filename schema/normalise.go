package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxChanges bounds the changes that are told; the last one then says that there are more.
const MaxChanges = 200

// Change is one change to a schema and its reason, for a person.
type Change struct {
	Path string `json:"path"` // a JSON Pointer into the original; "" is the root
	What string `json:"what"`
	Why  string `json:"why"`
}

// Result is a schema for a model.
type Result struct {
	// Schema is an object schema. It is the original, byte for byte, when nothing had to change.
	Schema json.RawMessage `json:"schema"`
	// Strict says that the schema fits OpenAI's strict mode, so that the tool may be sent with "strict": true.
	Strict bool `json:"strict"`
	// NoArguments says that the tool takes none: some APIs want such a tool without any schema.
	NoArguments bool     `json:"noArguments"`
	Changes     []Change `json:"changes"`

	root *node // with the marks that Arguments needs
}

// Normalise writes a copy of a tool's input schema for a profile. It returns an error for an unknown profile only:
// whatever the schema is, the result is usable, and its changes explain it.
func Normalise(raw json.RawMessage, profile Profile) (Result, error) {
	if !slices.Contains(Profiles(), profile) {
		_, err := ParseProfile(string(profile))
		if err == nil {
			err = fmt.Errorf("profile %.40q is unknown", string(profile))
		}
		return Result{}, err
	}
	if len(raw) == 0 {
		return permissive("", "the tool has no input schema", profile), nil
	}
	root, err := parse(raw)
	if err != nil {
		return permissive("replaced by an object with any members", err.Error(), profile), nil
	}
	n := newNormaliser(root, profile.rules())
	out := n.document(root)
	if why := beyondStrict(out); profile == OpenAIStrict && n.open == nil && why != "" {
		n.impossible(&place{}, why)
	}
	if profile == OpenAIStrict && n.open != nil {
		reason := *n.open
		n = newNormaliser(root, OpenAI.rules())
		out = n.document(root)
		n.changes = append([]Change{reason}, n.changes...)
		profile = OpenAI
	}
	encoded := out.encode()
	if len(encoded) > MaxBytes {
		r := permissive("replaced by an object with any members", (&BoundsError{"bytes", MaxBytes}).Error()+" when it is written out", profile)
		return r, nil
	}
	r := Result{Schema: encoded, Strict: profile == OpenAIStrict, Changes: n.changes, root: out}
	r.NoArguments = len(out.get("properties").list()) == 0 && !open(out)
	if len(n.changes) == 0 {
		r.Schema = slices.Clone(raw)
	}
	return r, nil
}

// open reports whether an object schema says that it takes members of any name.
func open(n *node) bool {
	for _, key := range []string{"additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf", "$ref"} {
		if v := n.get(key); v != nil && !v.isScalar("false") {
			return true
		}
	}
	return false
}

func (n *node) list() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// permissive is the schema of last resort.
func permissive(what, why string, profile Profile) Result {
	out := newObject(member{"type", newText("object")})
	if what != "" {
		out.set("description", newText("Any arguments: the tool's own schema cannot be used here ("+cut(why, 200)+")."))
	}
	out.set("properties", newObject())
	if profile == OpenAI || profile == Generic || profile == OpenAIStrict {
		out.set("additionalProperties", newScalar("true"))
	}
	if what == "" {
		what = "an object with any members was made for it"
	}
	return Result{Schema: out.encode(), Changes: []Change{{Path: "", What: what, Why: why}}, root: out}
}

// normaliser rewrites one document. It reads the original tree and never changes it.
type normaliser struct {
	rules   rules
	root    *node
	refs    *references
	changes []Change
	written int           // nodes so far
	inside  map[*node]int // how often each target of a reference is being written out right now
	open    *Change       // why strict mode cannot express the schema
}

func newNormaliser(root *node, r rules) *normaliser {
	return &normaliser{rules: r, root: root, refs: newReferences(root), inside: map[*node]int{}}
}

func (n *normaliser) tell(at *place, what, why string) {
	switch c := len(n.changes); {
	case c < MaxChanges-1:
		n.changes = append(n.changes, Change{Path: at.String(), What: what, Why: why})
	case c == MaxChanges-1:
		n.changes = append(n.changes, Change{What: "more changes than are listed", Why: fmt.Sprintf("only %d are kept", MaxChanges)})
	}
}

// notFor tells a change that the API makes necessary.
func (n *normaliser) notFor(at *place, what, unaccepted string) {
	n.tell(at, what, n.rules.api+" does not accept "+unaccepted)
}

// impossible says that strict mode cannot express the schema. The first reason is kept.
func (n *normaliser) impossible(at *place, why string) {
	if n.rules.closed && n.open == nil {
		n.open = &Change{Path: at.String(), What: "written for OpenAI without strict mode", Why: why}
	}
}

// document rewrites the whole schema; the root becomes an object schema whatever it was.
func (n *normaliser) document(root *node) *node {
	at := &place{}
	if root.kind != object {
		n.tell(at, "replaced by an object with any members", "a schema of arguments is an object")
		n.impossible(at, "the tool takes any members")
		return newObject(member{"type", newText("object")}, member{"properties", newObject()})
	}
	r := root.shallow()
	if !n.rules.rootUnion {
		r = n.flattenRoot(r, at)
	}
	r = n.rootType(r, at)
	if p := r.get("properties"); p == nil {
		if !n.rules.rootUnion || !composed(r) {
			n.tell(at, "empty properties added", "model APIs want an object to say its properties")
			r.set("properties", newObject())
		}
	} else if p.kind != object {
		n.tell(at.at("properties"), "replaced by none", "properties is an object of schemas")
		r.set("properties", newObject())
	}
	out := n.schema(r, at, 0)
	if out.text("type") != "object" { // what rewriting made of it; arguments are an object in any case
		out.setType("object")
	}
	return out
}

func composed(n *node) bool {
	for _, key := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
		if n.get(key) != nil {
			return true
		}
	}
	return false
}

func (n *normaliser) rootType(r *node, at *place) *node {
	types, given := typesOf(r)
	switch {
	case given && len(types) == 1 && types[0] == "object" && r.get("type").kind == text:
		return r
	case !given:
		n.tell(at, "type object added", "model APIs want the type of the arguments, which are an object")
	case slices.Contains(types, "object"):
		n.tell(at.at("type"), "only object is kept", "arguments are always an object")
	default:
		n.tell(at, "replaced by an object with any members", "arguments are always an object, and the schema says "+strings.Join(types, ", "))
		n.impossible(at, "the tool takes any members")
		out := newObject(member{"type", newText("object")})
		if d := r.get("description"); d != nil {
			out.set("description", d)
		}
		return out
	}
	r.setType("object")
	return r
}

// typesOf are the type names of a schema; given is false when type is absent or no type at all.
func typesOf(n *node) (types []string, given bool) {
	t := n.get("type")
	switch {
	case t == nil:
	case t.kind == text && isType(t.str):
		return []string{t.str}, true
	case t.kind == array:
		for _, item := range t.items {
			if item.kind == text && isType(item.str) && !slices.Contains(types, item.str) {
				types = append(types, item.str)
			}
		}
	}
	return types, len(types) > 0
}

func isType(name string) bool {
	switch name {
	case "object", "array", "string", "number", "integer", "boolean", "null":
		return true
	}
	return false
}

// schema rewrites one schema at a depth of the output.
func (n *normaliser) schema(s *node, at *place, depth int) *node {
	switch {
	case s.isBool():
		return n.boolean(s, at)
	case s.kind != object:
		n.tell(at, "replaced by a schema for anything", "it is neither an object nor a boolean")
		s = newObject()
	}
	if n.written++; n.written > MaxNodes {
		n.tell(at, "left out", "written out, "+(&BoundsError{"nodes", MaxNodes}).Error())
		n.impossible(at, "the schema is too large when it is written out")
		return n.stub(s, "Not described: the schema is too large.")
	}
	if depth >= MaxDepth {
		n.tell(at, "left out", "written out, "+(&BoundsError{"depth", MaxDepth}).Error())
		n.impossible(at, "the schema is too deep when it is written out")
		return n.stub(s, "Not described: the schema is too deep.")
	}
	s, targets, keep := n.resolve(s, at)
	if keep != nil {
		return keep
	}
	for _, t := range targets {
		n.inside[t]++
	}
	defer func() {
		for _, t := range targets {
			n.inside[t]--
		}
	}()
	notes := &notes{}
	if n.rules.flatten {
		s = n.alternatives(s, at, notes)
	}
	if n.rules.oneType {
		if split, ok := n.splitTypes(s, at); ok {
			s = split
		}
	}
	out := n.keywords(s, at, depth, notes)
	n.complete(out, s, at)
	notes.into(out)
	if n.rules.oneType {
		n.aloneAnyOf(out, at)
	}
	return out
}

func (n *normaliser) boolean(s *node, at *place) *node {
	if !n.rules.noBools {
		return s
	}
	n.notFor(at, "replaced by a schema for anything", "true and false as schemas")
	n.impossible(at, "strict mode has no schema for anything")
	if s.isScalar("false") {
		return n.stub(newObject(), "Not allowed: leave it out.")
	}
	return n.stub(newObject(), "")
}

// stub is a schema that says no more than a type, as far as it is known.
func (n *normaliser) stub(s *node, about string) *node {
	out := newObject()
	if t := infer(s); t != "" {
		out.set("type", newText(t))
		if t == "array" && n.rules.items {
			items := newObject()
			if n.rules.oneType {
				items.set("type", newText("string"))
			}
			out.set("items", items)
		}
	} else if n.rules.oneType {
		out = anything()
	}
	if about != "" {
		if any := out.get("anyOf"); any != nil {
			any.items[0].set("description", newText(about))
		} else {
			out.set("description", newText(about))
		}
	}
	return out
}

// anything is what stands for a schema without a type where each schema needs one.
func anything() *node {
	var branches []*node
	for _, t := range []string{"string", "number", "boolean", "object"} {
		branches = append(branches, newObject(member{"type", newText(t)}))
	}
	return newObject(member{"anyOf", newArray(branches...)})
}

// infer tells a schema's type from its keywords; "" when they do not tell.
func infer(s *node) string {
	if types, ok := typesOf(s); ok {
		for _, t := range types {
			if t != "null" {
				return t
			}
		}
	}
	for _, m := range s.list() {
		switch m.key {
		case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties":
			return "object"
		case "items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems":
			return "array"
		case "pattern", "minLength", "maxLength", "format", "contentEncoding", "contentMediaType":
			return "string"
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
			return "number"
		case "enum":
			return commonType(m.value.items)
		}
	}
	return ""
}

// commonType is the one type of all values that are not null; "" when there is no one.
func commonType(values []*node) string {
	found := ""
	for _, v := range values {
		t := ""
		switch {
		case v.isScalar("null"):
			continue
		case v.kind == text:
			t = "string"
		case v.isBool():
			t = "boolean"
		case v.kind == scalar:
			t = "integer"
			if _, err := strconv.ParseInt(v.str, 10, 64); err != nil {
				t = "number"
			}
		case v.kind == object:
			t = "object"
		default:
			t = "array"
		}
		switch {
		case found == "" || found == t:
			found = t
		case found == "integer" && t == "number", found == "number" && t == "integer":
			found = "number"
		default:
			return ""
		}
	}
	return found
}

// keywords rewrites the members of a schema one by one, in their order.
func (n *normaliser) keywords(s *node, at *place, depth int, notes *notes) *node {
	out := newObject()
	for _, m := range s.members {
		here := at.at(m.key)
		switch {
		case !n.rules.keeps(m.key):
			n.drop(m, here, notes)
		case m.key == "format" && n.rules.formats != nil && !slices.Contains(n.rules.formats, m.value.str):
			n.drop(m, here, notes)
		case m.key == "items" && n.rules.flatten && m.value.isBool() && s.get("prefixItems") != nil:
			n.notFor(here, "left out", "a boolean as items") // complete makes items of prefixItems
			if m.value.isScalar("false") {
				notes.say("no more items than these")
			}
		case m.key == "enum" && n.rules.textEnums:
			n.textEnum(m.value, out, here, notes)
		default:
			if v := n.value(m, here, depth+1); v != nil {
				out.set(m.key, v)
			}
		}
	}
	return out
}

func (n *normaliser) drop(m member, at *place, notes *notes) {
	if m.key == "additionalProperties" && m.value.isScalar("true") || m.key == "uniqueItems" && m.value.isScalar("false") {
		n.notFor(at, "left out", m.key+"; it said nothing that is not so anyway")
		return
	}
	if silent(m.key) {
		n.notFor(at, "left out", m.key)
		return
	}
	what := m.key
	if m.key == "format" {
		what = "the format " + strconv.Quote(cut(m.value.str, 60))
	}
	n.notFor(at, "moved into the description", what)
	notes.add(m.key, m.value)
}

// value rewrites what a keyword holds. It is nil when the keyword has to go.
func (n *normaliser) value(m member, at *place, depth int) *node {
	form := holds(m.key)
	if form == eitherForm {
		form = oneSchema
		if m.value.kind == array {
			if n.rules.items {
				return n.tuple(m.value, at, depth)
			}
			form = schemaList
		}
	}
	switch form {
	case oneSchema:
		if m.value.isBool() && m.key != "items" {
			return m.value // true and false are ordinary values of additionalProperties and its like
		}
		return n.schema(m.value, at, depth)
	case schemaList:
		if m.value.kind != array {
			n.tell(at, "left out", m.key+" is an array of schemas")
			return nil
		}
		out := newArray()
		for i, item := range m.value.items {
			out.items = append(out.items, n.schema(item, at.at(strconv.Itoa(i)), depth+1))
		}
		return out
	case schemaMap, mixedMap:
		if m.value.kind != object {
			n.tell(at, "left out", m.key+" is an object of schemas")
			return nil
		}
		out := newObject()
		for _, p := range m.value.members {
			if form == mixedMap && p.value.kind == array {
				out.members = append(out.members, p)
				continue
			}
			if m.key == "properties" && n.rules.noBools && p.value.isScalar("false") {
				n.notFor(at.at(p.key), "left out", "false as a schema; the property is never allowed")
				continue
			}
			out.members = append(out.members, member{p.key, n.schema(p.value, at.at(p.key), depth+1)})
		}
		return out
	}
	if m.key == "required" {
		return n.required(m.value, at)
	}
	return m.value
}

func (n *normaliser) required(v *node, at *place) *node {
	if v.kind != array {
		n.tell(at, "left out", "required is an array of names")
		return nil
	}
	out := newArray()
	for _, item := range v.items {
		if item.kind == text {
			out.items = append(out.items, item)
		}
	}
	if len(out.items) != len(v.items) {
		n.tell(at, "entries that are no names left out", "required is an array of names")
	}
	return out
}
