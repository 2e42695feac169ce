package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// references finds what references within one document lead to.
type references struct {
	root    *node
	anchors map[string]*node // by name
	ids     map[string]*node // by $id without its fragment
}

// newReferences looks through the whole document once, without recursion.
func newReferences(root *node) *references {
	r := &references{root: root, anchors: map[string]*node{}, ids: map[string]*node{}}
	for stack := []*node{root}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name := n.text(key); name != "" && r.anchors[name] == nil {
				r.anchors[name] = n
			}
		}
		for _, key := range []string{"$id", "id"} {
			id := n.text(key)
			base, fragment, _ := strings.Cut(id, "#")
			if key == "id" && n.get("properties") == nil && n.get("type") == nil {
				continue // more likely a value that is called id
			}
			if base != "" && r.ids[base] == nil {
				r.ids[base] = n
			}
			if base == "" && fragment != "" && r.anchors[fragment] == nil { // draft-07
				r.anchors[fragment] = n
			}
		}
		for _, m := range slices.Backward(n.members) { // so that the first of two anchors is found first
			stack = append(stack, m.value)
		}
		stack = append(stack, n.items...)
	}
	return r
}

// find is what a reference leads to; nil when it leads nowhere, external when it leads out of the document.
func (r *references) find(ref string) (target *node, external bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	from := r.root
	if base != "" {
		if from = r.ids[base]; from == nil {
			if from = r.relative(base); from == nil {
				return nil, true
			}
		}
	}
	if fragment == "" {
		return from, false
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if !strings.HasPrefix(fragment, "/") {
		return r.anchors[fragment], false
	}
	return from.pointer(fragment), false
}

// circular reports whether a schema that is nothing but a reference leads back to itself.
func (r *references) circular(n *node) bool {
	seen := map[*node]bool{}
	for n != nil {
		if seen[n] {
			return true
		}
		seen[n] = true
		ref := n.text("$ref")
		if ref == "" {
			return false
		}
		n, _ = r.find(ref)
	}
	return false
}

// relative resolves a reference against the document's own $id.
func (r *references) relative(ref string) *node {
	base, err := url.Parse(r.root.text("$id"))
	if err != nil {
		return nil
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil
	}
	for id, n := range r.ids {
		if full, err := base.Parse(id); err == nil && full.String() == u.String() {
			return n
		}
	}
	return nil
}

// pointer follows a JSON Pointer; nil when it leads nowhere.
func (n *node) pointer(p string) *node {
	for rest, more := strings.TrimPrefix(p, "/"), true; more && n != nil; {
		var key string
		key, rest, more = strings.Cut(rest, "/")
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch n.kind {
		case object:
			n = n.get(key)
		case array:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
	}
	return n
}
