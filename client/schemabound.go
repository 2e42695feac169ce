package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The bounds of what a validator is given, because both the schema and the value come from the server, and a validator
// follows references as far as they go (BASE-34).
const (
	maxUnfolded       = 10_000 // places of a schema, references followed
	maxInPlace        = 500    // places that judge one and the same value
	maxRecursiveRefs  = 4
	maxRecursiveDepth = 8
)

var (
	errEndless   = errors.New("the schema refers to itself without end")
	errReference = errors.New("the schema has references that are not followed")
	errLarge     = errors.New("the schema is too large when its references are followed")
)

// The keywords that hold schemas: for the same value, or for parts of it.
var (
	inPlaceOne  = []string{"not", "if", "then", "else"}
	inPlaceList = []string{"allOf", "anyOf", "oneOf"}
	inPlaceMap  = []string{"dependentSchemas", "dependencies"}
	partsOne    = []string{
		"additionalProperties", "unevaluatedProperties", "propertyNames", "items", "contains", "unevaluatedItems", "additionalItems",
	}
	partsList = []string{"prefixItems", "items"}
	partsMap  = []string{"properties", "patternProperties"}
)

// schemaWalk measures a schema before a validator sees it.
type schemaWalk struct {
	root any
	// unfolded and inPlace are the sizes of places that are done; open are those under way.
	unfolded, inPlace map[string]int
	open, openInPlace map[string]bool
	recursive         int
}

// measure reports how many references make the schema recursive. It fails for a schema that no validator should get.
func measure(raw json.RawMessage) (recursive int, err error) {
	w := schemaWalk{
		unfolded: make(map[string]int), inPlace: make(map[string]int),
		open: make(map[string]bool), openInPlace: make(map[string]bool),
	}
	if err := json.Unmarshal(raw, &w.root); err != nil {
		return 0, err
	}
	n, err := w.visit("")
	if err == nil && n > maxUnfolded || w.recursive > maxRecursiveRefs {
		err = errLarge
	}
	return w.recursive, err
}

// visit returns the unfolded size of the place at a JSON pointer.
func (w *schemaWalk) visit(at string) (int, error) {
	if n, ok := w.unfolded[at]; ok {
		return n, nil
	}
	if w.open[at] {
		w.recursive++
		return 1, nil
	}
	if n, err := w.visitInPlace(at); err != nil || n > maxInPlace {
		return 0, errors.Join(err, bound(n))
	}
	w.open[at] = true
	defer delete(w.open, at)
	same, parts, err := w.children(at)
	if err != nil {
		return 0, err
	}
	total := 1
	for _, child := range append(same, parts...) {
		n, err := w.visit(child)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxUnfolded {
			return 0, errLarge
		}
	}
	w.unfolded[at] = total
	return total, nil
}

func bound(n int) error {
	if n > maxInPlace {
		return errLarge
	}
	return nil
}

func (w *schemaWalk) visitInPlace(at string) (int, error) {
	if n, ok := w.inPlace[at]; ok {
		return n, nil
	}
	if w.openInPlace[at] {
		return 0, errEndless
	}
	w.openInPlace[at] = true
	defer delete(w.openInPlace, at)
	same, _, err := w.children(at)
	if err != nil {
		return 0, err
	}
	total := 1
	for _, child := range same {
		n, err := w.visitInPlace(child)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxInPlace {
			return 0, errLarge
		}
	}
	w.inPlace[at] = total
	return total, nil
}

// children lists the places that the one at a pointer applies to the same value, and to parts of it.
func (w *schemaWalk) children(at string) (same, parts []string, err error) {
	value, ok := lookup(w.root, at)
	if !ok {
		return nil, nil, errReference
	}
	schema, ok := value.(map[string]any)
	if !ok {
		return nil, nil, nil // true, false, or nothing a validator follows
	}
	if ref, ok := schema["$ref"].(string); ok {
		target, local := strings.CutPrefix(ref, "#")
		if !local || target != "" && target[0] != '/' || strings.Contains(target, "%") {
			return nil, nil, errReference
		}
		same = append(same, target)
	}
	for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := schema[name]; ok {
			return nil, nil, errReference
		}
	}
	if _, ok := schema["$id"]; ok && at != "" {
		return nil, nil, errReference
	}
	same = append(same, under(schema, at, inPlaceOne, inPlaceList, inPlaceMap)...)
	parts = under(schema, at, partsOne, partsList, partsMap)
	return same, parts, nil
}

func under(schema map[string]any, at string, one, list, object []string) []string {
	var out []string
	for _, name := range one {
		if _, ok := schema[name].(map[string]any); ok {
			out = append(out, at+"/"+name)
		}
	}
	for _, name := range list {
		items, _ := schema[name].([]any)
		for i := range items {
			out = append(out, fmt.Sprintf("%s/%s/%d", at, name, i))
		}
	}
	for _, name := range object {
		members, _ := schema[name].(map[string]any)
		for key := range members {
			out = append(out, at+"/"+name+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		}
	}
	return out
}

// lookup follows a JSON pointer.
func lookup(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch t := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = t[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// depthOf returns how deep a decoded value nests, counted up to limit.
func depthOf(v any, limit int) int {
	if limit == 0 {
		return 0
	}
	deepest := 0
	switch t := v.(type) {
	case map[string]any:
		for _, child := range t {
			deepest = max(deepest, 1+depthOf(child, limit-1))
		}
	case []any:
		for _, child := range t {
			deepest = max(deepest, 1+depthOf(child, limit-1))
		}
	}
	return deepest
}
