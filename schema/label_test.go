package schema_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/schema"
)

var legal = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func TestLabelKeepsLegalNamesReadable(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"github", "search", "github__search"},
		{"my-server", "do_it", "my-server__do_it"},
		{"a", "_private", "a___private"},
		{"s", strings.Repeat("t", 61), "s__" + strings.Repeat("t", 61)},
	} {
		if got := schema.Label(c.server, c.tool); got != c.want {
			t.Errorf("Label(%q, %q) = %q, want %q", c.server, c.tool, got, c.want)
		}
	}
}

func TestLabelIsAlwaysLegalAndDistinct(t *testing.T) {
	long := strings.Repeat("x", 128)
	pairs := [][2]string{
		{"a__b", "c"},
		{"a", "b__c"},
		{"a_", "b"},
		{"a", "_b"},
		{"admin.tools", "list"},
		{"admin/tools", "list"},
		{"admin_tools", "list"},
		{"größe", "maß"},
		{"grösse", "mass"},
		{"", ""},
		{"s", strings.Repeat("t", 62)},
		{"s", strings.Repeat("t", 63)},
		{"s", long + "a"},
		{"s", long + "b"},
		{long, "t"},
		{long, long},
		{long + "a", long},
		{"sp ace", "na me"},
		{"日本", "語"},
		{"日木", "語"},
	}
	seen := map[string][2]string{}
	for _, p := range pairs {
		label := schema.Label(p[0], p[1])
		if !legal.MatchString(label) {
			t.Errorf("Label(%q, %q) = %q is not a legal name", p[0], p[1], label)
		}
		if other, dup := seen[label]; dup {
			t.Errorf("Label(%q, %q) = %q is also the label of %q", p[0], p[1], label, other)
		}
		seen[label] = p
		if again := schema.Label(p[0], p[1]); again != label {
			t.Errorf("Label(%q, %q) is not stable: %q, then %q", p[0], p[1], label, again)
		}
	}
}

func TestLabelKeepsTheToolWhenTheServerIsLong(t *testing.T) {
	got := schema.Label(strings.Repeat("s", 60), "search_issues")
	if !strings.Contains(got, "__search_issues_") {
		t.Errorf("Label = %q, want the tool's whole name in it", got)
	}
}
