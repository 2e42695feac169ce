package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

func corpus(tb testing.TB) map[string]json.RawMessage {
	tb.Helper()
	files, err := filepath.Glob("testdata/corpus/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatal("no corpus", err)
	}
	all := map[string]json.RawMessage{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = data
	}
	return all
}

func TestCorpusIsNormalisedAsTheGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for name, raw := range corpus(t) {
		for _, p := range schema.Profiles() {
			e, err := schema.Explain(raw, p)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if _, err := e.WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			if problem := schema.Sound(e.Schema, resulting(e.Result, p)); problem != "" {
				t.Errorf("%s for %s: %s\n%s", name, p, problem, e.Schema)
			}
			golden := filepath.Join("testdata", "golden", name+"."+string(p)+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s for %s (run with -update to accept):\n%s", name, p, diff)
			}
		}
	}
}

// resulting is the profile whose rules the result keeps to.
func resulting(r schema.Result, p schema.Profile) schema.Profile {
	if p == schema.OpenAIStrict && !r.Strict {
		return schema.OpenAI
	}
	return p
}

func TestWhatNeedsNoChangeComesBackByteForByte(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage("{ \"type\":\"object\",\n \"properties\":{\"b\":{\"type\":\"number\",\"minimum\":1.50},\"a\":{\"type\":\"string\"}},\n\t\"required\":[\"b\",\"a\"], \"additionalProperties\":false }")
	for _, p := range []schema.Profile{schema.Generic, schema.OpenAI, schema.OpenAIStrict} {
		r, err := schema.Normalise(raw, p)
		if err != nil || !bytes.Equal(r.Schema, raw) || len(r.Changes) > 0 {
			t.Errorf("%s: %s, %v, %v", p, r.Schema, r.Changes, err)
		}
	}
	// A server of which nothing is known gets everything that JSON Schema has.
	full := json.RawMessage(`{"type":"object","$defs":{"a":{"$anchor":"x","if":{},"then":{"x-y":1}}},"properties":{"p":{"$ref":"#x"},"q":{"$ref":"#/$defs/a"},"r":{"prefixItems":[true],"unevaluatedItems":false}},"dependentSchemas":{"p":{"allOf":[{}]}}}`)
	if r, err := schema.Normalise(full, schema.Generic); err != nil || !bytes.Equal(r.Schema, full) {
		t.Errorf("%s %v %v", r.Schema, r.Changes, err)
	}
}

func TestHostileSchemasCostNoToolAndLittleTime(t *testing.T) {
	t.Parallel()
	var doubling, wide strings.Builder
	doubling.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	doubling.WriteString(`"d60":{"type":"string"}}}`)
	wide.WriteString(`{"type":"object","allOf":[`)
	for range 3000 {
		wide.WriteString(`{"allOf":[{"$ref":"#"}]},`)
	}
	wide.WriteString(`{}]}`)
	for name, raw := range map[string]string{
		"deep":             strings.Repeat(`{"properties":{"a":`, 100_000) + `{}` + strings.Repeat(`}}`, 100_000),
		"deep within size": strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat(`}`, 2000),
		"deep arrays":      strings.Repeat(`[`, 100_000),
		"long":             `{"type":"object","description":"` + strings.Repeat("x", schema.MaxBytes) + `"}`,
		"many":             `{"enum":[` + strings.Repeat("1,", schema.MaxNodes) + `1]}`,
		"doubling":         doubling.String(),
		"wide":             wide.String(),
		"itself":           `{"$ref":"#"}`,
		"long keys":        `{"properties":{"` + strings.Repeat("k", 100_000) + `":{"properties":{` + strings.Repeat(`"a":{},`, 3000) + `"b":5}}}}`,
		"nothing":          ``,
	} {
		for _, p := range schema.Profiles() {
			r, err := schema.Normalise(json.RawMessage(raw), p)
			if err != nil {
				t.Errorf("%s for %s: %v", name, p, err)
				continue
			}
			if problem := schema.Sound(r.Schema, resulting(r, p)); problem != "" {
				t.Errorf("%s for %s: %s", name, p, problem)
			}
			if len(r.Schema) > schema.MaxBytes || len(r.Changes) > schema.MaxChanges {
				t.Errorf("%s for %s: %d bytes, %d changes", name, p, len(r.Schema), len(r.Changes))
			}
			if len(r.Changes) == 0 && (p == schema.Gemini || name == "long" || name == "many") {
				t.Errorf("%s for %s: no change is told", name, p)
			}
		}
	}
}

func TestStrictModesOwnBoundsLeadOutOfIt(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + `{"type":"string"}` + strings.Repeat(`}}`, levels)
	}
	enum := func(values int) string {
		return `{"type":"object","properties":{"a":{"type":"integer","enum":[1` + strings.Repeat(`,1`, values-1) + `]}}}`
	}
	named := func(chars int) string {
		return `{"type":"object","properties":{"` + strings.Repeat("n", chars) + `":{"type":"string"}}}`
	}
	for raw, want := range map[string]bool{
		nested(10): true, nested(11): false, enum(999): true, enum(1000): false /* null is one more */, named(120_000): true, named(120_001): false,
	} {
		r, err := schema.Normalise(json.RawMessage(raw), schema.OpenAIStrict)
		if err != nil || r.Strict != want {
			t.Errorf("%.60s… (%d bytes): strict %v, %v", raw, len(raw), r.Strict, err)
		}
		if !want && (len(r.Changes) == 0 || !strings.Contains(r.Changes[0].Why, "bound")) {
			t.Errorf("%.60s…: %v", raw, r.Changes)
		}
	}
}

func TestStrictModeTakesNullsOutAgain(t *testing.T) {
	t.Parallel()
	r, err := schema.Normalise(json.RawMessage(`{"type":"object","additionalProperties":false,
		"$defs":{"leaf":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/leaf"}},"additionalProperties":false}},
		"properties":{"must":{"type":["string","null"]},"may":{"type":"string"},"null":{"type":["string","null"]},
		"pick":{"enum":["a","b"],"type":"string"},"leaf":{"$ref":"#/$defs/leaf"},
		"list":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"x":{"type":"number"}},"additionalProperties":false},{"type":"string"}]}}},
		"required":["must"]}`), schema.OpenAIStrict)
	if err != nil || !r.Strict {
		t.Fatalf("%v %v", err, r.Changes)
	}
	for given, want := range map[string]string{
		`{"must":null,"may":null,"null":null,"pick":null,"leaf":null,"list":null}`: `{"must":null,"null":null}`,
		`{"leaf":{"v":null,"next":{"v":"x","next":null}},"list":[{"x":null},"s"]}`: `{"leaf":{"next":{"v":"x"}},"list":[{},"s"]}`,
		"{ \"may\" : \"null\", \"must\":1.50 }":                                    "{ \"may\" : \"null\", \"must\":1.50 }",
		`{"must":null}`:                                                            `{"must":null}`,
		`not null`:                                                                 `not null`,
	} {
		if got := string(r.Arguments(json.RawMessage(given))); got != want {
			t.Errorf("Arguments(%s) = %s, want %s", given, got, want)
		}
	}
	plain, err := schema.Normalise(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), schema.OpenAI)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(plain.Arguments(json.RawMessage(`{"a":null}`))); got != `{"a":null}` {
		t.Errorf("outside strict mode a null was taken out: %s", got)
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range schema.Profiles() {
		if got, err := schema.ParseProfile(strings.ToUpper(string(p))); err != nil || got != p {
			t.Errorf("%v %v", got, err)
		}
	}
	if _, err := schema.ParseProfile("cohere"); err == nil || !strings.Contains(err.Error(), "openai-strict") {
		t.Error(err)
	}
	if _, err := schema.Normalise(json.RawMessage(`{}`), "cohere"); err == nil {
		t.Error("an unknown profile was taken")
	}
	if _, err := schema.Normalise(json.RawMessage(`{}`), ""); err == nil {
		t.Error("no profile was taken")
	}
	for _, c := range []struct {
		url, model string
		want       schema.Profile
	}{
		{"", "gpt-x", schema.OpenAI},
		{"https://api.openai.com/v1", "gpt-x", schema.OpenAI},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "x", schema.Gemini},
		{"https://router.example/v1", "google/Gemini-9", schema.Gemini},
		{"http://127.0.0.1:11434/v1", "llama", schema.Generic},
	} {
		if got := schema.ProfileFor(c.url, c.model); got != c.want {
			t.Errorf("ProfileFor(%q, %q) = %s, want %s", c.url, c.model, got, c.want)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	for _, raw := range corpus(f) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, p := range schema.Profiles() {
			r, err := schema.Normalise(raw, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Schema) > schema.MaxBytes {
				t.Errorf("%s: %d bytes", p, len(r.Schema))
			}
			if problem := schema.Sound(r.Schema, resulting(r, p)); problem != "" {
				t.Errorf("%s: %s\n%s", p, problem, r.Schema)
			}
		}
		v, err := schema.Compile(raw)
		if err != nil {
			return
		}
		var invalid *schema.InvalidError
		var bounds *schema.BoundsError
		for _, value := range []string{`{}`, `{"a":[{},1,"x",null]}`, `[[],1]`} {
			if err := v.Validate(json.RawMessage(value)); err != nil && !errors.As(err, &invalid) && !errors.As(err, &bounds) {
				t.Logf("%s: %v", value, err)
			}
		}
	})
}
