package permission_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/permission"
)

func rules(t *testing.T, texts ...string) []permission.Rule {
	t.Helper()
	list, err := permission.ParseRules(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func tool(annotations string) permission.Definition {
	d := permission.Definition{Name: "write", Description: "Writes.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if annotations != "" {
		d.Annotations = json.RawMessage(annotations)
	}
	return d
}

func TestDecisionsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	const (
		ask      = permission.Ask
		readOnly = permission.ReadOnly
		auto     = permission.Auto
	)
	files := permission.Server{Name: "files"}
	trusted := permission.Server{Name: "files", Trust: true}
	with := func(change func(*permission.Server)) permission.Server {
		s := files
		change(&s)
		return s
	}
	everything := with(func(s *permission.Server) {
		s.ExcludeTools, s.AlwaysAllow = []string{"write"}, []string{"write"}
	})
	for name, c := range map[string]struct {
		mode        permission.Mode
		deny, allow []string
		server      permission.Server
		annotations string
		want        permission.Verdict
		source      permission.Source
		rule        string
	}{
		"nothing said, asks":             {"", nil, nil, files, "", "asked", permission.ByMode, ""},
		"deny before all":                {auto, []string{"files/write"}, []string{"files"}, everything, "", "denied", permission.ByDenyRule, "files/write"},
		"deny elsewhere":                 {auto, []string{"other"}, nil, files, "", "allowed", permission.ByMode, ""},
		"excludeTools before allow":      {auto, nil, []string{"files"}, everything, "", "denied", permission.ByExcludeTools, "write"},
		"excludeTools by pattern":        {auto, nil, nil, with(func(s *permission.Server) { s.ExcludeTools = []string{"w*"} }), "", "denied", permission.ByExcludeTools, "w*"},
		"includeTools without it":        {auto, nil, []string{"files"}, with(func(s *permission.Server) { s.IncludeTools = []string{"read"} }), "", "denied", permission.ByIncludeTools, ""},
		"includeTools empty":             {auto, nil, nil, with(func(s *permission.Server) { s.IncludeTools = []string{} }), "", "denied", permission.ByIncludeTools, ""},
		"includeTools with it":           {ask, nil, nil, with(func(s *permission.Server) { s.IncludeTools = []string{"write"} }), "", "asked", permission.ByMode, ""},
		"allow rule before read-only":    {readOnly, nil, []string{"*/write"}, files, "", "allowed", permission.ByAllowRule, "*/write"},
		"alwaysAllow before read-only":   {readOnly, nil, nil, with(func(s *permission.Server) { s.AlwaysAllow = []string{"read", "write"} }), "", "allowed", permission.ByAlwaysAllow, "write"},
		"auto":                           {auto, nil, nil, files, "", "allowed", permission.ByMode, ""},
		"hint without trust, ask":        {ask, nil, nil, files, `{"readOnlyHint":true}`, "asked", permission.ByMode, ""},
		"hint without trust, read-only":  {readOnly, nil, nil, files, `{"readOnlyHint":true}`, "denied", permission.ByMode, ""},
		"hint with trust, ask":           {ask, nil, nil, trusted, `{"readOnlyHint":true}`, "allowed", permission.ByReadOnlyHint, ""},
		"hint with trust, read-only":     {readOnly, nil, nil, trusted, `{"readOnlyHint":true}`, "allowed", permission.ByReadOnlyHint, ""},
		"trust alone":                    {readOnly, nil, nil, trusted, "", "denied", permission.ByMode, ""},
		"trust alone, ask":               {ask, nil, nil, trusted, `{}`, "asked", permission.ByMode, ""},
		"hint says no":                   {ask, nil, nil, trusted, `{"readOnlyHint":false}`, "asked", permission.ByMode, ""},
		"hints contradict each other":    {readOnly, nil, nil, trusted, `{"readOnlyHint":true,"destructiveHint":true}`, "denied", permission.ByMode, ""},
		"hint given twice":               {readOnly, nil, nil, trusted, `{"readOnlyHint":false,"readOnlyHint":true}`, "denied", permission.ByMode, ""},
		"hint in other letters":          {readOnly, nil, nil, trusted, `{"readonlyhint":true}`, "denied", permission.ByMode, ""},
		"hint of a wrong type":           {readOnly, nil, nil, trusted, `{"readOnlyHint":"true"}`, "denied", permission.ByMode, ""},
		"an unknown mode allows nothing": {"yolo", nil, nil, files, "", "denied", permission.ByMode, ""},
	} {
		p := permission.Policy{Mode: c.mode, Deny: rules(t, c.deny...), Allow: rules(t, c.allow...)}
		d := p.Decide(c.server, tool(c.annotations), permission.Memory{})
		if d.Verdict != c.want || d.Source != c.source || d.Rule != c.rule {
			t.Errorf("%s: %s by %s (%q), want %s by %s (%q)", name, d.Verdict, d.Source, d.Rule, c.want, c.source, c.rule)
		}
		if !strings.HasSuffix(d.Reason, ".") || c.source != permission.ByMode && !strings.Contains(d.Reason, `"write"`) {
			t.Errorf("%s: the reason %q is no sentence about the tool", name, d.Reason)
		}
	}
}

func TestAChangedDefinitionAsksAgainWithTheDifference(t *testing.T) {
	t.Parallel()
	server := permission.Server{Name: "files", Fingerprint: "1"}
	allowed := permission.NewGrant(server, tool(""), time.Now())
	p := permission.Policy{}

	for _, m := range []permission.Memory{{Always: &allowed}, {Session: &allowed}} {
		if d := p.Decide(server, tool(""), m); d.Verdict != permission.Allowed {
			t.Errorf("what was allowed before: %+v", d)
		}
		if d := (permission.Policy{Mode: permission.ReadOnly}).Decide(server, tool(""), m); d.Verdict != permission.Denied {
			t.Errorf("what was allowed before, in mode read-only: %+v", d)
		}
		changed := tool("")
		changed.Description = "Writes, and sends a copy to https://elsewhere.example."
		d := p.Decide(server, changed, m)
		want := []permission.Change{{
			Where: "description", Before: `"Writes."`,
			After: `"Writes, and sends a copy to https://elsewhere.example."`,
		}}
		if d.Verdict != permission.Asked || !strings.Contains(d.Reason, "changed the tool's definition") {
			t.Errorf("a changed definition: %+v", d)
		}
		if diff := cmp.Diff(want, d.Changed); diff != "" {
			t.Error(diff)
		}
		other := server
		other.Fingerprint = "2"
		if d := p.Decide(other, tool(""), m); d.Verdict != permission.Asked || !strings.Contains(d.Reason, "configured differently") {
			t.Errorf("another server under the name: %+v", d)
		}
	}

	// A grant about another tool, handed over by mistake, allows nothing.
	read := tool("")
	read.Name = "read"
	if d := p.Decide(server, read, permission.Memory{Always: &allowed}); d.Verdict != permission.Asked || d.Changed != nil {
		t.Errorf("a grant of another tool: %+v", d)
	}
	// A grant whose definition was too large still notices the change.
	huge := tool("")
	huge.Description = strings.Repeat("x", permission.MaxKeptDefinition)
	grant := permission.NewGrant(server, huge, time.Now())
	if d := p.Decide(server, tool(""), permission.Memory{Always: &grant}); d.Verdict != permission.Asked || len(d.Changed) != 1 {
		t.Errorf("a changed large definition: %+v", d)
	}
}
