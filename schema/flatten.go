package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// resolve writes out a reference where the API does not take it. It returns the schema to go on with and the
// targets that are being written out with it; or, in keep, what stands instead as it is.
func (n *normaliser) resolve(s *node, at *place) (schema *node, targets []*node, keep *node) {
	for _, key := range []string{"$ref", "$dynamicRef"} {
		ref := s.get(key)
		if ref == nil {
			continue
		}
		if ref.kind != text {
			n.tell(at.at(key), "left out", "a reference is a text")
			s = without(s, key)
			continue
		}
		shown := strconv.Quote(cut(ref.str, 100))
		target, external := n.refs.find(ref.str)
		circular := n.refs.circular(target)
		if target == nil || target.kind != object && !target.isBool() || circular {
			why := "nothing in the schema is called " + shown
			about := "(" + shown + " is not described)"
			switch {
			case circular:
				why = shown + " leads to references only, in a circle"
			case external:
				why = shown + " is in another document, and references are never fetched"
				about = "(described elsewhere: " + shown + ")"
			}
			n.tell(at.at(key), "left out", why)
			n.impossible(at, why)
			s = without(s, key)
			s.set("description", newText(strings.TrimSpace(s.text("description")+" "+about)))
			continue
		}
		if n.rules.keepAllRefs || n.rules.keepRefs && key == "$ref" && stays(ref.str) && (!n.rules.closed || len(s.members) == 1) {
			continue
		}
		if target.isBool() {
			target = newObject()
		}
		if n.inside[target] > 1 || slices.Contains(targets, target) {
			if n.rules.closed && stays(ref.str) {
				n.notFor(at, "what stands beside $ref left out", "anything beside a reference")
				return nil, nil, newObject(member{"$ref", ref})
			}
			n.tell(at.at(key), "not written out again", "the schema contains itself")
			n.impossible(at, "the schema contains itself")
			return nil, nil, n.stub(target, fmt.Sprintf("The same again (%s).", cut(ref.str, 100)))
		}
		n.notFor(at.at(key), "written out", "the reference "+shown)
		targets = append(targets, target)
		s = n.merge(without(s, key), target, at)
		if s.get("$ref") != nil || s.get("$dynamicRef") != nil {
			s, targets = n.resolveChain(s, at, targets)
			return s, targets, nil
		}
	}
	return s, targets, nil
}

// resolveChain follows references that lead to references, each at most once.
func (n *normaliser) resolveChain(s *node, at *place, targets []*node) (*node, []*node) {
	for range MaxDepth {
		ref := s.text("$ref")
		target, _ := n.refs.find(ref)
		if ref == "" || target == nil || target.kind != object || slices.Contains(targets, target) || n.inside[target] > 1 {
			break
		}
		targets = append(targets, target)
		s = n.merge(without(s, "$ref"), target, at)
	}
	if s.get("$ref") != nil || s.get("$dynamicRef") != nil {
		n.tell(at.at("$ref"), "not written out again", "the schema contains itself, or leads nowhere")
		n.impossible(at, "the schema contains itself")
		s = without(without(s, "$ref"), "$dynamicRef")
	}
	return s, targets
}

// stays reports whether a reference is of a kind that model APIs know.
func stays(ref string) bool {
	return ref == "#" || strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")
}

func without(s *node, key string) *node {
	out := s.shallow()
	out.remove(key)
	return out
}

// alternatives rewrites allOf, oneOf and const for an API that knows anyOf and enum.
func (n *normaliser) alternatives(s *node, at *place, notes *notes) *node {
	s = n.mergeAll(s, at)
	if one := s.get("oneOf"); one != nil {
		if s.get("anyOf") == nil && one.kind == array {
			n.notFor(at.at("oneOf"), "replaced by anyOf", "oneOf")
			out := s.shallow()
			for i := range out.members {
				if out.members[i].key == "oneOf" {
					out.members[i].key = "anyOf"
				}
			}
			s = out
			if len(one.items) > 1 {
				notes.say("exactly one of the alternatives")
			}
		}
	}
	if c := s.get("const"); c != nil {
		if n.rules.textEnums && (c.kind != text || c.str == "") {
			n.notFor(at.at("const"), "moved into the description", "const")
			notes.add("always", c)
			s = without(s, "const")
			if t := commonType([]*node{c}); t != "" && s.get("type") == nil {
				s.setType(t)
			}
		} else {
			n.notFor(at.at("const"), "replaced by an enum of one value", "const")
			s = without(s, "const")
			s.set("enum", newArray(c))
		}
	}
	return s
}

// mergeAll takes the branches of allOf together with what stands beside it.
func (n *normaliser) mergeAll(s *node, at *place) *node {
	seen := map[*node]bool{}
	for range MaxDepth {
		all := s.get("allOf")
		if all == nil {
			return s
		}
		s = without(s, "allOf")
		if all.kind != array {
			n.tell(at.at("allOf"), "left out", "allOf is an array of schemas")
			continue
		}
		n.notFor(at.at("allOf"), "taken together into one schema", "allOf")
		for _, branch := range all.items {
			if n.written++; n.written > MaxNodes {
				return s
			}
			branch = n.target(branch, seen)
			if branch == nil || branch.kind != object {
				continue // itself again, a boolean, or nothing
			}
			s = n.merge(s, branch, at)
		}
	}
	return without(s, "allOf")
}

// target follows the references of a branch; nil when it was taken in before.
func (n *normaliser) target(s *node, seen map[*node]bool) *node {
	for range MaxDepth {
		if seen[s] {
			return nil
		}
		seen[s] = true
		ref := s.text("$ref")
		if ref == "" {
			return s
		}
		target, _ := n.refs.find(ref)
		if target == nil || target.kind != object {
			return s
		}
		if len(s.members) > 1 {
			if seen[target] {
				return without(s, "$ref")
			}
			seen[target] = true
			s = n.merge(without(s, "$ref"), target, nil)
			continue
		}
		s = target
	}
	return nil
}

// merge is a schema that says what both say. Where that cannot be written in one schema, the first holds and the
// change is told.
func (n *normaliser) merge(a, b *node, at *place) *node {
	out := a.shallow()
	for _, m := range b.members {
		own := out.get(m.key)
		if own == nil {
			out.members = append(out.members, m)
			continue
		}
		if string(own.encode()) == string(m.value.encode()) {
			continue
		}
		switch m.key {
		case "description":
			out.set(m.key, newText(strings.TrimSpace(own.str+" "+m.value.str)))
		case "title", "$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$comment", "default", "examples":
		case "$defs", "definitions":
		case "required":
			out.set(m.key, union(own, m.value))
		case "properties":
			out.set(m.key, bothProperties(own, m.value))
		case "items", "contains", "propertyNames":
			out.set(m.key, both(own, m.value))
		case "additionalProperties":
			if m.value.isScalar("false") {
				out.set(m.key, m.value)
			}
		case "type":
			if t := commonTypes(out, b); t != nil {
				out.set(m.key, t)
			} else if at != nil {
				n.tell(at.at("type"), "the first is kept", "the parts of the schema contradict each other")
			}
		case "enum":
			out.set(m.key, common(own, m.value))
		case "allOf":
			out.set(m.key, newArray(append(slices.Clone(own.items), m.value.items...)...))
		case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
			out.set(m.key, bound(own, m.value, 1))
		case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
			out.set(m.key, bound(own, m.value, -1))
		default:
			if at != nil {
				n.tell(at.at(m.key), "moved into the description", "two parts of the schema say it differently")
			}
			extra := &notes{}
			extra.add("also "+m.key, m.value)
			extra.into(out)
		}
	}
	return out
}

func both(a, b *node) *node {
	if a.kind != object || b.kind != object {
		return a
	}
	return newObject(member{"allOf", newArray(a, b)})
}

func bothProperties(a, b *node) *node {
	out := a.shallow()
	for _, p := range b.list() {
		if own := a.get(p.key); own != nil {
			out.set(p.key, both(own, p.value))
		} else {
			out.members = append(out.members, p)
		}
	}
	return out
}

// commonTypes are the types that both schemas take; nil when there is none.
func commonTypes(a, b *node) *node {
	left, _ := typesOf(a)
	right, _ := typesOf(b)
	var list []*node
	for _, t := range left {
		switch {
		case slices.Contains(right, t), t == "integer" && slices.Contains(right, "number"):
			list = append(list, newText(t))
		case t == "number" && slices.Contains(right, "integer"):
			list = append(list, newText("integer"))
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return newArray(list...)
}

// common are the values in both lists; the first list when there is none.
func common(a, b *node) *node {
	values := map[string]bool{}
	for _, v := range b.items {
		values[string(v.encode())] = true
	}
	out := newArray()
	for _, v := range a.items {
		if values[string(v.encode())] {
			out.items = append(out.items, v)
		}
	}
	if len(out.items) == 0 {
		return a
	}
	return out
}

// bound is the larger of two numbers, or with sign -1 the smaller. Huge exponents are not compared.
func bound(a, b *node, sign int) *node {
	if len(a.str) > 30 || len(b.str) > 30 {
		return a
	}
	x, okX := new(big.Float).SetString(a.str)
	y, okY := new(big.Float).SetString(b.str)
	if okX && okY && y.Cmp(x) == sign {
		return b
	}
	return a
}

// flattenRoot takes everything that the root is composed of together: APIs want the properties at the root.
func (n *normaliser) flattenRoot(r *node, at *place) *node {
	seen := map[*node]bool{}
	if ref := r.text("$ref"); ref != "" {
		if target := n.target(r, seen); target != nil && target != r && target.text("$ref") == "" {
			n.notFor(at.at("$ref"), "written out", "a reference at the root")
			r = n.merge(without(r, "$ref"), target, at)
		}
	}
	r = n.mergeAll(r, at)
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := r.get(key)
		if branches == nil {
			continue
		}
		r = without(r, key)
		if branches.kind != array {
			n.tell(at.at(key), "left out", key+" is an array of schemas")
			continue
		}
		n.notFor(at.at(key), "the properties of all alternatives taken together; the description tells them apart", key+" at the root")
		r = n.uniteRoot(r, branches, at)
	}
	for _, key := range []string{"not", "enum", "const"} {
		if v := r.get(key); v != nil && !n.rules.flatten {
			n.notFor(at.at(key), "moved into the description", key+" at the root")
			r = without(r, key)
			notes := &notes{}
			notes.add(key, v)
			notes.into(r)
		}
	}
	return r
}

func (n *normaliser) uniteRoot(r, branches *node, at *place) *node {
	var (
		sets     []string
		required map[string]bool
		types    = true
	)
	for _, branch := range branches.items {
		branch = n.target(branch, map[*node]bool{})
		if branch == nil || branch.kind != object {
			continue
		}
		branch = n.mergeAll(branch, at)
		if branch.get("properties") == nil && branch.get("required") == nil {
			if t, ok := typesOf(branch); ok && !slices.Contains(t, "object") {
				types = false
				continue
			}
		}
		here := map[string]bool{}
		var names []string
		if list := branch.get("required"); list != nil {
			for _, item := range list.items {
				if item.kind == text {
					here[item.str] = true
					names = append(names, item.str)
				}
			}
		}
		if p := branch.get("properties"); p != nil && p.kind == object {
			own := r.get("properties")
			if own == nil || own.kind != object {
				own = newObject()
			}
			merged := own.shallow()
			for _, p := range p.members {
				if known := merged.get(p.key); known == nil {
					merged.members = append(merged.members, p)
				} else if string(known.encode()) != string(p.value.encode()) {
					merged.set(p.key, newObject(member{"anyOf", newArray(known, p.value)}))
				}
				if !here[p.key] {
					names = append(names, p.key+"?")
				}
			}
			r = r.shallow()
			r.set("properties", merged)
		}
		sets = append(sets, "{"+strings.Join(names, ", ")+"}")
		if required == nil {
			required = here
			continue
		}
		for name := range required {
			if !here[name] {
				delete(required, name)
			}
		}
	}
	r = r.shallow()
	names := newArray()
	for name := range required {
		names.items = append(names.items, newText(name))
	}
	slices.SortFunc(names.items, func(a, b *node) int { return strings.Compare(a.str, b.str) })
	if len(names.items) > 0 {
		own := r.get("required")
		if own == nil {
			own = newArray()
		}
		r.set("required", union(own, names))
	}
	if !types && r.get("type") == nil {
		r.set("type", newText("object"))
	}
	if len(sets) > 1 {
		notes := &notes{}
		notes.say("one of these sets of arguments: " + cut(strings.Join(sets, " or "), maxNotes/2))
		notes.into(r)
	}
	return r
}
