package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// minNamed is the length from which a value is masked when its name says that it is a secret.
	minNamed = 4
	// minUnnamed is the length from which any other env or header value is masked, in bytes.
	minUnnamed = 12
)

// Redactor masks the secrets of configured servers in text that leaves the process: trace files, server output,
// logs. It knows the values of env and headers that are long enough or have a secret's name, secret-looking
// variables that were expanded anywhere, options such as --token VALUE, query values of addresses, and the forms
// that JSON and URLs give them. It cannot know a secret that a server makes up itself. A nil Redactor masks
// nothing. It is safe for concurrent use.
type Redactor struct {
	replacer *strings.Replacer
}

// NewRedactor returns a Redactor over the secrets of servers.
func NewRedactor(servers ...Server) *Redactor {
	forms := map[string]bool{}
	for _, s := range servers {
		for _, value := range secretValues(s) {
			for _, form := range spellings(value) {
				forms[form] = true
			}
		}
	}
	if len(forms) == 0 {
		return &Redactor{}
	}
	sorted := make([]string, 0, len(forms))
	for form := range forms {
		sorted = append(sorted, form)
	}
	// The longest first: a secret that contains another one is masked whole.
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, form := range sorted {
		pairs = append(pairs, form, Mask)
	}
	return &Redactor{replacer: strings.NewReplacer(pairs...)}
}

// String returns s with every secret masked.
func (r *Redactor) String(s string) string {
	if r == nil || r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// Bytes returns b with every secret masked: b itself when the Redactor knows no secret, else a copy.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil || r.replacer == nil {
		return b
	}
	return []byte(r.replacer.Replace(string(b)))
}

// ReplaceAttr masks secrets in the attributes of a log; it fits slog.HandlerOptions.
func (r *Redactor) ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.String(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(r.String(fmt.Sprint(v))) // a nil pointer in it must not panic
		case []byte:
			a.Value = slog.StringValue(r.String(string(v)))
		case json.RawMessage:
			a.Value = slog.StringValue(r.String(string(v)))
		}
	}
	return a
}

// secretValues are the values of a server that are to be masked.
func secretValues(s Server) []string {
	var values []string
	add := func(named bool, value string) {
		if named && len(value) >= minNamed && !isPlain(value) || !named && len(value) >= minUnnamed && !isPlain(value) && !isPath(value) {
			values = append(values, value)
		}
	}
	for name, value := range s.Env {
		add(looksSecret(name), value.Reveal())
	}
	for name, value := range s.Headers {
		add(looksSecret(name), value.Reveal())
		// "Bearer x" and "Basic x": the credential alone appears elsewhere too.
		if _, credential, found := strings.Cut(value.Reveal(), " "); found && looksSecret(name) {
			add(true, strings.TrimSpace(credential))
		}
	}
	for _, value := range s.Expanded {
		add(true, value.Reveal())
	}
	add(true, s.OAuth.ClientSecret.Reveal())
	add(true, passwordIn(s.Proxy.Reveal()))
	for i, arg := range s.Args {
		option, value, found := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-") && found && looksSecret(option):
			add(true, value)
		case strings.HasPrefix(arg, "-") && !found && looksSecret(arg) && i+1 < len(s.Args) && !strings.HasPrefix(s.Args[i+1], "-"):
			add(true, s.Args[i+1])
		case !strings.HasPrefix(arg, "-"):
			add(true, passwordIn(arg))
			// A header as one argument, "Authorization: Bearer x", or a variable, "API_KEY=x".
			if name, header, ok := strings.Cut(arg, ":"); ok && looksSecret(name) && isToken(name) {
				header = strings.TrimSpace(header)
				add(true, header)
				if _, credential, ok := strings.Cut(header, " "); ok {
					add(true, credential)
				}
			}
			if found && looksSecret(option) && isVariable(option) {
				add(true, value)
			}
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		for name, list := range u.Query() {
			for _, value := range list {
				add(looksSecret(name), value)
			}
		}
	}
	return values
}

// passwordIn is the password of a URL such as postgres://user:password@host/, or "".
func passwordIn(address string) string {
	if !strings.Contains(address, "://") {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// isPlain reports values that are no secret whatever their name: masking "true" would hide half of a trace.
func isPlain(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "none", "yes", "no", "production", "development", "bearer", "basic":
		return true
	}
	_, err := strconv.Atoi(value)
	return err == nil && len(value) < 6
}

func isPath(value string) bool {
	if strings.HasPrefix(value, "./") || strings.HasPrefix(value, "~/") {
		return true
	}
	for _, part := range filepath.SplitList(value) {
		if !filepath.IsAbs(part) {
			return false
		}
	}
	return true
}

// spellings are the forms a value takes on its way: itself, inside a JSON string, in a URL.
func spellings(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(escapeHTML)
		if encoder.Encode(value) == nil {
			forms = append(forms, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`))
		}
	}
	if escaped := strconv.QuoteToASCII(value); len(escaped) > 2 { // \u escapes, as some servers write them
		forms = append(forms, escaped[1:len(escaped)-1])
	}
	return append(forms, strings.ReplaceAll(forms[len(forms)-2], "/", `\/`))
}
