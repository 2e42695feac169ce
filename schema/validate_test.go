package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher/schema"
)

func TestBothDialectsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema, good, bad string
	}{
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, `{"a":"1"}`},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`},
		{`{"$schema":"https://json-schema.org/draft-07/schema","definitions":{"s":{"type":"string"}},"$ref":"#/definitions/s"}`, `"a"`, `1`},
		{`{"$defs":{"n":{"type":"object","properties":{"c":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["c"]}},"$ref":"#/$defs/n"}`, `{"c":[{"c":[]}]}`, `{"c":[{}]}`},
		{`{"properties":{"a":{"enum":[{"$ref":"http://nowhere.example/"}]}}}`, `{}`, `{"a":1}`},
	} {
		v, err := schema.Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if err := v.Validate(json.RawMessage(c.good)); err != nil {
			t.Errorf("%s takes %s: %v", c.schema, c.good, err)
		}
		var invalid *schema.InvalidError
		if err := v.Validate(json.RawMessage(c.bad)); !errors.As(err, &invalid) {
			t.Errorf("%s takes %s: %v", c.schema, c.bad, err)
		}
		if err := v.Validate(json.RawMessage(`{"a":`)); !errors.As(err, &invalid) {
			t.Errorf("half a value: %v", err)
		}
	}
}

func TestUnknownDialectsAreRefusedByType(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{`"http://json-schema.org/draft-04/schema#"`, `"https://example.com/mine"`, `5`} {
		_, err := schema.Compile(json.RawMessage(`{"$schema":` + uri + `}`))
		var d *schema.DialectError
		if !errors.As(err, &d) || !strings.Contains(err.Error(), "2020-12") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestReferencesElsewhereAreNeverFetched(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(canary.Close)
	for ref, external := range map[string]bool{
		canary.URL + "/s.json": true, "file:///etc/hosts": true, "other.json#/a": true, "#/nowhere": false, "#nobody": false,
	} {
		for _, where := range []string{`{"$ref":%q}`, `{"properties":{"a":{"$ref":%q}}}`, `{"$dynamicRef":%q}`, `{"$id":"` + canary.URL + `/x","items":{"$ref":%q}}`} {
			raw := json.RawMessage(fmt.Sprintf(where, ref))
			_, err := schema.Compile(raw)
			var r *schema.ReferenceError
			if !errors.As(err, &r) || r.External != external || r.Ref != ref {
				t.Errorf("%s: %v", raw, err)
			}
			for _, p := range schema.Profiles() {
				if _, err := schema.Normalise(raw, p); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if hits.Load() > 0 {
		t.Errorf("%d requests were made", hits.Load())
	}
}

func TestCheckingIsBounded(t *testing.T) {
	t.Parallel()
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	chain.WriteString(`"d60":{"type":"string"}}}`)
	nested := strings.Repeat(`{"c":`, 60) + `1` + strings.Repeat(`}`, 60)
	for name, c := range map[string]struct{ schema, value string }{
		"each branch twice":          {chain.String(), `1`},
		"each level twice":           {`{"anyOf":[{"properties":{"c":{"$ref":"#"}},"required":["z"]},{"properties":{"c":{"$ref":"#"}},"required":["y"]}]}`, nested},
		"itself at the same place":   {`{"allOf":[{"$ref":"#"}]}`, `1`},
		"a circle at the same place": {`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, `1`},
		"many unique items":          {`{"uniqueItems":true}`, `[` + strings.Repeat(`1,`, 2000) + `1]`},
		"a deep value":               {`{}`, strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300)},
	} {
		v, err := schema.Compile(json.RawMessage(c.schema))
		if err == nil {
			err = v.Validate(json.RawMessage(c.value))
		}
		if _, ok := errors.AsType[*schema.BoundsError](err); !ok {
			t.Errorf("%s: %v, want a BoundsError", name, err)
		}
	}
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	var bounds *schema.BoundsError
	if _, err := schema.Compile(json.RawMessage(deep)); !errors.As(err, &bounds) || bounds.What != "depth" {
		t.Errorf("a deep schema: %v", err)
	}
}
