package config

import "fmt"

// Merge puts configurations together, those of higher precedence last. A server of a name that is there already
// replaces it, in its place, with a warning that names both places. Apps settings of a later file only tighten
// those of an earlier one.
func Merge(configs ...*Config) *Config {
	merged := &Config{}
	at := map[string]int{}
	for _, c := range configs {
		if c == nil {
			continue
		}
		merged.Files = append(merged.Files, c.Files...)
		merged.Problems = append(merged.Problems, c.Problems...)
		merged.Apps = merged.Apps.tighten(c.Apps)
		merged.Model = merged.Model.over(c.Model)
		merged.Permissions = merged.Permissions.tighten(c.Permissions)
		for _, s := range c.Servers {
			i, there := at[s.Name]
			if !there {
				at[s.Name] = len(merged.Servers)
				merged.Servers = append(merged.Servers, s)
				continue
			}
			merged.Problems = append(merged.Problems, Problem{
				Severity: SeverityWarning, File: s.Source.File, Line: s.Source.Line, Column: min(s.Source.Line, 1),
				Server: s.Name, Field: s.Name, Message: "replaces the server of this name in " + merged.Servers[i].Source.String(),
			})
			merged.Servers[i] = s
		}
	}
	return merged
}

// String is the place for a message: file:line, or what stands for a file.
func (s Source) String() string {
	switch {
	case s.File != "" && s.Line > 0:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case s.File != "":
		return s.File
	case s.Scope == ScopeAdHoc:
		return "command line"
	case s.Scope == ScopeBuiltin:
		return "built in"
	default:
		return "program"
	}
}
