package usher

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFormsAreFlat(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},"d":{"type":"array","items":{"type":"string","enum":["x"]}},"e":{"type":"array","items":{"anyOf":[{"const":"x"}]}}}}`: "",
		`{"type":"object"}`: "",
		`{"type":"array"}`:  `type "array"`,
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                                                 `field "a"`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`:                        "list of anything",
		`{"type":"object","properties":{"a":{}}}`:                                                                `type ""`,
		`{"type":"object","properties":7}`:                                                                       "cannot be read",
		`{"type":"object","properties":{` + strings.Repeat(`"x":{"type":"string"},`, 1) + manyFields(101) + `}}`: "at most 100",
	} {
		_, _, err := checkForm(json.RawMessage(schema))
		if got := errText(err); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%.80s: %q, want %q", schema, got, want)
		}
	}
}

func manyFields(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, `"f`+string(rune('a'+i%26))+strings.Repeat("i", i/26)+`":{"type":"string"}`)
	}
	return strings.Join(parts, ",")
}

func TestFieldsThatLookSecretAreNoticed(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{
		`"password":{"type":"string"}`: true, `"k":{"type":"string","title":"API key"}`: true, `"access_token":{"type":"string"}`: true,
		`"name":{"type":"string"}`: false,
	} {
		secret, warnings, err := checkForm(json.RawMessage(`{"type":"object","properties":{` + field + `}}`))
		if err != nil || secret != want || len(warnings) > 0 != want {
			t.Errorf("%s: %v, %q, %v", field, secret, warnings, err)
		}
	}
}

func TestAnswersFitTheirForms(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","minLength":2,"maxLength":4}, "mail":{"type":"string","format":"email"}, "link":{"type":"string","format":"uri"},
		"day":{"type":"string","format":"date"}, "at":{"type":"string","format":"date-time"}, "n":{"type":"integer","minimum":1,"maximum":9},
		"x":{"type":"number"}, "on":{"type":"boolean"}, "one":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b"}]},
		"many":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["p","q","r"]}}}}`
	q := Question{Kind: QuestionForm, Schema: json.RawMessage(form), Allowed: []string{"accept", "decline", "cancel"}}
	for content, want := range map[string]string{
		`{"name":"Ada"}`: "",
		`{"name":"Ada","mail":"a@b.c","link":"https://x.y/","day":"2026-12-01","at":"2026-12-01T10:00:00Z","n":9,"x":1.5,"on":false,"one":"b","many":["p","r"]}`: "",
		`{}`:                          "content.name",
		`{"name":"A"}`:                "content.name",
		`{"name":"Ada Lovelace"}`:     "content.name",
		`{"name":"Ada","mail":"Ada"}`: "e-mail",
		`{"name":"Ada","link":"x"}`:   "content.link",
		`{"name":"Ada","day":"soon"}`: "content.day",
		`{"name":"Ada","at":"now"}`:   "content.at",
		`{"name":"Ada","n":10}`:       "content.n",
		`{"name":"Ada","n":1.5}`:      "content.n",
		`{"name":"Ada","x":"1"}`:      "content.x",
		`{"name":"Ada","on":"yes"}`:   "content.on",
		`{"name":"Ada","one":"c"}`:    "content.one",
		`{"name":"Ada","many":[]}`:    "content.many",
		`{"name":"Ada","many":["z"]}`: "content.many",
		`{"name":"Ada","more":true}`:  "no such field",
		`{"name":null}`:               "content.name",
		`7`:                           "want a JSON object",
		``:                            "want a JSON object",
	} {
		if got := errText(q.Check(Answer{Action: "accept", Content: json.RawMessage(content)})); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
	for action, want := range map[string]string{"decline": "", "cancel": "", "once": "want one of accept, decline, cancel"} {
		if got := errText(q.Check(Answer{Action: action})); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", action, got)
		}
	}
	if err := q.Check(Answer{Action: "decline", Content: json.RawMessage(`{"name":"Ada"}`)}); err == nil {
		t.Error("a declined form has content")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ host, warning, refusal string }{
		"https://example.com/x?y=1":            {host: "example.com"},
		"http://127.0.0.1:8080/cb":             {host: "127.0.0.1:8080"},
		"http://localhost/":                    {host: "localhost"},
		"http://[::1]:1/":                      {host: "[::1]:1"},
		"https://good.com@evil.tld/":           {host: "evil.tld", warning: "before the @"},
		"https://xn--pple-43d.com/":            {host: "xn--pple-43d.com", warning: "mistaken"},
		"https://аpple.com/":                   {host: "аpple.com", warning: "mistaken"},
		"https://203.0.113.7/":                 {host: "203.0.113.7", warning: "number"},
		"http://example.com/":                  {refusal: "only https"},
		"javascript:alert(1)":                  {refusal: "no web address"},
		"file:///etc/passwd":                   {refusal: "no web address"},
		"https://example.com/\u202egpj.exe":    {refusal: "do not show"},
		"https://example.com/a b":              {refusal: "do not show"},
		"https://example.com/\n":               {refusal: "do not show"},
		"data:text/html,<script>":              {refusal: "no web address"},
		"ssh://example.com/":                   {refusal: "only https"},
		"https://" + strings.Repeat("a", 8192): {refusal: "at most"},
	} {
		host, warnings, err := checkURL(address)
		if host != want.host || !strings.Contains(strings.Join(warnings, " "), want.warning) || want.warning == "" && len(warnings) > 0 ||
			!strings.Contains(errText(err), want.refusal) || want.refusal == "" && err != nil {
			t.Errorf("%.60q: %q, %q, %v", address, host, warnings, err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
