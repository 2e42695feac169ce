package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/config"
)

const chatFile = `{
  "model": {"baseUrl": "http://127.0.0.1:1/v1", "name": "m", "apiKey": "${KEY}", "contextTokens": 32768, "vision": true, "profile": "gemini"},
  "permissions": {"mode": "auto", "allow": ["files/read_*"], "deny": ["*/delete_*"]}
}`

func parseAs(t *testing.T, scope, text string) *config.Config {
	t.Helper()
	return config.Parse(config.File{Name: "usher.json", Dir: t.TempDir(), Scope: scope, Data: []byte(text)}, config.ParseOptions{
		Lookup: func(name string) (string, bool) { return "sk-secret-of-the-test", name == "KEY" },
	})
}

func TestTheModelAndItsPermissions(t *testing.T) {
	c := parseAs(t, config.ScopeUser, chatFile)
	if len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	if diff := cmp.Diff(config.ModelSettings{
		BaseURL: "http://127.0.0.1:1/v1", Name: "m", APIKey: "sk-secret-of-the-test", ContextTokens: 32768, Vision: true, Profile: "gemini",
	}, c.Model); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(config.PermissionSettings{Mode: "auto", Allow: []string{"files/read_*"}, Deny: []string{"*/delete_*"}}, c.Permissions); diff != "" {
		t.Error(diff)
	}
}

// A project that was just cloned cannot send the conversation elsewhere, nor let anything run.
func TestAProjectCanOnlyTightenTheModelsPermissions(t *testing.T) {
	c := parseAs(t, config.ScopeProject, chatFile)
	if c.Model.BaseURL != "" || c.Model.APIKey != "" || c.Permissions.Mode != "" || c.Permissions.Allow != nil || len(c.Permissions.Deny) != 1 || c.Model.Name != "m" {
		t.Errorf("%+v, %+v", c.Model, c.Permissions)
	}
	var warned []string
	for _, p := range c.Problems {
		if strings.Contains(p.Message, "your own usher.json") {
			warned = append(warned, p.Field)
		}
	}
	if diff := cmp.Diff([]string{"model.baseUrl", "model.apiKey", "permissions.mode", "permissions.allow"}, warned); diff != "" {
		t.Error(diff)
	}
	mine := parseAs(t, config.ScopeUser, `{"model":{"name":"own","apiKey":"${KEY}"},"permissions":{"mode":"auto","allow":["a"]}}`)
	tight := parseAs(t, config.ScopeProject, `{"permissions":{"mode":"read-only","deny":["b"]}}`)
	if got := config.Merge(mine, tight); got.Permissions.Mode != "read-only" || len(got.Permissions.Allow) != 1 || len(got.Permissions.Deny) != 1 || got.Model.Name != "own" {
		t.Errorf("%+v, %+v", got.Model, got.Permissions)
	}
	other := parseAs(t, config.ScopeExplicit, `{"model":{"baseUrl":"http://elsewhere.example/v1"}}`)
	if got := config.Merge(mine, other).Model; got.APIKey != "" || got.BaseURL == "" {
		t.Error("a key is sent to another address than its own")
	}
}

func TestMistakesInTheModelAreTold(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": 7}`:                       "model: want an object",
		`{"model": {"names": "x"}}`:          `did you mean "name"?`,
		`{"model": {"name": ""}}`:            "model.name: is empty",
		`{"model": {"contextTokens": "8k"}}`: "model.contextTokens: want a whole number",
		`{"model": {"apiKey": "${NO}"}}`:     "NO",
		`{"permissions": {"mode": "yolo"}}`:  "permissions.mode: want ask, read-only or auto",
		`{"permissions": {"allow": "x"}}`:    "put it in brackets",
		`{"model": {"name":"a","name":"b"}}`: "is given twice",
	} {
		c := parseAs(t, config.ScopeUser, text)
		var all []string
		for _, p := range c.Problems {
			all = append(all, p.Error())
		}
		if len(all) != 1 || !strings.Contains(all[0], want) {
			t.Errorf("%s: %q, want %q", text, all, want)
		}
	}
}
