package permission

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Mode says what happens to a call that no rule decides.
type Mode string

// The modes.
const (
	// Ask asks the person, unless the tool is known to read or was allowed before. It is the default: the zero Mode
	// is Ask.
	Ask Mode = "ask"
	// ReadOnly allows tools known to read, and denies the others without asking. Earlier answers do not count.
	ReadOnly Mode = "read-only"
	// Auto allows everything that no rule denies.
	Auto Mode = "auto"
)

// ParseMode reads a mode by its name; "" is Ask.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case "":
		return Ask, nil
	case Ask, ReadOnly, Auto:
		return m, nil
	}
	return "", fmt.Errorf("permission mode %.40q is unknown; the modes are %s, %s and %s", name, Ask, ReadOnly, Auto)
}

// Server is what a decision needs to know of a tool's server.
type Server struct {
	Name string
	// Fingerprint identifies the server's configuration: what runs or is reached under the name. Answers that are
	// remembered hold for one fingerprint only.
	Fingerprint string
	// Trust lets the annotations of the server's tools count.
	Trust bool
	// IncludeTools, when not nil, names the only tools that may run; ExcludeTools those that may not; AlwaysAllow
	// those that run without a question. The entries are names, or patterns as in the tool part of a [Rule].
	IncludeTools, ExcludeTools, AlwaysAllow []string
}

// Verdict is the outcome of a decision.
type Verdict string

// The verdicts.
const (
	Allowed Verdict = "allowed"
	Denied  Verdict = "denied"
	Asked   Verdict = "asked" // the person has to be asked
)

// Source says what took a decision.
type Source string

// The sources of decisions, in the order in which they are consulted.
const (
	ByDenyRule     Source = "deny_rule"
	ByExcludeTools Source = "excludeTools"
	ByIncludeTools Source = "includeTools"
	ByAllowRule    Source = "allow_rule"
	ByAlwaysAllow  Source = "alwaysAllow"
	ByReadOnlyHint Source = "readOnlyHint" // of a trusted server
	BySession      Source = "session"      // answered for this session
	ByRemembered   Source = "remembered"   // answered for good
	ByMode         Source = "mode"
)

// Decision is a verdict and why.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Source  Source  `json:"source"`
	// Reason is a sentence for the person.
	Reason string `json:"reason"`
	// Rule is the rule or entry that decided, as it was written; empty where none did.
	Rule string `json:"rule,omitempty"`
	// Changed is the difference between the definition that was allowed before and this one, when that is why the
	// person is asked again.
	Changed []Change `json:"changed,omitempty"`
}

// Policy is what holds for every call. The zero Policy asks about everything that is not known to read.
type Policy struct {
	Mode        Mode
	Deny, Allow []Rule
}

// Memory is what the person answered before about a tool; a nil grant is none.
type Memory struct {
	Session *Grant // for this session
	Always  *Grant // for good
}

// Decide decides about one call, by the order that the package's documentation gives. It depends on its arguments
// alone and changes none of them.
func (p Policy) Decide(server Server, tool Definition, memory Memory) Decision {
	name := fmt.Sprintf("%q of server %q", tool.Name, server.Name)
	for _, r := range p.Deny {
		if r.Match(server.Name, tool.Name) {
			return Decision{
				Denied, ByDenyRule,
				fmt.Sprintf("Tool %s is denied by the rule %q.", name, r), r.String(), nil,
			}
		}
	}
	if entry, ok := listed(server.ExcludeTools, tool.Name); ok {
		return Decision{Denied, ByExcludeTools, fmt.Sprintf("Tool %s is in the server's excludeTools.", name), entry, nil}
	}
	if server.IncludeTools != nil {
		if _, ok := listed(server.IncludeTools, tool.Name); !ok {
			return Decision{Denied, ByIncludeTools, fmt.Sprintf("Tool %s is not in the server's includeTools.", name), "", nil}
		}
	}
	for _, r := range p.Allow {
		if r.Match(server.Name, tool.Name) {
			return Decision{
				Allowed, ByAllowRule,
				fmt.Sprintf("Tool %s is allowed by the rule %q.", name, r), r.String(), nil,
			}
		}
	}
	if entry, ok := listed(server.AlwaysAllow, tool.Name); ok {
		return Decision{Allowed, ByAlwaysAllow, fmt.Sprintf("Tool %s is in the server's alwaysAllow.", name), entry, nil}
	}
	return p.byMode(server, tool, memory, name)
}

func (p Policy) byMode(server Server, tool Definition, memory Memory, name string) Decision {
	if p.Mode == Auto {
		return Decision{Verdict: Allowed, Source: ByMode, Reason: "The mode is auto: what no rule denies runs without a question."}
	}
	reads, doubt := knownToRead(server, tool)
	if reads {
		return Decision{
			Verdict: Allowed, Source: ByReadOnlyHint,
			Reason: fmt.Sprintf("Tool %s only reads, says its server, which is trusted.", name),
		}
	}
	if p.Mode == ReadOnly {
		return Decision{
			Verdict: Denied, Source: ByMode,
			Reason: fmt.Sprintf("The mode is read-only, and tool %s is not known to only read: %s.", name, doubt),
		}
	}
	if p.Mode != Ask && p.Mode != "" {
		return Decision{
			Verdict: Denied, Source: ByMode,
			Reason: fmt.Sprintf("The permission mode %.40q is unknown, so nothing that no rule allows may run.", string(p.Mode)),
		}
	}
	return p.byMemory(server, tool, memory, name)
}

func (p Policy) byMemory(server Server, tool Definition, memory Memory, name string) Decision {
	hash := tool.Hash()
	stale := memory.Always
	for _, m := range []struct {
		grant  *Grant
		source Source
		words  string
	}{
		{memory.Session, BySession, "for this session"},
		{memory.Always, ByRemembered, "for good"},
	} {
		switch {
		case m.grant == nil || m.grant.Server != server.Name || m.grant.Tool != tool.Name:
		case m.grant.Hash == hash && m.grant.Fingerprint == server.Fingerprint:
			return Decision{
				Verdict: Allowed, Source: m.source,
				Reason: fmt.Sprintf("You allowed tool %s %s.", name, m.words),
			}
		default:
			stale = m.grant
		}
	}
	d := Decision{Verdict: Asked, Source: ByMode, Reason: fmt.Sprintf("Tool %s has not been allowed yet.", name)}
	if stale == nil || stale.Server != server.Name || stale.Tool != tool.Name {
		return d
	}
	if stale.Hash == hash {
		d.Reason = fmt.Sprintf("You allowed tool %s, but what runs as server %q was configured differently then.", name, server.Name)
		return d
	}
	d.Reason = fmt.Sprintf("You allowed tool %s, but its server has changed the tool's definition since.", name)
	if stale.Definition == nil {
		d.Changed = []Change{{Where: "definition", Before: "too large to be kept", After: "hash " + hash[:12]}}
	} else {
		d.Changed = Diff(*stale.Definition, tool)
	}
	return d
}

func listed(patterns []string, tool string) (string, bool) {
	for _, p := range patterns {
		if p == tool || MatchName(p, tool) {
			return p, true
		}
	}
	return "", false
}

// knownToRead says whether the tool can be taken to change nothing, and if not, why not.
func knownToRead(server Server, tool Definition) (reads bool, doubt string) {
	var hints struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
	}
	switch {
	case !server.Trust:
		return false, "its server is not trusted, so its own word does not count"
	case len(tool.Annotations) == 0:
		return false, "it does not say so"
	case json.Unmarshal(tool.Annotations, &hints) != nil:
		return false, "its annotations cannot be read"
	case hints.ReadOnly == nil || !*hints.ReadOnly:
		return false, "it does not say so"
	case hints.Destructive != nil && *hints.Destructive:
		return false, "it says both readOnlyHint and destructiveHint"
	case duplicated(tool.Annotations):
		return false, "its annotations are ambiguous"
	}
	return true, ""
}

// duplicated reports whether a hint is given twice, in any case of its letters: package json would take the last,
// and match names without regard to case, where another reader takes the first.
func duplicated(annotations json.RawMessage) bool {
	dec := json.NewDecoder(strings.NewReader(string(annotations)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return true
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return true
		}
		folded := strings.ToLower(key)
		if (folded == "readonlyhint" || folded == "destructivehint") && (seen[folded] || key != "readOnlyHint" && key != "destructiveHint") {
			return true
		}
		seen[folded] = true
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return true
		}
	}
	return false
}
