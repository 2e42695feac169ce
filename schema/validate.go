package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxWork bounds what checking one value may cost, in pairs of a schema and a value that meet.
const MaxWork = 1_000_000

// maxValue bounds the values that are checked, in bytes.
const maxValue = 4 << 20

// DialectError says that a schema is written in a dialect that is not known here (BASE-29).
type DialectError struct{ URI string }

// Error names the dialect and those that are known.
func (e *DialectError) Error() string {
	return fmt.Sprintf("the schema's dialect %q is not supported; 2020-12 and draft-07 are", cut(e.URI, 200))
}

// ReferenceError says that a reference leads nowhere, or out of the document (BASE-31, BASE-33).
type ReferenceError struct {
	Path     string // of the reference, a JSON Pointer
	Ref      string
	External bool
}

// Error says where the reference is and what is wrong with it.
func (e *ReferenceError) Error() string {
	if e.External {
		return fmt.Sprintf("%s: the reference %q leads to another document, and those are never fetched", e.Path, cut(e.Ref, 200))
	}
	return fmt.Sprintf("%s: the reference %q leads nowhere", e.Path, cut(e.Ref, 200))
}

// InvalidError says that a value does not fit its schema. Its text may quote the value.
type InvalidError struct{ Reason string }

// Error is the reason.
func (e *InvalidError) Error() string { return e.Reason }

// Validator checks values against one schema. It is safe for concurrent use.
type Validator struct {
	root     *node
	refs     *references
	resolved *jsonschema.Resolved
}

// Compile prepares a schema for checking. Do it when the first value is there, not for a whole catalog: a schema
// that cannot be compiled costs the checking of its own tool and nothing else. The error is a [*BoundsError], a
// [*DialectError], a [*ReferenceError], or says what else is wrong with the schema.
func Compile(raw json.RawMessage) (*Validator, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := dialect(root); err != nil {
		return nil, err
	}
	refs := newReferences(root)
	if err := checkReferences(root, refs, &place{}); err != nil {
		return nil, err
	}
	resolved, err := resolveSchema(raw)
	if err != nil {
		return nil, err
	}
	return &Validator{root: root, refs: refs, resolved: resolved}, nil
}

func dialect(root *node) error {
	uri := root.get("$schema")
	if uri == nil {
		return nil
	}
	switch strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(uri.str, "https://"), "http://"), "#") {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft-07/schema":
		return nil
	}
	if uri.kind != text {
		return &DialectError{URI: string(uri.encode())}
	}
	return &DialectError{URI: uri.str}
}

// checkReferences looks at every place where a schema may stand; parse has bounded its depth. Data such as enum,
// const, default and examples is not looked at.
func checkReferences(s *node, refs *references, at *place) error {
	if s.kind != object {
		return nil
	}
	for _, m := range s.members {
		here := at.at(m.key)
		if (m.key == "$ref" || m.key == "$dynamicRef") && m.value.kind == text {
			target, external := refs.find(m.value.str)
			if target == nil {
				return &ReferenceError{Path: here.String(), Ref: m.value.str, External: external}
			}
		}
		children := func(list bool) error {
			for i, item := range m.value.items {
				if err := checkReferences(item, refs, here.at(strconv.Itoa(i))); err != nil {
					return err
				}
			}
			if list {
				return nil
			}
			for _, p := range m.value.members {
				if err := checkReferences(p.value, refs, here.at(p.key)); err != nil {
					return err
				}
			}
			return nil
		}
		var err error
		switch holds(m.key) {
		case oneSchema:
			err = checkReferences(m.value, refs, here)
		case eitherForm:
			if m.value.kind == array {
				err = children(true)
			} else {
				err = checkReferences(m.value, refs, here)
			}
		case schemaList:
			err = children(true)
		case schemaMap, mixedMap:
			err = children(false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func resolveSchema(raw json.RawMessage) (resolved *jsonschema.Resolved, err error) {
	defer func() { // the schema is a stranger's
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be used: %v", p)
		}
	}()
	// The library knows the two dialects by one spelling each.
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	s.Schema = strings.TrimSpace(s.Schema)
	switch {
	case strings.Contains(s.Schema, "2020-12"):
		s.Schema = "https://json-schema.org/draft/2020-12/schema"
	case s.Schema != "":
		s.Schema = "http://json-schema.org/draft-07/schema#"
	}
	resolved, err = s.Resolve(&jsonschema.ResolveOptions{
		Loader: func(*url.URL) (*jsonschema.Schema, error) {
			return nil, errors.New("references to other documents are not followed")
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return resolved, nil
}

// Validate checks a value. The error is an [*InvalidError] when the value does not fit, and a [*BoundsError] when
// finding out would cost too much: such a value is neither good nor bad. The value is not changed.
func (v *Validator) Validate(value json.RawMessage) (err error) {
	tree, err := parseWithin(value, maxValue, 4*MaxDepth, 100*MaxNodes)
	if err != nil {
		if _, ok := errors.AsType[*BoundsError](err); ok {
			return err
		}
		return &InvalidError{Reason: "the value is not JSON"}
	}
	w := work{refs: v.refs, left: MaxWork, known: map[pair]int{}}
	if w.cost(v.root, tree, 0) > MaxWork || w.left <= 0 {
		return &BoundsError{"work", MaxWork}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the value cannot be checked: %v", p)
		}
	}()
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return &InvalidError{Reason: "the value is not JSON"}
	}
	if err := v.resolved.Validate(decoded); err != nil {
		return &InvalidError{Reason: cut(err.Error(), 1000)}
	}
	return nil
}

// work counts in advance how many pairs of a schema and a value a validator without a memory would meet, at worst.
// Counting remembers each pair, so that it is cheap where the checking would not be.
type work struct {
	refs  *references
	left  int
	known map[pair]int
}

type pair struct{ schema, value *node }

const (
	counting  = -1
	tooMuch   = MaxWork + 1
	maxNested = 1000 // schemas and values entered, one in another
)

func (w *work) cost(s, value *node, depth int) int {
	if s.kind != object {
		return 1
	}
	p := pair{s, value}
	switch c, ok := w.known[p]; {
	case ok && c == counting:
		return tooMuch // the schema applies itself to the same value, for ever
	case ok:
		return c
	}
	if w.left--; w.left <= 0 || depth > maxNested {
		return tooMuch
	}
	w.known[p] = counting
	total := 1
	add := func(s, value *node) {
		if s != nil && total <= MaxWork {
			total += w.cost(s, value, depth+1)
		}
	}
	for _, m := range s.members {
		w.inPlace(m, value, add)
		switch value.kind {
		case object:
			w.members(s, m, value, add)
		case array:
			w.elements(m, value, add, &total)
		}
		if m.key == "enum" {
			total += len(m.value.items)
		}
	}
	total = min(total, tooMuch)
	w.known[p] = total
	return total
}

// inPlace counts what a keyword applies to the same value.
func (w *work) inPlace(m member, value *node, add func(s, value *node)) {
	switch m.key {
	case "$ref", "$dynamicRef":
		target, _ := w.refs.find(m.value.str)
		add(target, value)
	case "allOf", "anyOf", "oneOf":
		for _, branch := range m.value.items {
			add(branch, value)
		}
	case "not", "if", "then", "else":
		add(m.value, value)
	case "dependentSchemas", "dependencies":
		for _, d := range m.value.members {
			add(d.value, value)
		}
	}
}

func (w *work) members(s *node, m member, value *node, add func(s, value *node)) {
	switch m.key {
	case "properties":
		byName := make(map[string]*node, len(m.value.members))
		for _, p := range m.value.members {
			byName[p.key] = p.value
		}
		for _, v := range value.members {
			add(byName[v.key], v.value)
		}
	case "patternProperties":
		for _, v := range value.members {
			for _, p := range m.value.members {
				add(p.value, v.value)
			}
		}
	case "additionalProperties":
		properties := s.get("properties")
		known := make(map[string]bool, len(properties.list()))
		for _, p := range properties.list() {
			known[p.key] = true
		}
		for _, v := range value.members {
			if !known[v.key] {
				add(m.value, v.value)
			}
		}
	case "unevaluatedProperties", "propertyNames":
		for _, v := range value.members {
			add(m.value, v.value)
		}
	}
}

func (w *work) elements(m member, value *node, add func(s, value *node), total *int) {
	switch m.key {
	case "items", "additionalItems", "unevaluatedItems", "contains":
		for i, v := range value.items {
			s := m.value
			if s.kind == array { // draft-07
				if i >= len(s.items) {
					break
				}
				s = s.items[i]
			}
			add(s, v)
		}
	case "prefixItems":
		for i, v := range value.items {
			if i < len(m.value.items) {
				add(m.value.items[i], v)
			}
		}
	case "uniqueItems":
		if n := len(value.items); m.value.isScalar("true") {
			if n > 1000 {
				n = 1001
			}
			*total += n * n
		}
	}
}
