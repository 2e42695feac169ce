package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	listClock    = 30 * time.Second
	maxPages     = 1000
	maxListBytes = 64 << 20
	maxRejected  = 1000
)

// listKind describes one of the four lists.
type listKind[T any] struct {
	method     string
	member     string // of the result
	capability string
	kind       string // of a Rejected
	decode     func(json.RawMessage) (T, string)
	identity   func(T) string
}

var (
	toolList = listKind[Tool]{
		"tools/list", "tools", "tools", "tool", decodeTool, func(t Tool) string { return t.Name },
	}
	promptList = listKind[Prompt]{
		"prompts/list", "prompts", "prompts", "prompt", decodePrompt, func(p Prompt) string { return p.Name },
	}
	resourceList = listKind[Resource]{
		"resources/list", "resources", "resources", "resource", decodeResource, func(r Resource) string { return r.URI },
	}
	templateList = listKind[ResourceTemplate]{
		"resources/templates/list", "resourceTemplates", "resources", "resourceTemplate", decodeTemplate,
		func(t ResourceTemplate) string { return t.URITemplate },
	}
)

// Tools lists the server's tools, all pages. In a modern session a list with a ttlMs is kept and served again
// without a request until it expires or the server says that it changed (M8). A legacy server is asked each time,
// whether it declares the capability or not (M9); one that has no such method gives an empty, unsupported list.
func (s *Session) Tools(ctx context.Context) (List[Tool], error) { return aggregate(ctx, s, toolList) }

// Prompts lists the server's prompts, as Tools does tools.
func (s *Session) Prompts(ctx context.Context) (List[Prompt], error) {
	return aggregate(ctx, s, promptList)
}

// Resources lists the server's resources, as Tools does tools.
func (s *Session) Resources(ctx context.Context) (List[Resource], error) {
	return aggregate(ctx, s, resourceList)
}

// ResourceTemplates lists the server's resource templates, as Tools does tools.
func (s *Session) ResourceTemplates(ctx context.Context) (List[ResourceTemplate], error) {
	return aggregate(ctx, s, templateList)
}

func aggregate[T any](ctx context.Context, s *Session, k listKind[T]) (List[T], error) {
	if s.era == Modern && s.server.Capabilities != nil && !s.server.declares(k.capability) {
		return List[T]{}, nil // DISC-07
	}
	if s.era != Modern {
		l, _, err := fetch(ctx, s, k)
		return l, err
	}
	// One fetch at a time and kind: whoever comes second finds the first one's list (CACHE-25).
	release, err := s.cache.claim(ctx, k.method)
	if err != nil {
		return List[T]{}, s.translate(ctx, PhaseList, err)
	}
	defer release()
	if kept, ok := s.cache.get(k.method); ok {
		if l, ok := kept.(List[T]); ok {
			l = l.copy()
			l.FromCache = true
			return l, nil
		}
	}
	generation := s.cache.generation(k.method)
	l, f, err := fetch(ctx, s, k)
	if err != nil {
		return l, err
	}
	s.cache.put(k.method, generation, l.copy(), f.bytes, f.ttl, f.received)
	s.listening.begin()
	return l, nil
}

// copy protects a list that the cache keeps from callers who sort theirs.
func (l List[T]) copy() List[T] {
	l.Items, l.Rejected, l.Warnings = slices.Clone(l.Items), slices.Clone(l.Rejected), slices.Clone(l.Warnings)
	return l
}

// freshness is what the pages of a list say about how long it may be kept: as long as its shortest-lived page
// (CACHE-19), counted from the arrival of the first one.
type freshness struct {
	ttl      time.Duration
	received time.Time
	bytes    int
}

// fetch follows the pages of a list within bounds.
func fetch[T any](ctx context.Context, s *Session, k listKind[T]) (List[T], freshness, error) {
	l, f, err := follow(ctx, s, k)
	if refusalCode(err) == codeInvalidParams && f.bytes > 0 { // the list changed under way (PAGE-07, CACHE-18)
		l, f, err = follow(ctx, s, k)
	}
	if refusalCode(err) == codeMethodNotFound {
		return List[T]{}, freshness{}, nil
	}
	return l, f, err
}

// refusalCode returns the code of a JSON-RPC error, 0 when err is none.
func refusalCode(err error) int64 {
	if e, ok := errors.AsType[*Error](err); ok && e.RPC != nil {
		return e.RPC.Code
	}
	return 0
}

func follow[T any](ctx context.Context, s *Session, k listKind[T]) (List[T], freshness, error) {
	l := List[T]{Supported: true}
	f := freshness{ttl: maxTTL}
	known, cursors := make(map[string]bool), make(map[string]bool)
	var cursor []byte
	for page := 1; ; page++ {
		x := exchange{phase: PhaseList, method: k.method, idle: listClock, list: true}
		if cursor != nil {
			x.members = rawField("cursor", cursor)
		}
		out, err := s.run(ctx, x)
		if err != nil {
			return List[T]{}, f, err
		}
		if page == 1 {
			f.received = time.Now()
		}
		f.bytes += len(out.raw)
		f.ttl = min(f.ttl, clampMs(wire.Member(out.raw, "ttlMs"), maxTTL))
		fresh := l.add(k, out.raw, known)

		cursor = wire.Member(out.raw, "nextCursor")
		stop := ""
		switch {
		case cursor == nil || string(cursor) == "null":
			return l, f, nil
		case cursor[0] != '"':
			stop = "nextCursor is no string"
		case cursors[string(cursor)]:
			stop = "the server repeats a cursor"
		case fresh == repeated:
			stop = "the server repeats a page"
		case page == maxPages:
			stop = fmt.Sprintf("the list has more than %d pages", maxPages)
		case f.bytes >= maxListBytes:
			stop = fmt.Sprintf("the list is longer than %d bytes", maxListBytes)
		}
		if stop != "" {
			l.Warnings = append(l.Warnings, stop+"; the list ends here")
			f.ttl = 0
			return l, f, nil
		}
		cursors[string(cursor)] = true
	}
}

// freshPage tells what a page brought.
type freshPage int

const (
	something freshPage = iota
	nothing             // an empty page, which is legal (PAGE-04)
	repeated            // only items that were there already
)

// read decodes one item and tells why it cannot be used, "" when it can. Decoding follows no nesting, so that even an
// item that is too deep can be named.
func (k listKind[T]) read(raw json.RawMessage) (item T, name, reason string) {
	valid := true
	if !json.Valid(raw) {
		fixed := wire.Repair(raw)
		if valid = json.Valid(fixed); valid {
			raw = fixed
		}
	}
	item, reason = k.decode(raw)
	name = k.identity(item)
	switch {
	case wire.Depth(raw) > wire.MaxDepth:
		reason = fmt.Sprintf("it nests deeper than %d levels", wire.MaxDepth)
	case !valid:
		reason = "it is no JSON"
	}
	return item, name, reason
}

// add decodes a page item by item: one that is malformed or repeated is rejected with a reason, the others stand.
func (l *List[T]) add(k listKind[T], raw json.RawMessage, known map[string]bool) freshPage {
	items := wire.Member(raw, k.member)
	if items == nil || items[0] != '[' {
		if items == nil || string(items) != "null" {
			l.Warnings = append(l.Warnings, "the result has no list of "+k.member)
		}
		return nothing
	}
	total, duplicates, index := 0, 0, len(l.Items)+len(l.Rejected)
	wire.Elements(items, func(value []byte) {
		total++
		reason, name := "it is no object", ""
		var item T
		if value[0] == '{' {
			item, name, reason = k.read(slices.Clip(value))
		}
		if reason == "" && known[name] {
			duplicates++
			reason = "its name was there before"
		}
		if reason == "" {
			known[name] = true
			l.Items = append(l.Items, item)
		} else if len(l.Rejected) < maxRejected {
			l.Rejected = append(l.Rejected, Rejected{Kind: k.kind, Name: name, Index: index, Reason: reason})
		}
		index++
	})
	switch {
	case total == 0:
		return nothing
	case duplicates == total:
		return repeated
	}
	return something
}
