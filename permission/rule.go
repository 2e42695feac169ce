package permission

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxRule is the longest rule, in bytes.
const MaxRule = 512

// Rule names tools. Its text is one of
//
//	SERVER          every tool of the server
//	SERVER/TOOL     one tool
//
// by the names the servers use, case and all. In both parts * stands for any run of characters, none included, and
// ? for one character; \ takes the next character as it is, a / in a server's name too. The first / separates the
// parts, so a tool's name may hold more of them. "*" is every tool of every server, "*/get_*" the getters of all.
//
// The zero Rule matches nothing.
type Rule struct {
	text         string
	server, tool []token
}

// token is one step of a pattern: a character, any character, or any run of them.
type token struct {
	kind tokenKind
	r    rune
}

type tokenKind uint8

const (
	literal tokenKind = iota
	anyOne
	anyRun
)

// ParseRule reads a rule. The error says what is wrong with the text, which it quotes.
func ParseRule(text string) (Rule, error) {
	rule := Rule{text: text}
	fail := func(why string) (Rule, error) {
		shown := text
		if len(shown) > 80 {
			shown = strings.ToValidUTF8(shown[:80], "") + "…"
		}
		return Rule{}, fmt.Errorf("permission rule %q: %s", shown, why)
	}
	switch {
	case len(text) > MaxRule:
		return fail(fmt.Sprintf("it is longer than %d bytes", MaxRule))
	case !utf8.ValidString(text):
		return fail("it is not UTF-8")
	case strings.TrimSpace(text) != text:
		return fail("it begins or ends with a space")
	}
	part := &rule.server
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch {
		case r == '\\':
			if rest == "" {
				return fail(`nothing follows the last \`)
			}
			r, size = utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			*part = append(*part, token{literal, r})
		case r == '/' && part == &rule.server:
			part = &rule.tool
		case r == '*':
			if n := len(*part); n == 0 || (*part)[n-1].kind != anyRun {
				*part = append(*part, token{kind: anyRun})
			}
		case r == '?':
			*part = append(*part, token{kind: anyOne})
		default:
			*part = append(*part, token{literal, r})
		}
	}
	if len(rule.server) == 0 {
		return fail("it names no server; write */TOOL for any")
	}
	if part == &rule.server {
		rule.tool = []token{{kind: anyRun}}
	} else if len(rule.tool) == 0 {
		return fail("nothing follows the /; write SERVER for all its tools")
	}
	return rule, nil
}

// ParseRules reads several rules and stops at the first that is wrong.
func ParseRules(texts ...string) ([]Rule, error) {
	rules := make([]Rule, 0, len(texts))
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// RuleFor is the rule that matches one tool of one server and no other, whatever characters their names hold.
func RuleFor(server, tool string) string {
	return escape(server, `\*?/`) + "/" + escape(tool, `\*?`)
}

func escape(name, special string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// String is the rule as it was written.
func (r Rule) String() string { return r.text }

// Match reports whether the rule names the tool of the server. It takes time proportional to the product of the
// lengths at worst.
func (r Rule) Match(server, tool string) bool {
	return match(r.server, []rune(server)) && match(r.tool, []rune(tool))
}

// match goes back to the last run only, which is enough: an earlier run never has to take more than it did.
func match(pattern []token, name []rune) bool {
	if len(pattern) == 0 {
		return false
	}
	p, n := 0, 0
	run, resume := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p].kind == anyRun:
			run, resume = p, n
			p++
		case p < len(pattern) && (pattern[p].kind == anyOne || pattern[p].r == name[n]):
			p, n = p+1, n+1
		case run >= 0:
			resume++
			p, n = run+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p].kind == anyRun {
		p++
	}
	return p == len(pattern)
}

// MatchName reports whether a pattern of the tool part of a rule matches a tool's name: what the entries of a
// server's alwaysAllow, includeTools and excludeTools are. A pattern that is no pattern matches itself alone.
func MatchName(pattern, tool string) bool {
	rule, err := ParseRule("*/" + pattern)
	if err != nil {
		return pattern == tool
	}
	return match(rule.tool, []rune(tool))
}
