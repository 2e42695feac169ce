package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Setting is one setting of a server as it is shown to a person: secrets are masked.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is "default" or the place that gave the value, e.g. "usher.json:12".
	Source string `json:"source"`
	// Note says what a person should know about the value; mostly empty.
	Note string `json:"note,omitempty"`
}

// Settings lists what holds for a server, the four clocks included, with the source of each value. Settings that
// are not given and have no default to show are left out. Every value is one line that shows what it holds: what
// cannot be seen, or could pass for something else, is escaped as a shell's $'…' does it.
func Settings(s Server) []Setting {
	redact := NewRedactor(s)
	var list []Setting
	add := func(field, value string, given bool) {
		source := "default"
		if given {
			place := s.Source
			if line := s.Lines[field]; line > 0 {
				place.Line = line
			}
			source = place.String()
		}
		list = append(list, Setting{Name: field, Value: redact.String(value), Source: source})
	}
	text := func(value string) string { return oneLine(redact.String(value)) } // an escaped secret would not be known
	optional := func(field, value string, given bool) {
		if given {
			add(field, value, true)
		}
	}
	if s.Remote() {
		add("type", text(s.Type), s.Lines["type"] > 0)
		field := "url"
		for _, other := range []string{"httpUrl", "tcp"} {
			if s.Lines[other] > 0 {
				field = other
			}
		}
		add(field, DisplayURL(s.URL), true)
		optional("headers", maskedMap(s.Headers), len(s.Headers) > 0)
		optional("proxy", Mask, s.Proxy != "")
		optional("caFile", text(s.CAFile), s.CAFile != "")
		optional("oauth", text("client "+s.OAuth.ClientID+", scopes "+strings.Join(s.OAuth.Scopes, " ")), s.Lines["oauth"] > 0)
	} else {
		add("command", text(s.Command), true)
		optional("args", quoteAll(redacted(redact, s.Args)), len(s.Args) > 0)
		optional("env", maskedMap(s.Env), len(s.Env) > 0)
		optional("cwd", text(s.Cwd), s.Cwd != "")
		negotiation := s.VersionNegotiation
		if negotiation == "" {
			negotiation = Legacy
		}
		add("versionNegotiation", text(string(negotiation)), s.Lines["versionNegotiation"] > 0 || s.Source.Scope != "" && negotiation != Legacy)
	}
	add("discoveryTimeoutMs", fmt.Sprint(s.ConnectWindow().Milliseconds()), s.DiscoveryTimeout > 0)
	add("list", clock(0, DefaultList), false)
	add("timeout", clock(s.Timeout, DefaultTimeout), s.Timeout > 0)
	add("maxCallTime", clock(s.MaxCallTime, DefaultMaxCallTime), s.MaxCallTime > 0)
	add("trust", fmt.Sprint(s.Trust), s.Lines["trust"] > 0 || s.Trust)
	optional("includeTools", text(strings.Join(s.IncludeTools, ", ")), s.IncludeTools != nil)
	optional("excludeTools", text(strings.Join(s.ExcludeTools, ", ")), len(s.ExcludeTools) > 0)
	optional("alwaysAllow", text(strings.Join(s.AlwaysAllow, ", ")), len(s.AlwaysAllow) > 0)
	optional("share", "false", s.Unshared)
	optional("maxParallel", fmt.Sprint(s.MaxParallel), s.MaxParallel > 0)
	optional("appMaxHtmlBytes", fmt.Sprint(s.AppMaxHTMLBytes), s.AppMaxHTMLBytes > 0)
	optional("disabled", "true", s.Disabled)
	optional("description", text(s.Description), s.Description != "")
	return list
}

// DisplayURL is an address that can be shown: the values of its query and a password are masked.
func DisplayURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return Mask
	}
	shown := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	text := shown.String()
	if u.User != nil {
		text = strings.Replace(text, "://", "://"+Mask+"@", 1)
	}
	query := u.Query()
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		separator := "&"
		if i == 0 {
			separator = "?"
		}
		text += separator + url.QueryEscape(name) + "=" + Mask
	}
	return text
}

func maskedMap(secrets map[string]Secret) string {
	names := make([]string, 0, len(secrets))
	for name := range secrets {
		names = append(names, oneLine(name)+"="+Mask)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func redacted(redact *Redactor, list []string) []string {
	shown := make([]string, len(list))
	for i, s := range list {
		shown[i] = redact.String(s)
	}
	return shown
}

// quoteAll joins arguments so that their bounds can be seen.
func quoteAll(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = oneLine(arg)
		if quoted[i] == arg && (arg == "" || strings.ContainsAny(arg, " \"'\\")) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// oneLine is s as a person may safely read it: itself, or in the form $'…' when it holds control characters, other
// invisible ones, or a run of blanks that could push what follows onto a line of its own.
func oneLine(s string) string {
	plain := !strings.Contains(s, "    ") && !strings.HasPrefix(s, "$'") && utf8.ValidString(s)
	for _, r := range s {
		plain = plain && visible(r)
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.WriteString("$'")
	blank := false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\\' || r == '\'':
			b.WriteString(`\` + string(r))
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && !visible(r), r == ' ' && blank:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case visible(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		blank = r == ' '
		i += size
	}
	b.WriteString("'")
	return b.String()
}

// visible reports whether a character shows as itself: letters, marks, digits, signs and the plain space. The fillers
// and the empty pattern of dots are counted as letters and symbols, and cannot be seen.
func visible(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
		return false
	}
	return unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r)
}

func clock(given, standard time.Duration) string {
	if given <= 0 {
		given = standard
	}
	text := given.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
