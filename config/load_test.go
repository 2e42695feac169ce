package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/config"
)

func diffSettings(want, got []config.Setting) string { return cmp.Diff(want, got) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadPrecedence(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Chdir(project)
	user := filepath.Join(home, "usher", "usher.json")
	write(t, user, `{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}, "c": {"command": "user"}},
		"mcpApps": {"maxHtmlBytes": 1000, "requireServerCapability": true, "readyTimeout": "2s"}}`)
	write(t, ".mcp.json", `{"mcpServers": {"b": {"command": "mcp"}, "c": {"command": "mcp"}, "d": {"command": "mcp"}}}`)
	write(t, "usher.json", `{"mcpServers": {"c": {"command": "project"}},
		"mcpApps": {"maxHtmlBytes": 2000, "requireServerCapability": false, "readyTimeout": "3s"}}`)

	c, err := config.Load(config.LoadOptions{Lookup: env("XDG_CONFIG_HOME", home)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.Servers {
		got = append(got, s.Name+" "+s.Command+" "+s.Source.Scope+" "+s.Source.String())
	}
	want := []string{
		"a user user " + user + ":1", "b mcp project .mcp.json:1", "c project project usher.json:1", "d mcp project .mcp.json:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	wantProblems := []string{
		"warning .mcp.json:1:1: b: replaces the server of this name in " + user + ":1",
		"warning .mcp.json:1:1: c: replaces the server of this name in " + user + ":1",
		"warning usher.json:1:1: c: replaces the server of this name in .mcp.json:1",
	}
	if diff := cmp.Diff(wantProblems, lines(c.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{user, ".mcp.json", "usher.json"}, c.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// The project can tighten what the user set, not loosen it.
	if diff := cmp.Diff(config.AppsSettings{MaxHTMLBytes: 1000, RequireServerCapability: true, ReadyTimeout: 3 * time.Second}, c.Apps); diff != "" {
		t.Errorf("apps (-want +got):\n%s", diff)
	}
}

func TestLoadExplicitFileAlone(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Chdir(project)
	write(t, filepath.Join(home, "usher", "usher.json"), `{"mcpServers": {"user": {"command": "x"}}}`)
	write(t, "usher.json", `{"mcpServers": {"project": {"command": "x"}}}`)
	write(t, "sub/other.json", `{"mcpServers": {"other": {"command": "x", "cwd": "here"}}}`)
	c, err := config.Load(config.LoadOptions{File: "sub/other.json", Lookup: env("XDG_CONFIG_HOME", home)})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 1 || c.Servers[0].Name != "other" || c.Servers[0].Source.Scope != config.ScopeExplicit {
		t.Fatalf("servers: %+v", c.Servers)
	}
	if got, want := c.Servers[0].Cwd, filepath.Join(project, "sub", "here"); got != want {
		t.Errorf("cwd %q, want %q", got, want)
	}
}

func TestLoadFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	if c, err := config.Load(config.LoadOptions{}); err != nil || len(c.Files) != 0 || len(c.Problems) != 0 {
		t.Errorf("nothing there: %+v, %v", c, err)
	}

	c, err := config.Load(config.LoadOptions{File: "gone.json"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Problems.Err(); !errors.Is(got, fs.ErrNotExist) || got.Error() != "gone.json: cannot be read: no such file or directory" {
		t.Errorf("missing file: %v", got)
	}

	write(t, ".mcp.json", `{"mcpServers": {"works": {"command": "x"}}}`)
	if err := os.Mkdir("usher.json", 0o700); err != nil {
		t.Fatal(err)
	}
	c, err = config.Load(config.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Problems.Err(); got == nil || got.Error() != "usher.json: cannot be read: it is not a regular file" {
		t.Errorf("directory: %v", got)
	}
	if _, ok := c.Server("works"); !ok {
		t.Error("the other file's server is lost")
	}

	write(t, "big.json", strings.Repeat(" ", 1<<20)+"{}")
	c, _ = config.Load(config.LoadOptions{File: "big.json"})
	if got := c.Problems.Err(); got == nil || got.Error() != "big.json:1:1: is larger than 1024 KiB" {
		t.Errorf("big: %v", got)
	}
}

func TestUserFile(t *testing.T) {
	for _, tt := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"XDG_CONFIG_HOME", "/x", "HOME", "/h"}, "/x/usher/usher.json"},
		{[]string{"XDG_CONFIG_HOME", "relative", "HOME", "/h"}, "/h/.config/usher/usher.json"},
		{[]string{"HOME", "/h"}, "/h/.config/usher/usher.json"},
		{nil, ""},
	} {
		if got := config.UserFile(env(tt.pairs...)); got != tt.want {
			t.Errorf("UserFile(%q) = %q, want %q", tt.pairs, got, tt.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := config.Server{Name: "a", Command: "x", Args: []string{"1"}, Env: map[string]config.Secret{"K": "v"}}
	same := map[string]func(*config.Server){
		"name":        func(s *config.Server) { s.Name = "b" },
		"description": func(s *config.Server) { s.Description = "d" },
		"type":        func(s *config.Server) { s.Type = config.TypeStdio },
		"negotiation": func(s *config.Server) { s.VersionNegotiation = config.Legacy },
		"timeout":     func(s *config.Server) { s.Timeout = time.Second },
		"source":      func(s *config.Server) { s.Source.Line = 9 },
	}
	differs := map[string]func(*config.Server){
		"command":   func(s *config.Server) { s.Command = "y" },
		"args":      func(s *config.Server) { s.Args = []string{"1", ""} },
		"secret":    func(s *config.Server) { s.Env = map[string]config.Secret{"K": "w"} },
		"env name":  func(s *config.Server) { s.Env = map[string]config.Secret{"L": "v"} },
		"cwd":       func(s *config.Server) { s.Cwd = "/" },
		"auto":      func(s *config.Server) { s.VersionNegotiation = config.Auto },
		"proxy":     func(s *config.Server) { s.Proxy = "p" },
		"oauth":     func(s *config.Server) { s.OAuth = config.OAuth{ClientSecret: "s"} },
		"transport": func(s *config.Server) { s.Type = config.TypeHTTP },
	}
	want := config.Fingerprint(base)
	if len(want) != 64 {
		t.Errorf("fingerprint %q", want)
	}
	for name, edit := range same {
		s := base
		if edit(&s); config.Fingerprint(s) != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[string]string{want: "base"}
	for name, edit := range differs {
		s := base
		edit(&s)
		got := config.Fingerprint(s)
		if other, dup := seen[got]; dup {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[got] = name
	}
}

func TestConsentFingerprint(t *testing.T) {
	one := func(text string, pairs ...string) string {
		c := parse(t, `{"servers": {"s": `+text+`}}`, pairs...)
		return config.ConsentFingerprint(c.Servers[0])
	}
	base := one(`{"command": "x", "args": ["${T:-a}"]}`)
	for _, same := range []string{
		one(`{"args": ["${T:-a}"], /* moved */ "command": "x", "description": "d"}`),
		one(`{"command": "x", "args": ["${T:-a}"]}`, "T", "mine"),
	} {
		if same != base {
			t.Error("a change that runs nothing else asks again")
		}
	}
	for _, text := range []string{
		`{"command": "y", "args": ["${T:-a}"]}`, `{"command": "x", "args": ["${T:-b}"]}`, `{"command": "x", "args": ["a"]}`,
		`{"command": "x", "args": ["${T:-a}"], "trust": true}`, `{"command": "x", "args": ["${T:-a}"], "alwaysAllow": ["rm"]}`,
	} {
		if one(text) == base {
			t.Errorf("%s passes for approved", text)
		}
	}
	adhoc := config.Server{Command: "x"}
	trusted := config.Server{Command: "x", Trust: true}
	if config.ConsentFingerprint(adhoc) == config.ConsentFingerprint(trusted) {
		t.Error("trust does not count")
	}
}
