package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/usher-mcp/usher/schema"
)

// A model that fits its arguments to what it was sent must be able to write all that the server takes: rewriting
// widens a schema and never narrows it. (Nulls are left out, since Gemini's nullable is no JSON Schema.)
func TestRewritingNeverNarrows(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	for name, values := range map[string][]string{
		"refs":         {`{"one":"x"}`, `{"one":"xa","two":"xb","three":["x","xx"],"four":"x","five":1.5,"six":"x"}`},
		"tree":         {`{"root":{"name":"a","children":[]}}`, `{"root":{"name":"a","children":[{"name":"b","children":[{"name":"c","children":[{"name":"d","children":[]}]}]}]}}`},
		"type-lists":   {`{"maybe":"abc","either":["a"]}`, `{"maybe":"abc","either":3}`, `{"maybe":"ab","either":"x","one":1}`},
		"unions":       {`{"any":"x","one":{"kind":"a","x":1},"all":{"p":"abc","q":3},"number":7,"not":"y"}`, `{"one":{"kind":"b"}}`},
		"root-union":   {`{"id":"1","by":"id"}`, `{"query":"q","page":2,"by":"query","limit":3}`},
		"root-ref":     {`{"a":"x"}`},
		"maps":         {`{"headers":{"a":"b"},"free":{"x":1},"by":{"a1":2},"what":"s","yes":1}`},
		"arrays":       {`{"bare":[1,"a"],"tuple":["a",1],"prefix":[1,2],"any":["x"],"all":[{}]}`},
		"enums":        {`{"text":"a","number":2.5,"empty":"","mixed":true}`, `{"text":"b","mixed":1}`},
		"missing-type": {`{"a":"x"}`},
	} {
		before, err := schema.Compile(all[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, value := range values {
			if err := before.Validate(json.RawMessage(value)); err != nil {
				t.Fatalf("%s: the test's own value %s does not fit: %v", name, value, err)
			}
			for _, p := range []schema.Profile{schema.Generic, schema.OpenAI, schema.Gemini} {
				r, err := schema.Normalise(all[name], p)
				if err != nil {
					t.Fatal(err)
				}
				after, err := schema.Compile(r.Schema)
				if err != nil {
					t.Errorf("%s for %s: %v", name, p, err)
					continue
				}
				if err := after.Validate(json.RawMessage(value)); err != nil {
					t.Errorf("%s for %s does not take %s any more: %v\n%s", name, p, value, err, r.Schema)
				}
			}
		}
	}
}

func TestStrictResultsTakeTheOriginalsValues(t *testing.T) {
	t.Parallel()
	// Every property is there, so nothing has to be null.
	for name, value := range map[string]string{
		"tree":     `{"root":{"name":"a","children":[{"name":"b","children":[]}]}}`,
		"unions":   `{"any":"x","one":{"kind":"a","x":1},"all":{"p":"abc","q":3},"number":7,"not":"y"}`,
		"root-ref": `{"a":"x"}`,
	} {
		r, err := schema.Normalise(corpus(t)[name], schema.OpenAIStrict)
		if err != nil || !r.Strict {
			t.Fatalf("%s: strict %v, %v", name, r.Strict, err)
		}
		v, err := schema.Compile(r.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(json.RawMessage(value)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, r.Schema)
		}
		if got := r.Arguments(json.RawMessage(value)); string(got) != value {
			t.Errorf("%s: arguments changed to %s", name, got)
		}
	}
}
