package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxArguments bounds the arguments that are looked through, in bytes.
const maxArguments = 4 << 20

// Arguments takes the nulls out of a model's arguments that stand for properties left out, which strict mode does
// not let a model leave out. Arguments without such nulls come back as they are, byte for byte, and so do arguments
// that are not JSON or are too large.
func (r Result) Arguments(arguments json.RawMessage) json.RawMessage {
	if r.root == nil || !r.Strict || !strings.Contains(string(arguments), "null") {
		return arguments
	}
	value, err := parseWithin(arguments, maxArguments, 4*MaxDepth, 100*MaxNodes)
	if err != nil {
		return arguments
	}
	d := denuller{refs: newReferences(r.root)}
	if d.schema(r.root, value, 0); !d.changed {
		return arguments
	}
	return value.encode()
}

type denuller struct {
	refs    *references
	changed bool
	steps   int
}

// schema takes nulls out of value. In strict mode value and schema have the same shape, so alternatives are all
// tried, and references are followed as deep as the value goes.
func (d *denuller) schema(s, value *node, refs int) {
	if d.steps++; s == nil || d.steps > 100*MaxNodes {
		return
	}
	if ref := s.text("$ref"); ref != "" && refs < MaxDepth {
		target, _ := d.refs.find(ref)
		d.schema(target, value, refs+1)
	}
	if any := s.get("anyOf"); any != nil {
		for _, branch := range any.items {
			d.schema(branch, value, refs+1)
		}
	}
	switch value.kind {
	case object:
		properties := s.get("properties")
		value.members = slices.DeleteFunc(value.members, func(m member) bool {
			p := properties.get(m.key)
			if p == nil {
				return false
			}
			if p.optional && m.value.isScalar("null") {
				d.changed = true
				return true
			}
			d.schema(p, m.value, 0)
			return false
		})
	case array:
		for _, item := range value.items {
			d.schema(s.get("items"), item, 0)
		}
	}
}
