package schema

import "encoding/json"

// Sound reports whether a normalised schema keeps to the rules of its profile, everywhere in it.
func Sound(raw json.RawMessage, p Profile) (problem string) {
	root, err := parseWithin(raw, 2*MaxBytes, 4*MaxDepth, 4*MaxNodes)
	if err != nil {
		return err.Error()
	}
	if root.text("type") != "object" {
		return "the root is no object schema"
	}
	return sound(root, p.rules(), &place{})
}

func sound(s *node, r rules, at *place) string {
	if s.kind != object {
		if s.isBool() && !r.noBools {
			return ""
		}
		return at.String() + ": not a schema"
	}
	for _, m := range s.members {
		here := at.at(m.key)
		if !r.keeps(m.key) {
			return here.String() + ": the keyword is not accepted"
		}
		var children []member
		switch holds(m.key) {
		case oneSchema, eitherForm:
			if m.value.isBool() && m.key != "items" {
				continue
			}
			children = []member{{"", m.value}}
			if m.value.kind == array && !r.items {
				children = nil
			}
		case schemaList:
			for _, item := range m.value.items {
				children = append(children, member{"", item})
			}
		case schemaMap:
			children = m.value.members
		}
		for _, c := range children {
			if problem := sound(c.value, r, here.at(c.key)); problem != "" {
				return problem
			}
		}
	}
	types, _ := typesOf(s)
	switch {
	case r.oneType && s.get("type") == nil && s.get("anyOf") == nil:
		return at.String() + ": no type"
	case r.oneType && s.get("anyOf") != nil && len(s.members) > 1 && at.up != nil:
		return at.String() + ": something stands beside anyOf"
	case r.items && len(types) > 0 && types[0] == "array" && s.get("items") == nil:
		return at.String() + ": an array without items"
	case r.closed && len(types) > 0 && types[0] == "object" &&
		(!s.get("additionalProperties").isScalar("false") || len(s.get("properties").list()) != len(s.get("required").entries())):
		return at.String() + ": not closed, or not all required"
	}
	return ""
}

func (n *node) entries() []*node {
	if n == nil {
		return nil
	}
	return n.items
}
