package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/apps"
)

func TestFromTool(t *testing.T) {
	t.Parallel()
	const uri = "ui://budget/app.html"
	for name, tt := range map[string]struct {
		meta    string
		uri     string
		model   bool
		app     bool
		problem string
	}{
		"no meta":                      {"", "", true, true, ""},
		"null meta":                    {"null", "", true, true, ""},
		"meta is no object":            {`["ui"]`, "", true, true, ""},
		"other meta":                   {`{"x":1}`, "", true, true, ""},
		"nested key":                   {`{"ui":{"resourceUri":"ui://budget/app.html"}}`, uri, true, true, ""},
		"flat key":                     {`{"ui/resourceUri":"ui://budget/app.html"}`, uri, true, true, ""},
		"nested wins":                  {`{"ui":{"resourceUri":"ui://budget/app.html"},"ui/resourceUri":"ui://other"}`, uri, true, true, ""},
		"flat behind an empty ui":      {`{"ui":{},"ui/resourceUri":"ui://budget/app.html"}`, uri, true, true, ""},
		"flat behind a null":           {`{"ui":{"resourceUri":null},"ui/resourceUri":"ui://budget/app.html"}`, uri, true, true, ""},
		"bad nested hides no mistake":  {`{"ui":{"resourceUri":"https://x"},"ui/resourceUri":"ui://other"}`, "", true, true, "does not start with ui://"},
		"number":                       {`{"ui":{"resourceUri":7}}`, "", true, true, "not a string"},
		"other scheme":                 {`{"ui":{"resourceUri":"https://evil.example/app.html"}}`, "", true, true, "does not start with ui://"},
		"upper-case scheme":            {`{"ui":{"resourceUri":"UI://x"}}`, "", true, true, "does not start with ui://"},
		"nothing behind the scheme":    {`{"ui":{"resourceUri":"ui://"}}`, "", true, true, "names nothing"},
		"space":                        {`{"ui":{"resourceUri":"ui://a b"}}`, "", true, true, "space or a control"},
		"newline":                      {`{"ui":{"resourceUri":"ui://a\nb"}}`, "", true, true, "space or a control"},
		"right-to-left override":       {`{"ui":{"resourceUri":"ui://a\u202eb"}}`, "", true, true, "space or a control"},
		"too long":                     {`{"ui":{"resourceUri":"ui://` + strings.Repeat("a", 2048) + `"}}`, "", true, true, "longer than 2048"},
		"for the app only":             {`{"ui":{"visibility":["app"]}}`, "", false, true, ""},
		"for the model only":           {`{"ui":{"resourceUri":"ui://budget/app.html","visibility":["model"]}}`, uri, true, false, ""},
		"for both, one unknown":        {`{"ui":{"visibility":["model","x","app"]}}`, "", true, true, ""},
		"for nobody":                   {`{"ui":{"visibility":[]}}`, "", false, false, ""},
		"for unknown ones":             {`{"ui":{"visibility":["Model",1,null]}}`, "", false, false, ""},
		"visibility null":              {`{"ui":{"visibility":null}}`, "", true, true, ""},
		"visibility is no array":       {`{"ui":{"visibility":"app"}}`, "", true, false, ""},
		"a broken URI keeps the other": {`{"ui":{"resourceUri":"x","visibility":["app"]}}`, "", false, true, "does not start with ui://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := apps.FromTool(json.RawMessage(tt.meta))
			if got.URI != tt.uri || got.ForModel != tt.model || got.ForApp != tt.app {
				t.Errorf("FromTool = %+v, want URI %q, ForModel %v, ForApp %v", got, tt.uri, tt.model, tt.app)
			}
			if (tt.problem == "") != (got.Problem == "") || !strings.Contains(got.Problem, tt.problem) {
				t.Errorf("Problem = %q, want it to contain %q", got.Problem, tt.problem)
			}
			if len(got.Problem) > 400 {
				t.Errorf("Problem has %d bytes: too long for a sentence", len(got.Problem))
			}
		})
	}
}
