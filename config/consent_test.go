package config_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/config"
)

// Who is asked for consent sees what the file says, and not what their own variables hold.
func TestConsentSettings(t *testing.T) {
	c := parse(t, `{"mcpServers": {"s": {
"command": "${SHELL_OF_MINE:-sh}",
"args": ["-c", "# \nb: approved\u001b[2J", "--token=literal-in-the-file", "--token=${MY_TOKEN}", "it's"],
"env": {"LD_PRELOAD": "/tmp/evil.so", "API_KEY": "# \nb: approved\u001b[2J", "MINE": "a ${MY_TOKEN}", "A\nB": "x"}}}}`,
		"MY_TOKEN", "my-own-secret")
	want := []config.Setting{
		{Name: "command", Value: "${SHELL_OF_MINE:-sh}", Source: "usher.json:2"},
		{Name: "args", Value: `-c $'# \nb: approved\x1b[2J' --token=literal-in-the-file --token=${MY_TOKEN} 'it'\''s'`, Source: "usher.json:3"},
		{Name: "env", Value: `$'A\nB'=x`, Source: "usher.json:4"},
		{Name: "env", Value: `API_KEY=$'# \nb: approved\x1b[2J'`, Source: "usher.json:4"},
		{Name: "env", Value: "LD_PRELOAD=/tmp/evil.so", Source: "usher.json:4", Note: "decides what code the server runs"},
		{Name: "env", Value: "MINE=a ${MY_TOKEN}", Source: "usher.json:4"},
	}
	got := config.ConsentSettings(c.Servers[0])
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, s := range config.Settings(c.Servers[0]) {
		if strings.Contains(s.Value, "evil") || strings.Contains(s.Value, "my-own-secret") {
			t.Errorf("settings show %+v", s)
		}
	}
}

// Nothing in a file makes a setting look like more than one, in any field.
func TestSettingsAreLines(t *testing.T) {
	const bad = "a\n\r\t\x1b\x7f\u0085\u009b\u200b\u202e\u2028\u2066\u3164\ufeff" + "        z"
	evil := config.Server{
		Name: "s", Type: config.TypeStdio, Command: bad, Args: []string{bad, "--token=" + bad}, Cwd: bad, Description: bad,
		Env:          map[string]config.Secret{bad: "x"},
		IncludeTools: []string{bad}, ExcludeTools: []string{bad}, AlwaysAllow: []string{bad},
		Written: config.Written{Command: bad, Args: []config.Secret{bad}, Env: map[string]config.Secret{bad: bad}},
	}
	remote := evil
	remote.Type, remote.URL, remote.CAFile, remote.Headers = config.TypeHTTP, "https://h/"+bad+"?a="+bad, bad, evil.Env
	remote.Lines, remote.OAuth = map[string]int{"oauth": 1}, config.OAuth{ClientID: bad, Scopes: []string{bad}}
	for _, list := range [][]config.Setting{
		config.Settings(evil), config.ConsentSettings(evil), config.Settings(remote), config.ConsentSettings(remote),
	} {
		for _, s := range list {
			if strings.ContainsFunc(s.Value, func(r rune) bool { return !unicode.IsPrint(r) || r == '\u3164' }) || strings.Contains(s.Value, "  ") {
				t.Errorf("%s is shown as %q", s.Name, s.Value)
			}
		}
	}
}
