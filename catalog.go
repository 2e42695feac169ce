package usher

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/schema"
)

// snapshot is what one server offers, after its filters. It is immutable: a change makes a new one.
type snapshot struct {
	tools     []Tool
	prompts   []Prompt
	resources []Resource
	templates []ResourceTemplate
	// hidden are the server's tools that the configuration excludes, with the reason.
	hidden   map[string]string
	rejected map[string][]client.Rejected // by kind
	notes    map[string][]string          // warnings by kind
	warnings []string                     // all of notes, and what went wrong besides
}

// filterTools applies includeTools and excludeTools and finds each tool's app.
func (s *server) filterTools(items []client.Tool, capabilities json.RawMessage) (tools []Tool, hidden map[string]string, notes []string) {
	hidden = make(map[string]string)
	names := make([]string, 0, len(items))
	for _, t := range items {
		names = append(names, t.Name)
		switch {
		case slices.Contains(s.spec.ExcludeTools, t.Name):
			hidden[t.Name] = "excludeTools names it"
			continue
		case s.spec.IncludeTools != nil && !slices.Contains(s.spec.IncludeTools, t.Name):
			hidden[t.Name] = "includeTools does not name it"
			continue
		}
		tool := Tool{Server: s.spec.Name, Tool: t, Label: schema.Label(s.spec.Name, t.Name)}
		link := apps.FromTool(t.Meta)
		tool.ForModel, tool.AppURI, tool.AppProblem = link.ForModel, link.URI, link.Problem
		switch {
		case tool.AppURI == "":
		case s.h.apps.Disabled:
			tool.AppURI, tool.AppProblem = "", "apps are turned off in the configuration (mcpApps.enabled)"
		case s.h.apps.RequireServerCapability && !advertisesApps(capabilities):
			tool.AppURI, tool.AppProblem = "", "the server does not advertise "+apps.Extension+" and the configuration requires it (mcpApps.requireServerCapability)"
		}
		tools = append(tools, tool)
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"includeTools", s.spec.IncludeTools}, {"excludeTools", s.spec.ExcludeTools}} {
		for _, name := range list.names {
			if slices.Contains(names, name) {
				continue
			}
			note := fmt.Sprintf("%s names %q, which the server does not offer", list.field, name)
			if near := nearest.Name(name, names); near != "" {
				note += fmt.Sprintf("; did you mean %q?", near)
			}
			notes = append(notes, note)
		}
	}
	return tools, hidden, notes
}

func advertisesApps(capabilities json.RawMessage) bool {
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	return json.Unmarshal(capabilities, &c) == nil && c.Extensions[apps.Extension] != nil
}

// sortSnapshot puts everything in an order that does not depend on the server's mood, so that the tool block
// of a model's request stays the same and its prompt cache holds.
func sortSnapshot(s *snapshot) {
	slices.SortFunc(s.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.prompts, func(a, b Prompt) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.resources, func(a, b Resource) int { return cmp.Compare(a.URI, b.URI) })
	slices.SortFunc(s.templates, func(a, b ResourceTemplate) int { return cmp.Compare(a.URITemplate, b.URITemplate) })
}

// Catalog returns the current catalog. It never waits.
func (h *Host) Catalog() *Catalog { return h.catalog.Load() }

// rebuild makes a new catalog of what the servers offer now. A server that is reconnecting keeps its entries;
// one that failed or was turned off loses them.
func (h *Host) rebuild() {
	h.catalogMu.Lock()
	defer h.catalogMu.Unlock()
	old := h.catalog.Load()
	next := &Catalog{Revision: old.Revision + 1, Rejected: make(map[string][]client.Rejected)}
	servers := slices.SortedFunc(slices.Values(h.servers), func(a, b *server) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
	for _, s := range servers {
		snap, ok := s.offered()
		if !ok {
			continue
		}
		next.Tools = append(next.Tools, snap.tools...)
		next.Prompts = append(next.Prompts, snap.prompts...)
		next.Resources = append(next.Resources, snap.resources...)
		next.Templates = append(next.Templates, snap.templates...)
		for _, kind := range []string{kindTools, kindPrompts, kindResources} {
			if r := snap.rejected[kind]; len(r) > 0 {
				next.Rejected[s.spec.Name] = append(next.Rejected[s.spec.Name], r...)
			}
		}
	}
	h.catalog.Store(next)
	h.events.publish(Event{Time: time.Now(), Type: EventCatalogChanged, Revision: next.Revision})
}

// offered is the server's part of the catalog; false when it has none.
func (s *server) offered() (snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.st.State {
	case StateReady, StateDegraded, StateReconnecting:
		return s.snap, true
	}
	if s.listed {
		return s.snap, true
	}
	return snapshot{}, false
}

// lookup finds a tool of the server's snapshot, or says why it cannot be called.
func (s *server) lookup(name string) (Tool, error) {
	s.mu.Lock()
	snap := s.snap
	s.mu.Unlock()
	i, found := slices.BinarySearchFunc(snap.tools, name, func(t Tool, name string) int { return cmp.Compare(t.Name, name) })
	if found {
		return snap.tools[i], nil
	}
	e := &client.Error{Server: s.spec.Name, Phase: client.PhaseCall}
	if why, hidden := snap.hidden[name]; hidden {
		e.Code = client.CodeDenied
		e.Message = fmt.Sprintf("tool %q is not allowed: %s", name, why)
		e.Hint = "Change includeTools or excludeTools of the server."
		return Tool{}, e
	}
	names := make([]string, len(snap.tools))
	for i, t := range snap.tools {
		names[i] = t.Name
	}
	e.Code = client.CodeNotFound
	e.Message = fmt.Sprintf("the server has no tool %q", name)
	for _, r := range snap.rejected[kindTools] {
		if r.Name == name {
			e.Message = fmt.Sprintf("tool %q was rejected: %s", name, r.Reason)
			return Tool{}, e
		}
	}
	if near := nearest.Name(name, names); near != "" {
		e.Hint = fmt.Sprintf("Did you mean %q?", near)
	} else if len(names) > 0 {
		e.Hint = "It has: " + joinSome(names, 8) + "."
	}
	return Tool{}, e
}

// joinSome lists at most n names.
func joinSome(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

func cloneMap[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	return out
}

var errNoObject = errors.New("arguments are not a JSON object")
