package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/config"
)

const plain = "hunter2-hunter2"

func TestSecretNeverShows(t *testing.T) {
	secret := config.Secret(plain)
	server := config.Server{Name: "s", Env: map[string]config.Secret{"K": secret}, Proxy: secret, OAuth: config.OAuth{ClientSecret: secret}}
	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20s", "%-20v", "%.2s", "%T"} {
		for _, value := range []any{secret, &secret, []config.Secret{secret}, server, &server, server.OAuth, map[config.Secret]int{secret: 1}} {
			out = append(out, fmt.Sprintf(verb, value))
		}
	}
	out = append(out, fmt.Sprint(secret), fmt.Errorf("with %v: %w", secret, errors.New("x")).Error())
	for _, value := range []any{secret, server, map[string]config.Secret{"k": secret}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret, "server", server)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", secret, "server", server)
	out = append(out, log.String())
	for _, text := range out {
		if strings.Contains(text, plain) || strings.Contains(text, fmt.Sprintf("%x", plain)) {
			t.Errorf("the secret shows in %q", text)
		}
	}
	if got := fmt.Sprintf("%s %v %#v", secret, secret, secret); got != "••• ••• •••" {
		t.Errorf("masked as %q", got)
	}
	if secret.Reveal() != plain {
		t.Error("Reveal does not reveal")
	}
}

func TestRedactor(t *testing.T) {
	server := config.Server{
		Command: "x",
		Args: []string{
			"--token=arg-token-1", "--api-key", "arg-key-2", "--port", "8080", "postgres://u:dbpass77@h/d",
			"Authorization: Bearer header-arg-3", "SECRET_X=assigned-4",
		},
		Env: map[string]config.Secret{
			"API_KEY": "abcd", "TLS": "true", "LOG": "/var/log/some/long/path.log", "PATH": "/usr/bin:/usr/local/bin",
			"OPAQUE": "0123456789abcdef", "MODE": "short", "PIN": "12", "QUOTED_TOKEN": "a\"b<c>/ü\n",
		},
		Headers:  map[string]config.Secret{"Authorization": "Bearer tok-en-5", "X-Trace": "on"},
		URL:      "https://h/?key=url-key-6&page=1",
		Expanded: []config.Secret{"expanded-7"},
		OAuth:    config.OAuth{ClientSecret: "client-8"},
		Proxy:    "http://me:proxy-9@p",
	}
	redact := config.NewRedactor(server)
	for _, secret := range []string{
		"arg-token-1", "arg-key-2", "dbpass77", "header-arg-3", "assigned-4", "abcd", "0123456789abcdef",
		"Bearer tok-en-5", "tok-en-5", "url-key-6", "expanded-7", "client-8", "proxy-9",
	} {
		if got := redact.String("<" + secret + ">"); strings.Contains(got, secret) || !strings.Contains(got, config.Mask) {
			t.Errorf("%q became %q", secret, got)
		}
	}
	for _, kept := range []string{"--port 8080", "true", "/var/log/some/long/path.log", "/usr/bin:/usr/local/bin", "short", "12", "on", "page"} {
		if got := redact.String(kept); got != kept {
			t.Errorf("%q became %q", kept, got)
		}
	}

	// In a frame the secret is escaped, and the frame stays JSON.
	tricky := server.Env["QUOTED_TOKEN"].Reveal()
	for _, escapeHTML := range []bool{true, false} {
		var frame bytes.Buffer
		encoder := json.NewEncoder(&frame)
		encoder.SetEscapeHTML(escapeHTML)
		if err := encoder.Encode(map[string]string{"text": "it is " + tricky + "!"}); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(redact.Bytes(frame.Bytes()), &back); err != nil || back["text"] != "it is •••!" {
			t.Errorf("frame %s became %q, %v", frame.Bytes(), back, err)
		}
	}

	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: redact.ReplaceAttr}))
	logger.Info("abcd in the message", "text", "has expanded-7", "err", errors.New("client-8"), "raw", json.RawMessage(`"proxy-9"`))
	for _, secret := range []string{"abcd", "expanded-7", "client-8", "proxy-9"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, log.String())
		}
	}

	log.Reset()
	var nothing *pointerError
	logger.Info("a nil pointer as an error", "err", error(nothing))
	if !strings.Contains(log.String(), "err=<nil>") {
		t.Errorf("logged %s", log.String())
	}

	var none *config.Redactor
	if none.String("abcd") != "abcd" || string(config.NewRedactor().Bytes([]byte("abcd"))) != "abcd" {
		t.Error("a redactor without secrets changes text")
	}
}

func TestRedactorTakesTheLongerSecret(t *testing.T) {
	redact := config.NewRedactor(config.Server{Env: map[string]config.Secret{"A_TOKEN": "abcde", "B_TOKEN": "abcdefgh"}})
	if got := redact.String("abcdefgh abcde"); got != "••• •••" {
		t.Errorf("got %q", got)
	}
}

func TestExpandedSecretsAreKnown(t *testing.T) {
	c := parse(t, `{"servers": {"s": {"command": "x", "args": ["-e", "login ${MY_TOKEN} in ${HOME}"]}}}`, "MY_TOKEN", "t-123", "HOME", "/home/me")
	if got := config.NewRedactor(c.Servers...).String("t-123 /home/me"); got != "••• /home/me" {
		t.Errorf("got %q", got)
	}
}

func TestSettings(t *testing.T) {
	c := parse(t, `{"servers": {
"s": {"command": "run", "args": ["--token=tok-123", "two words"], "env": {"KEY": "k"},
  "timeout": "90s",
  "trust": false},
"r": {"url": "https://h/p?key=secret-1&a=b", "headers": {"Authorization": "x"}, "discoveryTimeoutMs": 999999}}}`)
	want := map[string][]config.Setting{
		"s": {
			{Name: "command", Value: "run", Source: "usher.json:2"},
			{Name: "args", Value: "--token=••• 'two words'", Source: "usher.json:2"},
			{Name: "env", Value: "KEY=•••", Source: "usher.json:2"},
			{Name: "versionNegotiation", Value: "legacy", Source: "default"},
			{Name: "discoveryTimeoutMs", Value: "30000", Source: "default"},
			{Name: "list", Value: "30s", Source: "default"},
			{Name: "timeout", Value: "1m30s", Source: "usher.json:3"},
			{Name: "maxCallTime", Value: "1h", Source: "default"},
			{Name: "trust", Value: "false", Source: "usher.json:4"},
		},
		"r": {
			{Name: "type", Value: "http", Source: "default"},
			{Name: "url", Value: "https://h/p?a=•••&key=•••", Source: "usher.json:5"},
			{Name: "headers", Value: "Authorization=•••", Source: "usher.json:5"},
			{Name: "discoveryTimeoutMs", Value: "300000", Source: "usher.json:5"},
			{Name: "list", Value: "30s", Source: "default"},
			{Name: "timeout", Value: "10m", Source: "default"},
			{Name: "maxCallTime", Value: "1h", Source: "default"},
			{Name: "trust", Value: "false", Source: "default"},
		},
	}
	for name, settings := range want {
		s, _ := c.Server(name)
		if diff := diffSettings(settings, config.Settings(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

type pointerError struct{ text string }

func (e *pointerError) Error() string { return e.text }
