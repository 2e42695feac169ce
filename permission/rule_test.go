package permission_test

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/permission"
)

func TestRuleMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, server, tool string
		want               bool
	}{
		{"github", "github", "search", true},
		{"github", "github", "a/b", true},
		{"github", "github2", "search", false},
		{"github", "GitHub", "search", false},
		{"github/search", "github", "search", true},
		{"github/search", "github", "search_code", false},
		{"github/get_*", "github", "get_", true},
		{"github/get_*", "github", "get_issue", true},
		{"github/get_*", "github", "forget_issue", false},
		{"github/*_issue", "github", "get_an_issue", true},
		{"github/*a*b", "github", "xaybzb", true},
		{"github/*a*b", "github", "xbya", false},
		{"github/get?", "github", "gets", true},
		{"github/get?", "github", "get", false},
		{"github/ge?t", "github", "geét", true},
		{"git*/push", "gitlab", "push", true},
		{"*", "anything", "at all", true},
		{"**", "anything", "at all", true},
		{"*/delete", "files", "delete", true},
		{"*/delete", "files", "delete_all", false},
		{"admin/tools/list", "admin", "tools/list", true},
		{`a\/b/c`, "a/b", "c", true},
		{`a\/b/c`, "a", "b/c", false},
		{`s/\*`, "s", "*", true},
		{`s/\*`, "s", "x", false},
		{"s/t", "", "", false},
	} {
		rule, err := permission.ParseRule(c.rule)
		if err != nil {
			t.Errorf("ParseRule(%q): %v", c.rule, err)
			continue
		}
		if got := rule.Match(c.server, c.tool); got != c.want {
			t.Errorf("rule %q matches (%q, %q) = %v, want %v", c.rule, c.server, c.tool, got, c.want)
		}
	}
	if (permission.Rule{}).Match("", "") {
		t.Error("the zero rule matches something")
	}
}

func TestWrongRulesAreRefused(t *testing.T) {
	t.Parallel()
	const spaced = " server"
	for rule, want := range map[string]string{
		"":                       "names no server",
		"/tool":                  "names no server",
		"server/":                "nothing follows the /",
		spaced:                   "space",
		`server/\`:               `last \`,
		"s\xff":                  "UTF-8",
		strings.Repeat("a", 513): "longer than 512",
	} {
		if _, err := permission.ParseRule(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRule(%.20q) = %v, want an error with %q", rule, err, want)
		}
	}
	if _, err := permission.ParseRules("good", "bad/"); err == nil {
		t.Error("ParseRules took a wrong rule")
	}
}

func TestRuleForOneToolMatchesItAlone(t *testing.T) {
	t.Parallel()
	names := []string{"a", "a*", "a?", `a\`, "a/b", "*", "b", `\*`}
	for _, server := range names {
		for _, tool := range names {
			rule, err := permission.ParseRule(permission.RuleFor(server, tool))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range names {
				for _, n := range names {
					if got, want := rule.Match(s, n), s == server && n == tool; got != want {
						t.Errorf("rule %q matches (%q, %q) = %v", rule, s, n, got)
					}
				}
			}
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("*a*a*a*a*b/*", strings.Repeat("a", 200), "t")
	f.Fuzz(func(t *testing.T, text, server, tool string) {
		rule, err := permission.ParseRule(text)
		if err != nil {
			return
		}
		rule.Match(server, tool)
		if rule.String() != text {
			t.Errorf("rule %q is shown as %q", text, rule)
		}
	})
}
