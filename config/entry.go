package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// entry is one server while it is read.
type entry struct {
	reader
	server Server
	fields map[string]hujson.ObjectMember // those given, by name
}

func serverFields() []string {
	return []string{
		"command", "args", "env", "cwd", "url", "httpUrl", "tcp", "headers", "type",
		"timeout", "discoveryTimeoutMs", "maxCallTime", "versionNegotiation",
		"trust", "includeTools", "excludeTools", "alwaysAllow", "share", "maxParallel", "appMaxHtmlBytes",
		"oauth", "proxy", "caFile", "disabled", "description",
	}
}

// server reads one entry. Its errors become the server's Problem.
func (p *parser) server(parent, name string, m hujson.ObjectMember) Server {
	line, _ := p.doc.place(m.Name.StartOffset)
	e := &entry{
		reader: reader{parser: p, server: name},
		server: Server{
			Name:               name,
			VersionNegotiation: Legacy,
			Source:             Source{File: p.file.Name, Line: line, Scope: p.file.Scope},
			Lines:              map[string]int{},
			Digest:             digest(m.Value),
		},
		fields: map[string]hujson.ObjectMember{},
	}
	path := join(parent, name)
	if wrong := checkName(name); wrong != "" {
		e.fail(m.Name, path, wrong)
	}
	object, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		e.fail(m.Value, path, `want an object such as {"command": "…"}, got `+kindOf(m.Value))
		object = &hujson.Object{}
	}
	for _, f := range object.Members {
		field := memberName(f)
		if e.has(field) {
			e.fail(f.Name, join(path, field), "is given twice")
			continue
		}
		e.fields[field] = f
		e.server.Lines[field], _ = p.doc.place(f.Name.StartOffset)
		e.field(field, join(path, field), f)
	}
	if ok {
		e.check(path, m)
	}
	e.server.Expanded = e.expanded
	if len(e.problems) == 1 {
		e.server.Problem = e.problems[0]
	} else if len(e.problems) > 1 {
		e.server.Problem = e.problems
	}
	return e.server
}

func (e *entry) has(field string) bool {
	_, ok := e.fields[field]
	return ok
}

// warn reports a field, if it is given.
func (e *entry) warn(path, field, message string) {
	if f, ok := e.fields[field]; ok {
		e.report(SeverityWarning, f.Name, join(path, field), e.server.Name, message)
	}
}

func (e *entry) field(name, path string, f hujson.ObjectMember) {
	s, v := &e.server, f.Value
	e.keepWritten(name, v)
	switch name {
	case "command":
		s.Command, _ = e.filled(path, v)
	case "args":
		s.Args = e.texts(path, v, false)
	case "env":
		s.Env = e.secrets(path, v)
	case "cwd":
		if dir, ok := e.filled(path, v); ok {
			s.Cwd = e.directory(path, v, dir)
		}
	case "url":
		s.URL, _ = e.filled(path, v)
	case "httpUrl":
		if u, ok := e.filled(path, v); ok && s.URL == "" {
			s.URL = u
		}
	case "tcp":
		if u, ok := e.filled(path, v); ok && s.URL == "" {
			s.URL = u
		}
	case "headers":
		s.Headers = e.secrets(path, v)
		e.checkHeaders(path, v)
	case "type":
		s.Type = e.choice(path, v, map[string]string{
			"stdio": TypeStdio, "http": TypeHTTP, "streamable-http": TypeHTTP, "streamableHttp": TypeHTTP,
			"sse": TypeSSE, "ws": TypeWS, "websocket": TypeWS,
		}, "stdio, http, sse or ws")
	case "timeout":
		s.Timeout = e.duration(path, v)
	case "maxCallTime":
		s.MaxCallTime = e.duration(path, v)
	case "discoveryTimeoutMs":
		s.DiscoveryTimeout = e.window(path, v)
	case "versionNegotiation":
		s.VersionNegotiation = Negotiation(e.choice(path, v, map[string]string{"legacy": "legacy", "auto": "auto"}, `"legacy" or "auto"`))
	case "trust":
		s.Trust = e.boolean(path, v)
	case "includeTools":
		s.IncludeTools = e.texts(path, v, true)
	case "excludeTools":
		s.ExcludeTools = e.texts(path, v, true)
	case "alwaysAllow":
		s.AlwaysAllow = e.texts(path, v, true)
	case "share":
		s.Unshared = !e.boolean(path, v)
	case "maxParallel":
		s.MaxParallel = int(e.integer(path, v, MaxMaxParallel))
	case "appMaxHtmlBytes":
		s.AppMaxHTMLBytes = e.integer(path, v, MaxAppHTMLBytes)
	case "oauth":
		s.OAuth = e.oauth(path, v)
	case "proxy":
		proxy, _ := e.filled(path, v)
		s.Proxy = Secret(proxy)
	case "caFile":
		if file, ok := e.filled(path, v); ok {
			s.CAFile = e.directory(path, v, file)
		}
	case "disabled":
		s.Disabled = e.boolean(path, v)
	case "description":
		s.Description, _ = e.text(path, v)
	default:
		e.unknown(f.Name, strings.TrimSuffix(strings.TrimSuffix(path, join("", name)), "."), name, s.Name, serverFields())
	}
}

// window reads discoveryTimeoutMs and says when it is outside what can be used (M4).
func (e *entry) window(path string, v hujson.Value) time.Duration {
	d, ok := e.millis(path, v)
	if ok && (d < MinConnect || d > MaxConnect) {
		e.report(SeverityWarning, v, path, e.server.Name,
			fmt.Sprintf("is outside %d…%d and will be taken as %d", MinConnect.Milliseconds(), MaxConnect.Milliseconds(),
				min(max(d, MinConnect), MaxConnect).Milliseconds()))
	}
	return d
}

// check looks at the fields together.
func (e *entry) check(path string, m hujson.ObjectMember) {
	s := &e.server
	remote := e.has("url") || e.has("httpUrl") || e.has("tcp")
	switch {
	case e.has("command") && remote:
		e.fail(e.fields["command"].Value, join(path, "command"), "is given beside an address; a server is either started (command) or reached (url)")
		return
	case e.has("url") && e.has("httpUrl"), e.has("tcp") && (e.has("url") || e.has("httpUrl")):
		e.fail(m.Name, path, "has more than one of url, httpUrl and tcp")
		return
	case !e.has("command") && !remote:
		if s.Type == TypeStdio || s.Type == "" {
			e.fail(m.Name, path, `has neither "command" (a server to start) nor "url" (a server to reach)`)
		} else {
			e.fail(m.Name, path, fmt.Sprintf(`is of type %q and has no "url"`, s.Type))
		}
		return
	}
	if remote {
		e.checkRemote(path)
	} else {
		e.checkStdio(path)
	}
	for _, field := range laterFields() {
		e.warn(path, field, "is read, and has no effect in this version")
	}
}

// laterFields are those that this version reads and does not use yet.
func laterFields() []string { return []string{"oauth", "proxy", "caFile", "share"} }

func (e *entry) checkStdio(path string) {
	s := &e.server
	if s.Type != "" && s.Type != TypeStdio {
		e.fail(e.fields["type"].Value, join(path, "type"), fmt.Sprintf(`is %q, but "command" makes it a stdio server`, s.Type))
	}
	s.Type = TypeStdio
	for _, field := range []string{"headers", "oauth", "proxy", "caFile"} {
		e.warn(path, field, "counts for remote servers only; it has no effect beside a command")
		delete(e.fields, field)
	}
	if strings.ContainsRune(s.Command, 0) {
		e.fail(e.fields["command"].Value, join(path, "command"), "holds a NUL character")
	}
}

func (e *entry) checkRemote(path string) {
	s := &e.server
	field := "url"
	switch {
	case e.has("httpUrl"):
		field = "httpUrl"
	case e.has("tcp"):
		field = "tcp"
	}
	implied := map[string]string{"url": TypeHTTP, "httpUrl": TypeHTTP, "tcp": TypeWS}[field]
	switch {
	case s.Type == "":
		s.Type = implied
	case s.Type == TypeStdio:
		e.fail(e.fields["type"].Value, join(path, "type"), fmt.Sprintf(`is "stdio", but %q makes it a remote server`, field))
		return
	case field != "url" && s.Type != implied:
		e.fail(e.fields["type"].Value, join(path, "type"), fmt.Sprintf("is %q, but %q is an address for %q", s.Type, field, implied))
		return
	}
	for _, field := range []string{"args", "env", "cwd"} {
		e.warn(path, field, "counts for servers with a command only; it has no effect beside an address")
	}
	if s.VersionNegotiation == Auto {
		e.fail(e.fields["versionNegotiation"].Value, join(path, "versionNegotiation"),
			`"auto" is for servers with a command: a remote server may fail or charge for an unknown request, so none is sent to it; leave the field out`)
	}
	if s.URL != "" {
		if wrong := checkURL(s.URL, s.Type); wrong != "" {
			e.fail(e.fields[field].Value, join(path, field), wrong)
		}
	}
}

// checkURL says what is wrong with the address of a remote server. It does not repeat the address, which may
// hold a key.
func checkURL(address, kind string) string {
	u, err := url.Parse(address)
	schemes := []string{"http", "https"}
	if kind == TypeWS {
		schemes = []string{"ws", "wss"}
	}
	switch {
	case err != nil:
		return "is no URL that can be parsed"
	case u.Scheme != schemes[0] && u.Scheme != schemes[1]:
		return fmt.Sprintf("want an address that begins with %s:// or %s://", schemes[0], schemes[1])
	case u.Hostname() == "":
		return "names no host"
	case u.User != nil:
		return `holds a user name; give credentials in "headers"`
	case u.Fragment != "":
		return `holds a fragment ("#…"), which no server sees; leave it out`
	}
	return ""
}

// directory makes a path from the file absolute: "~/" is the home directory, a relative one starts at the file.
func (e *entry) directory(path string, v hujson.Value, dir string) string {
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		home := ""
		if e.lookup != nil {
			home, _ = e.lookup("HOME")
		}
		if home == "" {
			e.fail(v, path, `begins with "~", and HOME is not set`)
			return ""
		}
		return filepath.Join(home, strings.TrimPrefix(dir, "~"))
	}
	if filepath.IsAbs(dir) || e.file.Dir == "" {
		return dir
	}
	return filepath.Join(e.file.Dir, dir)
}

func (e *entry) checkHeaders(path string, v hujson.Value) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return
	}
	spelt := map[string]string{}
	for _, m := range object.Members {
		name := memberName(m)
		other, twice := spelt[strings.ToLower(name)]
		spelt[strings.ToLower(name)] = name
		switch {
		case !isToken(name):
			e.fail(m.Name, join(path, name), "is no HTTP header name")
		case strings.ContainsAny(e.server.Headers[name].Reveal(), "\r\n\x00"):
			e.fail(m.Value, join(path, name), "a header's value holds no line break")
		case twice && other != name:
			e.fail(m.Name, join(path, name), fmt.Sprintf("is the same header as %q", other))
		}
	}
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func oauthFields() []string {
	return []string{"clientId", "clientSecret", "scopes", "callbackPort", "redirectUri", "authorizationUrl", "tokenUrl"}
}

func (e *entry) oauth(path string, v hujson.Value) OAuth {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		e.fail(v, path, "want an object, got "+kindOf(v))
		return OAuth{}
	}
	o, seen := OAuth{}, map[string]bool{}
	for _, m := range object.Members {
		name := memberName(m)
		at := join(path, name)
		if seen[name] {
			e.fail(m.Name, at, "is given twice")
			continue
		}
		seen[name] = true
		switch name {
		case "clientId":
			o.ClientID, _ = e.filled(at, m.Value)
		case "clientSecret":
			secret, _ := e.filled(at, m.Value)
			o.ClientSecret = Secret(secret)
		case "scopes":
			o.Scopes = e.texts(at, m.Value, true)
		case "callbackPort":
			o.CallbackPort = int(e.integer(at, m.Value, 65535))
		case "redirectUri":
			o.RedirectURI, _ = e.filled(at, m.Value)
		case "authorizationUrl":
			o.AuthorizationURL, _ = e.filled(at, m.Value)
		case "tokenUrl":
			o.TokenURL, _ = e.filled(at, m.Value)
		default:
			e.unknown(m.Name, path, name, e.server.Name, oauthFields())
		}
	}
	return o
}
