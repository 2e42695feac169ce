package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Setting is one setting of a server as it is shown to a person: secrets are masked.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is "default" or the place that gave the value, e.g. "usher.json:12".
	Source string `json:"source"`
}

// Settings lists what holds for a server, the four clocks included, with the source of each value. Settings that
// are not given and have no default to show are left out.
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
	optional := func(field, value string, given bool) {
		if given {
			add(field, value, true)
		}
	}
	if s.Remote() {
		add("type", s.Type, s.Lines["type"] > 0)
		field := "url"
		for _, other := range []string{"httpUrl", "tcp"} {
			if s.Lines[other] > 0 {
				field = other
			}
		}
		add(field, DisplayURL(s.URL), true)
		optional("headers", maskedMap(s.Headers), len(s.Headers) > 0)
		optional("proxy", Mask, s.Proxy != "")
		optional("caFile", s.CAFile, s.CAFile != "")
		optional("oauth", "client "+s.OAuth.ClientID+", scopes "+strings.Join(s.OAuth.Scopes, " "), s.Lines["oauth"] > 0)
	} else {
		add("command", s.Command, true)
		optional("args", quoteAll(s.Args), len(s.Args) > 0)
		optional("env", maskedMap(s.Env), len(s.Env) > 0)
		optional("cwd", s.Cwd, s.Cwd != "")
		negotiation := s.VersionNegotiation
		if negotiation == "" {
			negotiation = Legacy
		}
		add("versionNegotiation", string(negotiation), s.Lines["versionNegotiation"] > 0 || s.Source.Scope != "" && negotiation != Legacy)
	}
	add("discoveryTimeoutMs", fmt.Sprint(s.ConnectWindow().Milliseconds()), s.DiscoveryTimeout > 0)
	add("list", clock(0, DefaultList), false)
	add("timeout", clock(s.Timeout, DefaultTimeout), s.Timeout > 0)
	add("maxCallTime", clock(s.MaxCallTime, DefaultMaxCallTime), s.MaxCallTime > 0)
	add("trust", fmt.Sprint(s.Trust), s.Lines["trust"] > 0 || s.Trust)
	optional("includeTools", strings.Join(s.IncludeTools, ", "), s.IncludeTools != nil)
	optional("excludeTools", strings.Join(s.ExcludeTools, ", "), len(s.ExcludeTools) > 0)
	optional("alwaysAllow", strings.Join(s.AlwaysAllow, ", "), len(s.AlwaysAllow) > 0)
	optional("share", "false", s.Unshared)
	optional("disabled", "true", s.Disabled)
	optional("description", s.Description, s.Description != "")
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
		names = append(names, name+"="+Mask)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// quoteAll joins arguments so that their bounds can be seen.
func quoteAll(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
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
