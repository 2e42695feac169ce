package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/internal/nearest"
)

// File is a configuration file, read.
type File struct {
	// Name is the path as it is shown in messages.
	Name string
	// Dir is the absolute directory that a relative cwd is taken from.
	Dir   string
	Scope string
	Data  []byte
}

// ParseOptions are the options of Parse.
type ParseOptions struct {
	// Lookup answers ${VAR}; nil means that no variable is set.
	Lookup func(name string) (value string, ok bool)
}

// Config is what configuration files say together.
type Config struct {
	// Servers are in the order of their files, and within a file in the order written. Those with a Problem are
	// among them.
	Servers     []Server
	Apps        AppsSettings
	Model       ModelSettings
	Permissions PermissionSettings
	// Problems are all findings, those of single servers included.
	Problems Problems
	// Files are the files that were read, also those that could not be parsed.
	Files []string
}

// Server finds a server by its name.
func (c *Config) Server(name string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// Parse reads one file. It does not fail: what is wrong is in Problems, and in the Problem of the server it costs.
func Parse(f File, o ParseOptions) *Config {
	c := &Config{Files: []string{f.Name}}
	doc, bad := newDocument(f.Data)
	if bad != nil {
		bad.Severity, bad.File = SeverityError, f.Name
		c.Problems = Problems{*bad}
		return c
	}
	p := &parser{file: f, doc: doc, lookup: o.Lookup, config: c}
	p.top()
	slices.SortStableFunc(c.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c
}

// parser reads one document into one Config.
type parser struct {
	file   File
	doc    *document
	lookup func(string) (string, bool)
	config *Config
}

// The top-level names. Those in laterNames belong to other dialects or to features that are not there yet.
func topNames() []string {
	return []string{"mcpServers", "servers", "mcpApps", "model", "permissions", "$schema", "$version"}
}

func (p *parser) top() {
	root, ok := p.doc.root.Value.(*hujson.Object)
	if !ok {
		p.report(SeverityError, p.doc.root, "", "", `want an object such as {"mcpServers": {…}}, got `+kindOf(p.doc.root))
		return
	}
	seen := map[string]bool{}
	for _, m := range root.Members {
		name := memberName(m)
		if seen[name] {
			p.report(SeverityError, m.Name, name, "", "is given twice")
			continue
		}
		seen[name] = true
		switch name {
		case "mcpServers", "servers":
			p.servers(name, m.Value)
		case "mcpApps", "model", "permissions":
			if path.Base(filepath.ToSlash(p.file.Name)) == ".mcp.json" {
				p.report(SeverityWarning, m.Name, name, "", "is read from usher.json only; it has no effect here")
				continue
			}
			read := map[string]func(string, hujson.Value){"mcpApps": p.apps, "model": p.model, "permissions": p.permissions}[name]
			read(name, m.Value)
		case "$schema", "$version":
		case "inputs":
			p.report(SeverityWarning, m.Name, name, "", "is not supported by this version and has no effect")
		default:
			p.unknown(m.Name, "", name, "", topNames())
		}
	}
}

func (p *parser) servers(field string, v hujson.Value) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		p.report(SeverityError, v, field, "", `want an object of servers by name, got `+kindOf(v))
		return
	}
	for _, m := range object.Members {
		name := memberName(m)
		if name == "" {
			// It can be neither named nor listed, and costs no other entry.
			p.report(SeverityError, m.Name, join(field, name), "", "a server needs a name; the entry is left out")
			continue
		}
		if i := p.index(name); i >= 0 {
			// Two entries of one name: which of them was meant cannot be known, so neither runs.
			s := &p.config.Servers[i]
			problem := p.problem(SeverityError, m.Name, join(field, name), name,
				fmt.Sprintf("is given twice; the other one is in line %d", s.Source.Line))
			p.config.Problems = append(p.config.Problems, problem)
			s.Problem = joinProblem(s.Problem, problem)
			continue
		}
		p.config.Servers = append(p.config.Servers, p.server(field, name, m))
	}
}

func (p *parser) index(name string) int {
	for i := range p.config.Servers {
		if p.config.Servers[i].Name == name {
			return i
		}
	}
	return -1
}

// report records a finding at v.
func (p *parser) report(severity Severity, v hujson.Value, field, server, message string) {
	p.config.Problems = append(p.config.Problems, p.problem(severity, v, field, server, message))
}

func (p *parser) problem(severity Severity, v hujson.Value, field, server, message string) Problem {
	line, column := p.doc.place(v.StartOffset)
	return Problem{
		Severity: severity, File: p.file.Name, Line: line, Column: column,
		Field: field, Server: server, Message: message,
	}
}

// unknown warns about a name that is none of known.
func (p *parser) unknown(v hujson.Value, parent, name, server string, known []string) {
	message := "unknown field; it has no effect"
	if near := nearest.Name(name, known); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	p.report(SeverityWarning, v, join(parent, name), server, message)
}

// join appends a member's name to the path of a field; names that are no plain words are quoted.
func join(parent, name string) string {
	plain := name != "" && utf8.RuneCountInString(name) <= 64
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$@/", r) {
			plain = false
		}
	}
	switch {
	case !plain:
		return parent + "[" + strconv.Quote(clip(name)) + "]"
	case parent == "":
		return name
	default:
		return parent + "." + name
	}
}

// joinProblem adds a problem to those a server already has.
func joinProblem(err error, p Problem) error {
	if have := AsProblems(err); len(have) > 0 {
		return append(append(Problems{}, have...), p)
	}
	return p
}

// checkName says what is wrong with the name of a server.
func checkName(name string) string {
	switch {
	case utf8.RuneCountInString(name) > 64:
		return "the name of a server has at most 64 characters"
	case strings.TrimSpace(name) != name:
		return "the name of a server does not begin or end with a space"
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || strings.ContainsRune(`="'\`, r) {
			return fmt.Sprintf("the name of a server holds no %q", r)
		}
	}
	return ""
}

// digest hashes an entry as written, whatever its layout and the order of its fields; its description does not count.
func digest(v hujson.Value) string {
	standard := v.Clone()
	standard.Minimize()
	decoder := json.NewDecoder(bytes.NewReader(standard.Pack()))
	decoder.UseNumber() // a number is hashed as written
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return "" // not an object: the entry has a Problem and never runs
	}
	delete(fields, "description")
	canonical, err := json.Marshal(fields) // sorts the keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
