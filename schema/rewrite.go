package schema

import (
	"slices"
	"strconv"
	"strings"
)

// notes are constraints that go into a description.
type notes struct {
	parts []string
	size  int
}

const (
	maxNote  = 200  // bytes of one constraint
	maxNotes = 1000 // bytes of all constraints of one schema
)

func (n *notes) add(keyword string, value *node) {
	switch {
	case keyword == "additionalProperties" && value.isScalar("false"):
		n.say("no other properties")
		return
	case keyword == "uniqueItems":
		n.say("no item twice")
		return
	}
	shown := value.str
	if value.kind != text {
		shown = string(value.encode())
	}
	n.say(keyword + ": " + cut(shown, maxNote))
}

func (n *notes) say(text string) {
	if n.size += len(text); n.size <= maxNotes {
		n.parts = append(n.parts, text)
	}
}

func (n *notes) into(out *node) {
	if len(n.parts) == 0 {
		return
	}
	about := out.text("description")
	if about != "" {
		about += " "
	}
	out.set("description", newText(about+"("+strings.Join(n.parts, "; ")+")"))
}

// tuple makes one schema of the schemas of an array's places.
func (n *normaliser) tuple(v *node, at *place, depth int) *node {
	n.notFor(at, "one schema made of the schemas for each place", "a list of schemas as items")
	if len(v.items) == 0 {
		return n.schema(newObject(), at, depth)
	}
	if len(v.items) == 1 {
		return n.schema(v.items[0], at.at("0"), depth)
	}
	branches := newArray()
	for i, item := range v.items {
		branches.items = append(branches.items, n.schema(item, at.at(strconv.Itoa(i)), depth+2))
	}
	return newObject(member{"anyOf", branches})
}

// textEnum keeps the values that an API for text enums accepts.
func (n *normaliser) textEnum(v, out *node, at *place, notes *notes) {
	kept := newArray()
	lost := v.kind != array
	for _, item := range v.items {
		switch {
		case item.kind == text && item.str != "":
			kept.items = append(kept.items, item)
		case item.isScalar("null"):
			out.set("nullable", newScalar("true"))
			n.notFor(at, "null made nullable", "null in enum")
		default:
			lost = true
		}
	}
	if !lost {
		if len(kept.items) > 0 {
			out.set("enum", kept)
		}
		return
	}
	n.notFor(at, "moved into the description", "an enum of anything but texts")
	notes.add("one of", v)
}

// complete adds what the API wants every schema to say.
func (n *normaliser) complete(out, s *node, at *place) {
	if p := out.get("prefixItems"); p != nil && out.get("items") == nil && n.rules.items {
		n.notFor(at, "items added", "an array without items")
		out.set("items", newObject())
	}
	if n.rules.keywords == nil && !n.rules.items {
		return
	}
	if n.rules.keywords != nil && out.get("type") == nil && out.get("anyOf") == nil && out.get("$ref") == nil {
		n.addType(out, s, at)
	}
	if types, _ := typesOf(out); slices.Contains(types, "array") && n.rules.items && out.get("items") == nil {
		n.notFor(at, "items added", "an array without items")
		switch prefix := s.get("prefixItems"); {
		case prefix != nil && prefix.kind == array && n.rules.keywords != nil:
			out.set("items", n.tuple(prefix, at.at("prefixItems"), 2))
		case n.rules.oneType:
			out.set("items", anything())
		default:
			n.impossible(at, "the items of an array may be anything, which strict mode cannot say")
			out.set("items", newObject())
		}
	}
	if n.rules.keywords != nil {
		n.requireKnown(out, at)
	}
	if n.rules.closed {
		n.close(out, s, at)
	}
}

func (n *normaliser) addType(out, s *node, at *place) {
	t := infer(s)
	switch {
	case t != "":
		n.notFor(at, "type "+t+" added", "a schema without a type")
		out.setType(t)
	case n.rules.oneType:
		n.notFor(at, "the usual types listed", "a schema for anything")
		any := anything().get("anyOf")
		if enum := s.get("enum"); enum != nil && len(enum.items) > 0 {
			any = alternativesOf(enum.items)
		}
		out.set("anyOf", any)
	default:
		n.impossible(at, "a value may be anything, which strict mode cannot say")
	}
}

// alternativesOf are the types that values have, as schemas.
func alternativesOf(values []*node) *node {
	branches := newArray()
	seen := map[string]bool{"": true}
	for _, v := range values {
		if t := commonType([]*node{v}); !seen[t] {
			seen[t] = true
			branch := newObject(member{"type", newText(t)})
			if t == "array" {
				branch.set("items", anything())
			}
			branches.items = append(branches.items, branch)
		}
	}
	if len(branches.items) == 0 {
		return anything().get("anyOf")
	}
	return branches
}

// requireKnown leaves out of required what is no property: APIs refuse it.
func (n *normaliser) requireKnown(out *node, at *place) {
	required := out.get("required")
	if required == nil {
		return
	}
	kept := newArray()
	for _, item := range required.items {
		if out.get("properties").get(item.str) != nil {
			kept.items = append(kept.items, item)
		}
	}
	if len(kept.items) == len(required.items) {
		return
	}
	n.notFor(at.at("required"), "names without a property left out", "a required property that is not described")
	if len(kept.items) == 0 {
		out.remove("required")
		return
	}
	out.set("required", kept)
}

// close makes an object closed with all its properties required, as strict mode wants it. What was optional becomes
// nullable, and is marked so that Arguments can take the nulls out again.
func (n *normaliser) close(out, s *node, at *place) {
	types, _ := typesOf(out)
	if !slices.Contains(types, "object") {
		return
	}
	properties := out.get("properties")
	root := at.up == nil
	if extra := s.get("additionalProperties"); extra != nil && !extra.isScalar("false") {
		n.impossible(at, "an object takes members of any name, which strict mode cannot say")
	}
	if s.get("patternProperties") != nil || !root && len(properties.list()) == 0 && !s.get("additionalProperties").isScalar("false") {
		n.impossible(at, "an object takes members of any name, which strict mode cannot say")
	}
	if properties == nil {
		properties = newObject()
		out.set("properties", properties)
	}
	if !out.get("additionalProperties").isScalar("false") {
		n.notFor(at, "closed with additionalProperties false", "open objects")
		out.set("additionalProperties", newScalar("false"))
	}
	required := out.get("required")
	names := map[string]bool{}
	if required != nil {
		for _, item := range required.items {
			names[item.str] = true
		}
	}
	all := newArray()
	for i, p := range properties.members {
		all.items = append(all.items, newText(p.key))
		if names[p.key] {
			continue
		}
		n.notFor(at.at("properties").at(p.key), "required; null stands for leaving it out", "optional properties")
		properties.members[i].value = nullable(p.value)
	}
	if required == nil || len(all.items) != len(required.items) {
		out.set("required", all)
	}
}

// nullable is a schema that takes null too. It is marked when it did not before.
func nullable(s *node) *node {
	out := s.shallow()
	out.optional = true
	types, given := typesOf(s)
	switch {
	case s.get("anyOf") != nil:
		any := s.get("anyOf")
		for _, branch := range any.items {
			if types, _ := typesOf(branch); slices.Contains(types, "null") {
				return s
			}
		}
		wider := any.shallow()
		wider.items = append(wider.items, newObject(member{"type", newText("null")}))
		out.set("anyOf", wider)
	case s.get("$ref") != nil:
		out = newObject(member{"anyOf", newArray(s, newObject(member{"type", newText("null")}))})
		out.optional = true
	case !given:
		return s
	default:
		enum := s.get("enum")
		inTypes := slices.Contains(types, "null")
		inEnum := enum == nil || slices.ContainsFunc(enum.items, func(v *node) bool { return v.isScalar("null") })
		if inTypes && inEnum {
			return s
		}
		if !inTypes {
			list := newArray()
			for _, t := range types {
				list.items = append(list.items, newText(t))
			}
			list.items = append(list.items, newText("null"))
			out.set("type", list)
		}
		if !inEnum {
			wider := enum.shallow()
			wider.items = append(wider.items, newScalar("null"))
			out.set("enum", wider)
		}
	}
	return out
}

// splitTypes writes several types as one type, nullable, or as alternatives.
func (n *normaliser) splitTypes(s *node, at *place) (*node, bool) {
	t := s.get("type")
	if t == nil || t.kind == text && t.str != "null" {
		return s, false
	}
	types, _ := typesOf(s)
	out := s.shallow()
	null := slices.Contains(types, "null")
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if null {
		out.set("nullable", newScalar("true"))
	}
	switch len(types) {
	case 0:
		if null {
			n.notFor(at.at("type"), "replaced by a nullable string", "the type null")
			out.set("type", newText("string"))
			return out, true
		}
		out.remove("type")
		return out, true
	case 1:
		if null {
			n.notFor(at.at("type"), "replaced by nullable "+types[0], "a list of types")
		} else {
			n.notFor(at.at("type"), "replaced by "+types[0], "a list of types")
		}
		out.set("type", newText(types[0]))
		return out, true
	}
	n.notFor(at.at("type"), "written as alternatives", "a list of types")
	branches := newArray()
	for _, t := range types {
		branch := newObject(member{"type", newText(t)})
		for _, m := range s.members {
			if m.key != "type" && m.key != "description" && m.key != "title" && m.key != "anyOf" && fits(m.key, t) {
				branch.set(m.key, m.value)
			}
		}
		if null {
			branch.set("nullable", newScalar("true"))
		}
		branches.items = append(branches.items, branch)
	}
	alone := newObject()
	for _, key := range []string{"title", "description"} {
		if v := s.get(key); v != nil {
			alone.set(key, v)
		}
	}
	alone.set("anyOf", branches)
	return alone, true
}

// fits reports whether a keyword can say anything about values of a type.
func fits(keyword, t string) bool {
	about := infer(newObject(member{keyword, newArray()}))
	return about == "" || about == t || about == "number" && t == "integer"
}

// aloneAnyOf moves what stands beside anyOf into its branches, and null out of them.
func (n *normaliser) aloneAnyOf(out *node, at *place) {
	any := out.get("anyOf")
	if any == nil {
		return
	}
	null := out.get("nullable").isScalar("true")
	branches := newArray()
	for _, b := range any.items {
		if b.text("type") == "string" && b.get("nullable").isScalar("true") && len(b.members) == 2 {
			null = true // what the type null was made of
			continue
		}
		branches.items = append(branches.items, b.shallow())
	}
	if len(branches.items) == 0 {
		branches = any
	}
	beside := false
	for _, m := range out.members {
		if m.key == "anyOf" || m.key == "nullable" {
			continue
		}
		beside = true
		for _, b := range branches.items {
			switch own := b.get(m.key); {
			case own == nil:
				b.set(m.key, m.value)
			case m.key == "description":
				b.set(m.key, newText(m.value.str+" "+own.str))
			case m.key == "properties" && own.kind == object:
				merged := own.shallow()
				for _, p := range m.value.list() {
					if merged.get(p.key) == nil {
						merged.members = append(merged.members, p)
					}
				}
				b.set(m.key, merged)
			case m.key == "required" && own.kind == array:
				b.set(m.key, union(m.value, own))
			}
		}
	}
	if beside {
		n.notFor(at, "what stood beside anyOf moved into its branches", "anything beside anyOf")
	}
	if null {
		for _, b := range branches.items {
			b.set("nullable", newScalar("true"))
		}
	}
	if at.up == nil || len(branches.items) > 1 {
		*out = *newObject(member{"anyOf", branches})
	} else {
		*out = *branches.items[0]
	}
}

// union is a list of texts without repetition.
func union(a, b *node) *node {
	out := newArray()
	seen := map[string]bool{}
	for _, list := range []*node{a, b} {
		for _, item := range list.items {
			if item.kind == text && !seen[item.str] {
				seen[item.str] = true
				out.items = append(out.items, item)
			}
		}
	}
	return out
}
