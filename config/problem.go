package config

import (
	"errors"
	"fmt"
	"strings"
)

// Severity says what a Problem costs.
type Severity string

const (
	// SeverityError costs the server, or the file when the problem names no server.
	SeverityError Severity = "error"
	// SeverityWarning costs nothing: the entry works, and is probably not what was meant.
	SeverityWarning Severity = "warning"
)

// Problem is one finding in a configuration, with its place. Its text holds no secret.
type Problem struct { //nolint:errname // it is a finding; a warning among them is no failure
	Severity Severity
	File     string
	Line     int    // 1-based; 0 when the problem has no place in the file, e.g. an unreadable one
	Column   int    // 1-based, in characters
	Field    string // e.g. "mcpServers.git.timeout" or "mcpServers.git.args[1]"; empty for the file as a whole
	Server   string // the server it costs or warns about; empty for the file as a whole
	Message  string
	Err      error // the cause of an unreadable file; nil otherwise
}

// Error is one line: file:line:column: field: message.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (p Problem) Unwrap() error { return p.Err }

// Problems are findings in the order of their files and lines.
type Problems []Problem //nolint:errname // as Problem

// Error is one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each problem to errors.Is and errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// Errors are those that cost something.
func (ps Problems) Errors() Problems { return ps.filter(SeverityError) }

// Warnings are those that cost nothing.
func (ps Problems) Warnings() Problems { return ps.filter(SeverityWarning) }

func (ps Problems) filter(s Severity) Problems {
	var kept Problems
	for _, p := range ps {
		if p.Severity == s {
			kept = append(kept, p)
		}
	}
	return kept
}

// Err is nil when there is no error among them, else the errors: one Problem or Problems.
func (ps Problems) Err() error {
	switch errs := ps.Errors(); len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	default:
		return errs
	}
}

// AsProblems collects the problems that err holds.
func AsProblems(err error) Problems {
	if many, ok := errors.AsType[Problems](err); ok {
		return many
	}
	if one, ok := errors.AsType[Problem](err); ok {
		return Problems{one}
	}
	return nil
}
