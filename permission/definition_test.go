package permission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/permission"
)

func TestHashIgnoresLayoutAndNothingElse(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	base := permission.Definition{
		Name: "n", Description: "d", InputSchema: raw(`{"type":"object","properties":{"a":{"maximum":9007199254740993}}}`),
		OutputSchema: raw(`{}`), Annotations: raw(`{"readOnlyHint":true}`),
	}
	same := base
	same.InputSchema = raw("{ \"properties\": {\"a\":{ \"maximum\" : 9007199254740993}},\n\"type\":\"object\"}")
	if base.Hash() != same.Hash() || permission.Diff(base, same) != nil {
		t.Errorf("layout counts: %v", permission.Diff(base, same))
	}
	for name, change := range map[string]func(*permission.Definition){
		"name":        func(d *permission.Definition) { d.Name = "m" },
		"description": func(d *permission.Definition) { d.Description = "e" },
		"moved text":  func(d *permission.Definition) { d.Name, d.Description = "nd", "" },
		"large number": func(d *permission.Definition) {
			d.InputSchema = raw(strings.Replace(string(d.InputSchema), "993", "992", 1))
		},
		"output":      func(d *permission.Definition) { d.OutputSchema = nil },
		"annotations": func(d *permission.Definition) { d.Annotations = raw(`{"readOnlyHint":false}`) },
		"no JSON":     func(d *permission.Definition) { d.InputSchema = raw(`{"type":`) },
		"two values":  func(d *permission.Definition) { d.InputSchema = append(raw(string(d.InputSchema)), " {}"...) },
	} {
		changed := base
		change(&changed)
		if base.Hash() == changed.Hash() {
			t.Errorf("%s: the hash stays the same", name)
		}
		if len(permission.Diff(base, changed)) == 0 {
			t.Errorf("%s: no difference is shown", name)
		}
	}
}

func TestDifferencesReadWell(t *testing.T) {
	t.Parallel()
	schema := func(s string) permission.Definition { return permission.Definition{InputSchema: json.RawMessage(s)} }
	long := strings.Repeat("Long text. ", 40)
	for _, c := range []struct {
		before, after permission.Definition
		want          []string
	}{
		{schema(`{"required":["a"]}`), schema(`{"required":["a","b"],"x":1}`), []string{
			`inputSchema/required: ["a"] → ["a","b"]`, `inputSchema/x: added 1`,
		}},
		{schema(`{"properties":{"a/b":{"type":"string"},"c":{}}}`), schema(`{"properties":{"a/b":{"type":"number"}}}`), []string{
			`inputSchema/properties/a~1b/type: "string" → "number"`, `inputSchema/properties/c: removed {}`,
		}},
		{schema(`{"enum":["a","b"]}`), schema(`{"enum":["a","\u202ec"]}`), []string{`inputSchema/enum/1: "b" → "\u202ec"`}},
		{schema(""), schema(`{"a":"\u200b"}`), []string{`inputSchema: added {"a":"\u200b"}`}},
		{schema(`[1]`), schema(`{}`), []string{`inputSchema: [1] → {}`}},
		{schema(`not JSON`), schema(`{}`), []string{`inputSchema: "not JSON" → {}`}},
		{
			permission.Definition{Description: long + "a\x1b[2J"},
			permission.Definition{Description: long + "b"},
			[]string{`description: …" text. Long text. Long text. Long text. a\x1b[2J" → …" text. Long text. Long text. Long text. b"`},
		},
	} {
		got := []string{}
		for _, change := range permission.Diff(c.before, c.after) {
			got = append(got, change.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	var before, after []string
	for i := range 1000 {
		before = append(before, fmt.Sprintf(`"b%d":%q`, i, strings.Repeat("x", 1000)))
		after = append(after, fmt.Sprintf(`"a%d":1`, i))
	}
	changes := permission.Diff(
		permission.Definition{InputSchema: json.RawMessage("{" + strings.Join(before, ",") + "}")},
		permission.Definition{InputSchema: json.RawMessage("{" + strings.Join(after, ",") + "}")},
	)
	if len(changes) != permission.MaxChanges || !strings.Contains(changes[len(changes)-1].After, "more") {
		t.Errorf("%d changes, the last one %v", len(changes), changes[len(changes)-1])
	}
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	other := strings.Repeat(`{"a":`, 9000) + "2" + strings.Repeat("}", 9000)
	if got := permission.Diff(permission.Definition{InputSchema: json.RawMessage(deep)}, permission.Definition{InputSchema: json.RawMessage(other)}); len(got) != 1 {
		t.Errorf("a deep change: %d changes", len(got))
	}
}
