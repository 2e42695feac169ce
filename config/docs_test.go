package config_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/config"
)

// docs/configuration.md names each field of a server, of mcpApps, of model and of permissions, has no row for a field that there is
// not, and has one place that says which fields have no effect yet.
func TestDocumentedFields(t *testing.T) {
	raw, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	known := slices.Concat(config.ServerFields(), config.AppsFields(), config.ModelFields(), config.RuleFields())
	for _, field := range known {
		if !strings.Contains(text, "`"+field+"`") {
			t.Errorf("%s is not in the docs", field)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, row[1]) {
			t.Errorf("%s has a row and is no field", row[1])
		}
	}
	unused := regexp.MustCompile("(?m)^(.*) are read and checked, and a warning says that they have no effect").FindStringSubmatch(text)
	if unused == nil {
		t.Fatal("the docs do not say which fields have no effect yet")
	}
	var documented []string
	for _, field := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(unused[1], -1) {
		documented = append(documented, field[1])
	}
	if diff := cmp.Diff(config.LaterFields(), documented, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("fields without an effect (-program +docs):\n%s", diff)
	}
}

// The first example of the docs is a configuration without a problem.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```jsonc\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example")
	}
	if c := parse(t, example); len(c.Problems) > 0 || len(c.Servers) != 1 || c.Servers[0].Env["LOG_LEVEL"] != "info" {
		t.Errorf("problems %v, servers %+v", c.Problems, c.Servers)
	}
}
