package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxContextTokens bounds ModelSettings.ContextTokens.
const maxContextTokens = 100_000_000

// ModelSettings say which model answers: "model" in usher.json. All zero: none is configured in a file.
type ModelSettings struct {
	// BaseURL is the address before /chat/completions.
	BaseURL string
	Name    string
	APIKey  Secret
	// ContextTokens is how many tokens fit into a request and its answer; 0 is unknown.
	ContextTokens int
	// Vision says that the model takes images.
	Vision bool
	// Profile is what the model's API accepts of tool schemas; empty is a guess by address and name.
	Profile string
}

// PermissionSettings say what the model's calls may do: "permissions" in usher.json.
type PermissionSettings struct {
	// Mode is ask, read-only or auto; empty is ask.
	Mode string
	// Allow and Deny are rules, SERVER or SERVER/TOOL with * and ?.
	Allow, Deny []string
}

func modelFields() []string {
	return []string{"baseUrl", "name", "apiKey", "contextTokens", "vision", "profile"}
}

func permissionFields() []string { return []string{"mode", "allow", "deny"} }

// section reads the members of an object at the top level, each once. read reports whether it knows the name.
func (p *parser) section(path string, v hujson.Value, fields []string, read func(name, at string, v hujson.Value)) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		(&reader{parser: p}).fail(v, path, "want an object, got "+kindOf(v))
		return
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		name := memberName(m)
		at := join(path, name)
		switch {
		case seen[name]:
			p.report(SeverityError, m.Name, at, "", "is given twice")
		case !slices.Contains(fields, name):
			p.unknown(m.Name, path, name, "", fields)
		default:
			read(name, at, m.Value)
		}
		seen[name] = true
	}
}

// own reports whether a setting may stand in this file. One that sends the conversation elsewhere, or lets more run, is
// the person's to give, not a project's.
func (p *parser) own(v hujson.Value, at string) bool {
	if p.file.Scope != ScopeProject {
		return true
	}
	p.report(SeverityWarning, v, at, "", "is read from your own usher.json or a file named with --config only; it has no effect here")
	return false
}

func (p *parser) model(path string, v hujson.Value) {
	r := &reader{parser: p}
	s := &p.config.Model
	p.section(path, v, modelFields(), func(name, at string, v hujson.Value) {
		switch name {
		case "baseUrl":
			if p.own(v, at) {
				s.BaseURL, _ = r.filled(at, v)
			}
		case "apiKey":
			if p.own(v, at) {
				key, _ := r.filled(at, v)
				s.APIKey = Secret(strings.TrimSpace(key))
			}
		case "name":
			s.Name, _ = r.filled(at, v)
		case "contextTokens":
			s.ContextTokens = int(r.integer(at, v, maxContextTokens))
		case "vision":
			s.Vision = r.boolean(at, v)
		case "profile":
			words := map[string]string{"generic": "generic", "openai": "openai", "openai-strict": "openai-strict", "gemini": "gemini"}
			s.Profile = r.choice(at, v, words, "generic, openai, openai-strict or gemini")
		}
	})
}

func (p *parser) permissions(path string, v hujson.Value) {
	r := &reader{parser: p}
	s := &p.config.Permissions
	p.section(path, v, permissionFields(), func(name, at string, v hujson.Value) {
		switch name {
		case "mode":
			mode := r.choice(at, v, map[string]string{"ask": "ask", "read-only": "read-only", "auto": "auto"}, "ask, read-only or auto")
			if mode != "auto" || p.own(v, at) {
				s.Mode = mode
			}
		case "allow":
			if p.own(v, at) {
				s.Allow = r.texts(at, v, true)
			}
		case "deny":
			s.Deny = r.texts(at, v, true)
		}
	})
}

// over takes what a file of higher precedence says, field by field.
func (a ModelSettings) over(b ModelSettings) ModelSettings {
	if b.BaseURL != "" && b.BaseURL != a.BaseURL {
		a.APIKey = "" // a key belongs to its address
	}
	for _, f := range []struct{ a, b *string }{{&a.BaseURL, &b.BaseURL}, {&a.Name, &b.Name}, {&a.Profile, &b.Profile}} {
		if *f.b != "" {
			*f.a = *f.b
		}
	}
	if b.APIKey != "" {
		a.APIKey = b.APIKey
	}
	if b.ContextTokens > 0 {
		a.ContextTokens = b.ContextTokens
	}
	a.Vision = a.Vision || b.Vision
	return a
}

// tighten adds the rules of another file. The stricter mode holds: read-only, then ask, then auto.
func (a PermissionSettings) tighten(b PermissionSettings) PermissionSettings {
	strict := map[string]int{"auto": 1, "": 2, "ask": 3, "read-only": 4}
	if a.Mode == "" || b.Mode != "" && strict[b.Mode] > strict[a.Mode] {
		a.Mode = b.Mode
	}
	a.Allow = slices.Concat(a.Allow, b.Allow)
	a.Deny = slices.Concat(a.Deny, b.Deny)
	return a
}
