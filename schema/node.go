package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The bounds of one schema, as it is read and as it is written for a model.
const (
	MaxBytes = 256 << 10 // bytes
	MaxDepth = 64        // nested values
	MaxNodes = 10_000    // values of any kind
)

// BoundsError says that a schema is larger than the bounds of this package, or costs more.
type BoundsError struct {
	What  string // "bytes", "depth", "nodes", "work"
	Limit int
}

// Error says which bound.
func (e *BoundsError) Error() string {
	if e.What == "work" {
		return fmt.Sprintf("checking a value against the schema would take more than %d steps", e.Limit)
	}
	return fmt.Sprintf("the schema has more than the %d %s that are accepted", e.Limit, e.What)
}

type kind uint8

const (
	object kind = iota
	array
	text
	scalar // number, boolean or null
)

// node is a JSON value whose members keep their order and whose numbers keep their spelling.
type node struct {
	kind    kind
	str     string // of a text, or the spelling of a scalar
	members []member
	items   []*node
	// optional marks a property that was made nullable because the API knows no optional ones.
	optional bool
}

type member struct {
	key   string
	value *node
}

func newText(s string) *node { return &node{kind: text, str: s} }

func newObject(members ...member) *node { return &node{kind: object, members: members} }

func newArray(items ...*node) *node { return &node{kind: array, items: items} }

func newScalar(s string) *node { return &node{kind: scalar, str: s} }

func (n *node) isScalar(spelling string) bool {
	return n != nil && n.kind == scalar && n.str == spelling
}

func (n *node) isBool() bool { return n.isScalar("true") || n.isScalar("false") }

// get is the value of a member, nil without one.
func (n *node) get(key string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

func (n *node) text(key string) string {
	if v := n.get(key); v != nil && v.kind == text {
		return v.str
	}
	return ""
}

// set replaces a member or appends it.
func (n *node) set(key string, value *node) {
	for i := range n.members {
		if n.members[i].key == key {
			n.members[i].value = value
			return
		}
	}
	n.members = append(n.members, member{key, value})
}

// setType replaces the type where it stands, or puts it before the other members.
func (n *node) setType(name string) {
	if n.get("type") != nil {
		n.set("type", newText(name))
		return
	}
	n.members = append([]member{{"type", newText(name)}}, n.members...)
}

func (n *node) remove(key string) {
	for i := range n.members {
		if n.members[i].key == key {
			n.members = append(append([]member(nil), n.members[:i]...), n.members[i+1:]...)
			return
		}
	}
}

// shallow is a copy whose own members can be changed.
func (n *node) shallow() *node {
	c := *n
	c.members = append([]member(nil), n.members...)
	c.items = append([]*node(nil), n.items...)
	return &c
}

// parse reads JSON within the bounds. Of a member that is given twice the last value counts, as for most readers.
func parse(raw json.RawMessage) (*node, error) { return parseWithin(raw, MaxBytes, MaxDepth, MaxNodes) }

func parseWithin(raw json.RawMessage, maxBytes, maxDepth, maxNodes int) (*node, error) {
	if len(raw) > maxBytes {
		return nil, &BoundsError{"bytes", maxBytes}
	}
	type frame struct {
		n     *node
		key   string
		isKey bool
		index map[string]int
	}
	var (
		dec   = json.NewDecoder(bytes.NewReader(raw))
		stack []frame
		root  *node
		count int
	)
	dec.UseNumber()
	for root == nil || len(stack) > 0 {
		token, err := dec.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("the schema is not JSON: %w", err)
		}
		if d, ok := token.(json.Delim); ok && (d == '}' || d == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if len(stack) > 0 {
			if f := &stack[len(stack)-1]; f.n.kind == object && f.isKey {
				f.key, f.isKey = token.(string), false
				continue
			}
		}
		if count++; count > maxNodes {
			return nil, &BoundsError{"nodes", maxNodes}
		}
		n := leaf(token)
		if len(stack) == 0 {
			root = n
		} else {
			f := &stack[len(stack)-1]
			if f.n.kind == array {
				f.n.items = append(f.n.items, n)
			} else {
				if i, twice := f.index[f.key]; twice {
					f.n.members[i].value = n
				} else {
					f.index[f.key] = len(f.n.members)
					f.n.members = append(f.n.members, member{f.key, n})
				}
				f.isKey = true
			}
		}
		if n.kind == object || n.kind == array {
			if len(stack) >= maxDepth {
				return nil, &BoundsError{"depth", maxDepth}
			}
			stack = append(stack, frame{n: n, isKey: n.kind == object, index: map[string]int{}})
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the schema is not JSON: something follows it")
	}
	return root, nil
}

func leaf(token json.Token) *node {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return &node{kind: object}
		}
		return &node{kind: array}
	case string:
		return newText(t)
	case json.Number:
		return newScalar(t.String())
	case bool:
		if t {
			return newScalar("true")
		}
		return newScalar("false")
	default:
		return newScalar("null")
	}
}

// encode writes compact JSON. Trees are at most about twice MaxDepth deep, since both parse and normalising bound it.
func (n *node) encode() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	switch n.kind {
	case object:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, m.key)
			b.WriteByte(':')
			m.value.write(b)
		}
		b.WriteByte('}')
	case array:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	case text:
		writeText(b, n.str)
	case scalar:
		b.WriteString(n.str)
	}
}

func writeText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) == nil { // strings can be encoded
		b.Truncate(b.Len() - 1) // the line end
	}
}

// place is where in the original schema something stands: a JSON Pointer, written out only when it is told.
type place struct {
	up  *place
	key string
}

func (p *place) at(key string) *place { return &place{p, key} }

// String is the pointer, cut in the middle when it is long.
func (p *place) String() string {
	const longest = 300
	var parts []string
	size := 0
	for ; p != nil && p.up != nil; p = p.up {
		part := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(p.key, 100))
		if size += len(part); size > longest {
			parts = append(parts, "/…")
			break
		}
		parts = append(parts, part)
	}
	var b strings.Builder
	for _, part := range slices.Backward(parts) {
		b.WriteString(part)
	}
	return b.String()
}

// cut keeps at most n bytes, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
