package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/config"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func parse(t *testing.T, text string, pairs ...string) *config.Config {
	t.Helper()
	return config.Parse(
		config.File{Name: "usher.json", Dir: "/project", Scope: config.ScopeProject, Data: []byte(text)},
		config.ParseOptions{Lookup: env(pairs...)})
}

func lines(ps config.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, string(p.Severity)+" "+p.Error())
	}
	return out
}

func TestParseWholeEntry(t *testing.T) {
	c := parse(t, `// a comment
{
  "$schema": "https://example.org/schema.json",
  "mcpServers": {
    "files": {
      "command": "${BIN:-node}",
      "args": ["server.js", "--root=${ROOT}", "a$b", "$${KEPT}"], // trailing comma below
      "env": {"API_KEY": "${env:KEY}", "MODE": "x"},
      "cwd": "sub/dir",
      "versionNegotiation": "auto",
      "discoveryTimeoutMs": 20000.0,
      "timeout": "90s",
      "maxCallTime": 120000,
      "trust": true,
      "includeTools": ["read", "list"],
      "excludeTools": ["list"],
      "alwaysAllow": [],
      "description": "my files",
    },
    /* a remote one */
    "web": {"type": "streamable-http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}, "disabled": true},
  },
  "mcpApps": {"enabled": false, "requireServerCapability": true, "maxHtmlBytes": 1000, "readyTimeout": "3s"},
}
// the end, without a line end`, "ROOT", "/data", "KEY", "k-12345")

	if got := lines(c.Problems); len(got) > 0 {
		t.Fatalf("problems: %q", got)
	}
	want := []config.Server{{
		Name: "files", Type: "stdio", Command: "node",
		Args: []string{"server.js", "--root=/data", "a$b", "${KEPT}"},
		Env:  map[string]config.Secret{"API_KEY": "k-12345", "MODE": "x"},
		Cwd:  "/project/sub/dir", VersionNegotiation: config.Auto,
		DiscoveryTimeout: 20 * time.Second, Timeout: 90 * time.Second, MaxCallTime: 2 * time.Minute,
		Trust: true, IncludeTools: []string{"read", "list"}, ExcludeTools: []string{"list"}, AlwaysAllow: []string{},
		Description: "my files",
		Source:      config.Source{File: "usher.json", Line: 5, Scope: "project"},
	}, {
		Name: "web", Type: "http", URL: "https://example.org/mcp",
		Headers:            map[string]config.Secret{"Authorization": "Bearer k-12345"},
		VersionNegotiation: config.Legacy, Disabled: true,
		Source: config.Source{File: "usher.json", Line: 21, Scope: "project"},
	}}
	if diff := cmp.Diff(want, c.Servers, cmpopts.IgnoreFields(config.Server{}, "Lines", "Digest", "Written", "Expanded")); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if got := c.Servers[0].Lines["timeout"]; got != 12 {
		t.Errorf("line of timeout = %d, want 12", got)
	}
	wantApps := config.AppsSettings{Disabled: true, RequireServerCapability: true, MaxHTMLBytes: 1000, ReadyTimeout: 3 * time.Second}
	if diff := cmp.Diff(wantApps, c.Apps); diff != "" {
		t.Errorf("apps (-want +got):\n%s", diff)
	}
}

// Each entry stands beside a good one, which must work whatever is wrong with the other.
func TestEntryProblems(t *testing.T) {
	for _, tt := range []struct{ name, entry, want string }{
		{"timeout bool", `{"command": "x", "timeout": §true}`, `error mcpServers.bad.timeout: want a duration like "90s" or milliseconds, got true`},
		{"timeout text", `{"command": "x", "timeout": §"soon"}`, `error mcpServers.bad.timeout: want a duration like "90s" or milliseconds, got "soon"`},
		{"timeout fraction", `{"command": "x", "timeout": §1.5}`, `error mcpServers.bad.timeout: want a duration like "90s" or milliseconds, got 1.5`},
		{"timeout zero", `{"command": "x", "timeout": §0}`, `error mcpServers.bad.timeout: want more than 0; leave the field out for the default`},
		{"timeout negative", `{"command": "x", "timeout": §"-1s"}`, `error mcpServers.bad.timeout: want more than 0; leave the field out for the default`},
		{"timeout huge", `{"command": "x", "timeout": §99999999999999999}`, `error mcpServers.bad.timeout: want at most 24h`},
		{"discovery text", `{"command": "x", "discoveryTimeoutMs": §"30s"}`, `error mcpServers.bad.discoveryTimeoutMs: want whole milliseconds such as 30000, got "30s"`},
		{"discovery clamped", `{"command": "x", "discoveryTimeoutMs": §50}`, `warning mcpServers.bad.discoveryTimeoutMs: is outside 100…300000 and will be taken as 100`},
		{"unknown field", `{"command": "x", §"arg": []}`, `warning mcpServers.bad.arg: unknown field; it has no effect; did you mean "args"?`},
		{"unknown odd field", `{"command": "x", §"a b": 1}`, `warning mcpServers.bad["a b"]: unknown field; it has no effect`},
		{"command number", `{"command": §7}`, `error mcpServers.bad.command: want a string, got a number; put it in quotes`},
		{"command empty", `{"command": §" "}`, `error mcpServers.bad.command: is empty`},
		{"args text", `{"command": "x", "args": §"-v"}`, `error mcpServers.bad.args: want an array of strings, got a string; put it in brackets`},
		{"args number", `{"command": "x", "args": ["a", §1]}`, `error mcpServers.bad.args[1]: want a string, got a number; put it in quotes`},
		{"env number keeps its value to itself", `{"command": "x", "env": {"PIN": §998877}}`, `error mcpServers.bad.env.PIN: want a string, got a number; put it in quotes`},
		{"env array", `{"command": "x", "env": §["A=b"]}`, `error mcpServers.bad.env: want an object of strings, got an array`},
		{"env twice", `{"command": "x", "env": {"A": "1", §"A": "2"}}`, `error mcpServers.bad.env.A: is given twice`},
		{"unset variable", `{"command": "x", "args": [§"${NOPE}"]}`, `error mcpServers.bad.args[0]: the environment variable NOPE is not set; set it, or give a default as ${NOPE:-value}`},
		{"unset in env", `{"command": "x", "env": {"T": §"${env:NOPE}"}}`, `error mcpServers.bad.env.T: the environment variable NOPE is not set; set it, or give a default as ${NOPE:-value}`},
		{"open reference", `{"command": §"${NOPE"}`, `error mcpServers.bad.command: "${" has no closing "}"; write "$${" for a literal one`},
		{"input", `{"command": §"${input:key}"}`, `error mcpServers.bad.command: ${input:key} asks the person for a value, which is not supported; use an environment variable`},
		{"no variable", `{"command": §"${1+1}"}`, `error mcpServers.bad.command: "${1+1}" is no variable name; want ${VAR}, ${VAR:-default} or ${env:VAR}, or "$${" for a literal "${"`},
		{"nothing", `{}`, `error mcpServers.bad: has neither "command" (a server to start) nor "url" (a server to reach)`},
		{"no object", `§"node server.js"`, `error mcpServers.bad: want an object such as {"command": "…"}, got a string`},
		{"both", `{"command": §"x", "url": "https://a.example"}`, `error mcpServers.bad.command: is given beside an address; a server is either started (command) or reached (url)`},
		{"two urls", `{"url": "https://a.example", "httpUrl": "https://a.example"}`, `error mcpServers.bad: has more than one of url, httpUrl and tcp`},
		{"auto remote", `{"url": "https://a.example", "versionNegotiation": §"auto"}`, `error mcpServers.bad.versionNegotiation: "auto" is for servers with a command: a remote server may fail or charge for an unknown request, so none is sent to it; leave the field out`},
		{"negotiation", `{"command": "x", "versionNegotiation": §"atuo"}`, `error mcpServers.bad.versionNegotiation: want "legacy" or "auto", got "atuo"; did you mean "auto"?`},
		{"url scheme", `{"url": §"ftp://a.example"}`, `error mcpServers.bad.url: want an address that begins with http:// or https://`},
		{"url user", `{"url": §"https://u:p@a.example"}`, `error mcpServers.bad.url: holds a user name; give credentials in "headers"`},
		{"type", `{"command": "x", "type": §"http"}`, `error mcpServers.bad.type: is "http", but "command" makes it a stdio server`},
		{"header name", `{"url": "https://a.example", "headers": {§"a b": "c"}}`, `error mcpServers.bad.headers["a b"]: is no HTTP header name`},
		{"header break", `{"url": "https://a.example", "headers": {"A": §"b\r\nC: d"}}`, `error mcpServers.bad.headers.A: a header's value holds no line break`},
		{"header twice", `{"url": "https://a.example", "headers": {"Accept": "b", §"accept": "c"}}`, `error mcpServers.bad.headers.accept: is the same header as "Accept"`},
		{"trust text", `{"command": "x", "trust": §"true"}`, `error mcpServers.bad.trust: want true or false, got a string; leave out the quotes`},
		{"app bound", `{"command": "x", "appMaxHtmlBytes": §8388609}`, `error mcpServers.bad.appMaxHtmlBytes: want a whole number from 1 to 8388608, got 8388609`},
		{"field twice", `{"command": "x", §"command": "y"}`, `error mcpServers.bad.command: is given twice`},
		{"later", `{"url": "https://a.example", §"oauth": {"clientId": "c"}}`, `warning mcpServers.bad.oauth: is read, and has no effect in this version`},
		{"beside", `{"command": "x", §"headers": {}}`, `warning mcpServers.bad.headers: counts for remote servers only; it has no effect beside a command`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, after, marked := strings.Cut(tt.entry, "§")
			column := 5 // the name of the entry
			if marked {
				column = len(`    "bad": `) + len(before) + 1
			}
			severity, message, _ := strings.Cut(tt.want, " ")
			want := fmt.Sprintf("usher.json:3:%d: %s", column, message)
			c := parse(t, "{\n  \"mcpServers\": {\n    \"bad\": "+before+after+",\n    \"good\": {\"command\": \"true\"}\n  }\n}")
			if diff := cmp.Diff([]string{severity + " " + want}, lines(c.Problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			bad, ok := c.Server("bad")
			if !ok {
				t.Fatal("the bad server is not listed")
			}
			if isError := severity == "error"; isError != (bad.Problem != nil) {
				t.Errorf("Problem = %v", bad.Problem)
			} else if isError && want != bad.Problem.Error() {
				t.Errorf("Problem = %v", bad.Problem)
			}
			if good, ok := c.Server("good"); !ok || good.Problem != nil || good.Command != "true" {
				t.Errorf("the good server suffers: %+v", good)
			}
		})
	}
}

func TestProblemsAreInTheOrderOfTheFile(t *testing.T) {
	c := parse(t, "{\"mcpServers\": {\n\"a\": {\"headers\": {},\n\"command\": \"x\",\n\"nonsense\": 1,\n\"timeout\": true}}}")
	var got []int
	for _, p := range c.Problems {
		got = append(got, p.Line)
	}
	if diff := cmp.Diff([]int{2, 4, 5}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestServerNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"git": true, "Figma Dev Mode MCP": true, "@scope/server-x": true, "größe": true, strings.Repeat("n", 64): true,
		" git": false, "a=b": false, "a\\u0007b": false, "a\\\"b": false, strings.Repeat("n", 65): false,
	} {
		c := parse(t, `{"mcpServers": {"`+name+`": {"command": "x"}}}`)
		if len(c.Servers) != 1 || (c.Servers[0].Problem == nil) != ok {
			t.Errorf("name %q: problems %q, want ok = %v", name, lines(c.Problems), ok)
		}
	}
}

// An entry that cannot be named costs no other one, however many there are and wherever they stand.
func TestAnEntryWithoutANameIsLeftOut(t *testing.T) {
	c := parse(t, `{"mcpServers": {"": {"command": "x"}, "a": {"command": "x"}}, "servers": {"": 1}}`)
	if len(c.Servers) != 1 || c.Servers[0].Name != "a" || c.Servers[0].Problem != nil {
		t.Errorf("servers: %+v", c.Servers)
	}
	want := []string{
		`error usher.json:1:17: mcpServers[""]: a server needs a name; the entry is left out`,
		`error usher.json:1:75: servers[""]: a server needs a name; the entry is left out`,
	}
	if diff := cmp.Diff(want, lines(c.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestDuplicateServersBothStop(t *testing.T) {
	c := parse(t, "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}")
	if len(c.Servers) != 2 || c.Servers[0].Problem == nil || c.Servers[1].Problem != nil {
		t.Fatalf("servers: %+v", c.Servers)
	}
	want := "usher.json:4:1: mcpServers.a: is given twice; the other one is in line 2"
	if got := c.Servers[0].Problem.Error(); got != want {
		t.Errorf("problem %q, want %q", got, want)
	}
}

func TestFileProblems(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"missing brace", "usher.json", "{\n  \"mcpServers\": {\n", "error usher.json:3:1: JSON syntax: parsing value: unexpected EOF"},
		{"missing comma", "usher.json", "{\n  \"a\": 1\n  \"b\": 2}", "error usher.json:3:3: JSON syntax: invalid character '\"' after object value (expecting ',' or '}')"},
		{"single quotes", "usher.json", "{'a': 1}", "error usher.json:1:2: JSON syntax: invalid character '\\'' at start of value"},
		{"secret in a broken string", "usher.json", "{\"k\": \"hunter2\\q\"}", "error usher.json:1:7: JSON syntax: this string is not valid; is a closing quote missing, or a \"\\\" or line break inside it not escaped?"},
		{"empty", "usher.json", " \n", `error usher.json:1:1: is empty; the least that works is {"mcpServers": {}}`},
		{"array", "usher.json", "[]", `error usher.json:1:1: want an object such as {"mcpServers": {…}}, got an array`},
		{"latin-1", "usher.json", "{\"\xe4\": 1}", "error usher.json:1:3: is not UTF-8 text"},
		{"deep", "usher.json", strings.Repeat("[", 70), "error usher.json:1:65: is nested deeper than 64 levels"},
		{"columns are characters", "usher.json", "{/* größe */ x}", "error usher.json:1:14: JSON syntax: this is no valid string, number, true, false or null"},
		{"servers array", "usher.json", `{"mcpServers": []}`, "error usher.json:1:16: mcpServers: want an object of servers by name, got an array"},
		{"misspelt", "usher.json", `{"mcpServer": {}}`, `warning usher.json:1:2: mcpServer: unknown field; it has no effect; did you mean "mcpServers"?`},
		{"twice", "usher.json", `{"mcpServers": {}, "mcpServers": {}}`, "error usher.json:1:20: mcpServers: is given twice"},
		{"apps elsewhere", ".mcp.json", `{"mcpApps": {}}`, "warning .mcp.json:1:2: mcpApps: is read from usher.json only; it has no effect here"},
		{"apps bytes", "usher.json", `{"mcpApps": {"maxHtmlBytes": 1048577}}`, "error usher.json:1:30: mcpApps.maxHtmlBytes: want a whole number from 1 to 1048576, got 1048577"},
		{"apps enabled", "usher.json", `{"mcpApps": {"enabled": "no"}}`, "error usher.json:1:25: mcpApps.enabled: want true or false, got a string"},
		{"apps field", "usher.json", `{"mcpApps": {"enable": true}}`, `warning usher.json:1:14: mcpApps.enable: unknown field; it has no effect; did you mean "enabled"?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Parse(config.File{Name: tt.file, Data: []byte(tt.text)}, config.ParseOptions{})
			if diff := cmp.Diff([]string{tt.want}, lines(c.Problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if c.Apps != (config.AppsSettings{}) {
				t.Errorf("a wrong setting counted: %+v", c.Apps)
			}
		})
	}
}

// pain row 13: one expander, every field.
func TestExpansionReachesEveryField(t *testing.T) {
	c := parse(t, `{"servers": {
		"local": {"command": "${V}", "args": ["${V}"], "env": {"E": "${V}"}, "cwd": "/${V}", "description": "${V}",
			"includeTools": ["${V}"], "excludeTools": ["${V}"], "alwaysAllow": ["${V}"], "timeout": "${T}"},
		"remote": {"url": "https://${V}/", "headers": {"H": "${V}"}, "proxy": "http://${V}", "caFile": "${V}",
			"oauth": {"clientId": "${V}", "clientSecret": "${V}", "scopes": ["${V}"], "redirectUri": "${V}", "authorizationUrl": "${V}", "tokenUrl": "${V}"}}}}`,
		"V", "value", "T", "5s")
	if errs := c.Problems.Errors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []config.Server{{
		Name: "local", Type: "stdio", Command: "value", Args: []string{"value"}, Env: map[string]config.Secret{"E": "value"},
		Cwd: "/value", Description: "value", IncludeTools: []string{"value"}, ExcludeTools: []string{"value"},
		AlwaysAllow: []string{"value"}, Timeout: 5 * time.Second, VersionNegotiation: config.Legacy,
	}, {
		Name: "remote", Type: "http", URL: "https://value/", Headers: map[string]config.Secret{"H": "value"},
		Proxy: "http://value", CAFile: "/project/value", VersionNegotiation: config.Legacy,
		OAuth: config.OAuth{
			ClientID: "value", ClientSecret: "value", Scopes: []string{"value"}, RedirectURI: "value",
			AuthorizationURL: "value", TokenURL: "value",
		},
	}}
	if diff := cmp.Diff(want, c.Servers, cmpopts.IgnoreFields(config.Server{}, "Source", "Lines", "Digest", "Written")); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestExpansionDetails(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"${A}${A}", "xx"},
		{"${EMPTY}", ""},
		{"${EMPTY:-d}", "d"},
		{"${NOPE:-}", ""},
		{"${NOPE:-a:-b}", "a:-b"},
		{"${env:NOPE:-d}", "d"},
		{"${REF}", "${A}"}, // values are not expanded again
		{"$A $$A $(A) ${A}", "$A $$A $(A) x"},
		{"$${A} ${A}", "${A} x"},
	} {
		c := parse(t, `{"servers": {"s": {"command": "c", "args": ["`+tt.in+`"]}}}`, "A", "x", "EMPTY", "", "REF", "${A}")
		if s := c.Servers[0]; s.Problem != nil || s.Args[0] != tt.want {
			t.Errorf("%q = %q (%v), want %q", tt.in, s.Args, s.Problem, tt.want)
		}
	}
	long := parse(t, `{"servers": {"s": {"command": "`+strings.Repeat("${A}", 40)+`"}}}`, "A", strings.Repeat("x", 10<<10))
	if long.Servers[0].Problem == nil {
		t.Error("expansion has no bound")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}"], "timeout": "9s"}}}`,
		"{\n// c\n\"mcpServers\": {\"a\": {\"url\": \"https://x/\", \"oauth\": {\"scopes\": [1]}}},}",
		`{"mcpApps": {"enabled": 1e99, "maxHtmlBytes": -1}}`, "{\"a\": \"\\", "/*", "//", "[[[[", "\ufeff{}", "{\"servers\":{\"ö\":{}}}",
		"{\"servers\":{\"a\":{\"share\":0},\"a\":[]}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := config.Parse(config.File{Name: "f", Dir: "/d", Data: []byte(text)}, config.ParseOptions{Lookup: env("A", "v")})
		split := strings.Split(text, "\n")
		for _, p := range c.Problems {
			if p.Line < 1 || p.Line > len(split) || p.Column < 1 || p.Column > len([]rune(split[p.Line-1]))+1 {
				t.Errorf("%v lies outside the file", p)
			}
		}
		for _, s := range c.Servers {
			if s.Problem == nil && (s.Command == "") == (s.URL == "") {
				t.Errorf("a server that neither starts nor is reached has no problem: %+v", s)
			}
		}
	})
}
