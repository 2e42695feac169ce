package config

import "time"

// Negotiation says which protocol eras a session may use.
type Negotiation string

const (
	// Legacy starts one process and sends initialize; server/discover is never sent. It is the default.
	Legacy Negotiation = "legacy"
	// Auto asks a disposable sibling process with server/discover first (stdio only).
	Auto Negotiation = "auto"
)

// Server is one configured MCP server: expanded, validated, ready to start.
// It is plain data; copy it freely, do not edit maps or slices of a copy.
type Server struct {
	// Name is the key it stands under; unique in one configuration.
	Name string

	// Command, Args, Env and Cwd start a stdio server. Env is added to a small allow-list of the host's
	// own environment. Cwd is absolute, or empty for the host's working directory.
	Command string
	Args    []string
	Env     map[string]Secret
	Cwd     string

	// URL and Headers reach a remote server. Type is "stdio", "http", "sse" or "ws".
	Type    string
	URL     string
	Headers map[string]Secret

	// VersionNegotiation defaults to Legacy.
	VersionNegotiation Negotiation
	// DiscoveryTimeout bounds connecting: probe and handshake together. 0 means the default of the
	// transport (30 s stdio, 15 s remote). Clamped to [100 ms, 300 s] where it is used.
	DiscoveryTimeout time.Duration
	// Timeout is the idle clock of a call: 0 means 10 minutes. Progress resets it.
	Timeout time.Duration
	// MaxCallTime is the total clock of a call: 0 means 1 hour. Nothing resets it.
	MaxCallTime time.Duration

	// Trust lets the server's own annotations count in permission decisions and in the replay rule.
	Trust bool
	// IncludeTools, when not nil, lists the only tools to keep; ExcludeTools wins over it.
	IncludeTools []string
	ExcludeTools []string
	AlwaysAllow  []string
	Disabled     bool
	Description  string

	// Source is where the entry was read.
	Source Source
}

// Source is the place a server's entry was read from.
type Source struct {
	// File is the path as the person named it; empty for a server named on the command line or built in.
	File string
	// Line is 1-based, 0 when unknown.
	Line int
	// Scope is "user", "project", "explicit" (a file named with --config), "adhoc" (--stdio) or "builtin".
	Scope string
}
