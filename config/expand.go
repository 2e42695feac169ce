package config

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpanded bounds one string after expansion, in bytes: more than any system takes as an argument.
const maxExpanded = 256 << 10

// reference is one variable that expansion has put into a string.
type reference struct{ name, value string }

// expand replaces ${VAR}, ${VAR:-default} and ${env:VAR} in s. The default counts when the variable is unset or
// empty. $${ stands for a literal ${. Values are inserted as they are and not expanded again. lookup may be nil:
// then no variable is set.
func expand(s string, lookup func(string) (string, bool)) (string, []reference, error) {
	if !strings.Contains(s, "${") {
		return s, nil, nil
	}
	var (
		b    strings.Builder
		refs []reference
	)
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1])
			b.WriteString("${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		body, rest, found := strings.Cut(s[i+2:], "}")
		if !found {
			return "", nil, errors.New(`"${" has no closing "}"; write "$${" for a literal one`)
		}
		name, value, err := resolve(body, lookup)
		if err != nil {
			return "", nil, err
		}
		refs = append(refs, reference{name, value})
		b.WriteString(value)
		if b.Len() > maxExpanded {
			return "", nil, fmt.Errorf("is longer than %d KiB after expansion", maxExpanded>>10)
		}
		s = rest
	}
	return b.String(), refs, nil
}

// resolve answers one reference: the text between the braces.
func resolve(body string, lookup func(string) (string, bool)) (name, value string, err error) {
	name, fallback, hasFallback := strings.Cut(body, ":-")
	if kind, rest, ok := strings.Cut(name, ":"); ok {
		switch kind {
		case "env":
			name = rest
		case "input":
			return "", "", fmt.Errorf(`${%s} asks the person for a value, which is not supported; use an environment variable`, name)
		default:
			return "", "", fmt.Errorf(`${%s} is no reference that is known; want ${VAR}, ${VAR:-default} or ${env:VAR}, or "$${" for a literal "${"`, name)
		}
	}
	if !isVariable(name) {
		return "", "", fmt.Errorf(`%q is no variable name; want ${VAR}, ${VAR:-default} or ${env:VAR}, or "$${" for a literal "${"`, "${"+clip(name)+"}")
	}
	set := false
	if lookup != nil {
		value, set = lookup(name)
	}
	switch {
	case hasFallback && value == "":
		return name, fallback, nil
	case !set:
		return "", "", fmt.Errorf("the environment variable %s is not set; set it, or give a default as ${%s:-value}", name, name)
	default:
		return name, value, nil
	}
}

func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// clip shortens a name from a file for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
