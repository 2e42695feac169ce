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

// Transports: the values of Server.Type.
const (
	TypeStdio = "stdio"
	TypeHTTP  = "http" // Streamable HTTP
	TypeSSE   = "sse"  // the HTTP+SSE transport of 2024-11-05
	TypeWS    = "ws"
)

// The defaults of the clocks of a server.
const (
	DefaultConnectStdio  = 30 * time.Second
	DefaultConnectRemote = 15 * time.Second
	DefaultList          = 30 * time.Second // one list; each page starts it anew
	DefaultTimeout       = 10 * time.Minute
	DefaultMaxCallTime   = time.Hour

	// MinConnect and MaxConnect clamp the connect window (M4).
	MinConnect = 100 * time.Millisecond
	MaxConnect = 300 * time.Second
)

// Server is one configured MCP server: expanded, validated, ready to start, unless Problem says otherwise.
// It is plain data; copy it freely, do not edit maps or slices of a copy.
type Server struct {
	// Name is the key it stands under; unique in one configuration.
	Name string

	// Problem is why this entry cannot be used: what is wrong with it, by file, line and field. A server with a
	// Problem is listed as failed and never started; its other fields may be incomplete. It is a [Problem] or
	// [Problems], holds no secret, and is nil for a usable entry.
	Problem error

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
	// Proxy is the URL of the proxy for this remote server, which may carry a password; CAFile is a PEM file of
	// further certificate authorities.
	Proxy  Secret
	CAFile string
	// OAuth is zero when the entry has none. (No pointer: fmt prints what is behind one without asking a Secret.)
	OAuth OAuth

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
	// Unshared is true for "share": false: each conversation gets a session of its own.
	Unshared bool
	// AppMaxHTMLBytes bounds the decoded HTML of this server's apps; 0 means what holds for all servers
	// ([AppsSettings.MaxHTMLBytes]). It may be more than that, up to [MaxAppHTMLBytes].
	AppMaxHTMLBytes int64
	// MaxParallel is how many calls the server gets at once, at most [MaxMaxParallel]; 0 means any number. It is for
	// servers that cannot work on two calls at a time.
	MaxParallel int
	Disabled    bool
	Description string

	// Source is where the entry was read.
	Source Source
	// Lines gives the line of each field that the entry has, by the field's name in the file ("timeout").
	Lines map[string]int
	// Digest identifies the entry as it is written in its file, before expansion: a hash over all its fields but
	// the description, whatever their order and the layout. Empty for a server that was read from no file.
	Digest string
	// Written is what the entry starts as its file says it; zero for a server that was read from no file.
	Written Written
	// Expanded holds the values of secret-looking variables that ${VAR} references in the entry brought in,
	// so that a [Redactor] knows them wherever they ended up.
	Expanded []Secret
}

// OAuth holds the settings of a remote server's login that the person gave.
type OAuth struct {
	ClientID         string
	ClientSecret     Secret
	Scopes           []string
	CallbackPort     int // 0: any free port
	RedirectURI      string
	AuthorizationURL string
	TokenURL         string
}

// Remote reports whether the server is reached over the network rather than started.
func (s Server) Remote() bool {
	return s.Type != "" && s.Type != TypeStdio || s.Command == "" && s.URL != ""
}

// ConnectWindow is the time that connecting may take: DiscoveryTimeout clamped to [MinConnect, MaxConnect], or
// the default of the transport.
func (s Server) ConnectWindow() time.Duration {
	switch {
	case s.DiscoveryTimeout > 0:
		return min(max(s.DiscoveryTimeout, MinConnect), MaxConnect)
	case s.Remote():
		return DefaultConnectRemote
	default:
		return DefaultConnectStdio
	}
}

// Scopes: the values of Source.Scope.
const (
	ScopeUser     = "user"
	ScopeProject  = "project"
	ScopeExplicit = "explicit"
	ScopeAdHoc    = "adhoc"
	ScopeBuiltin  = "builtin"
)

// Source is the place a server's entry was read from.
type Source struct {
	// File is the path as the person named it; empty for a server named on the command line or built in.
	File string
	// Line is 1-based, 0 when unknown.
	Line int
	// Scope is "user", "project", "explicit" (a file named with --config), "adhoc" (--stdio) or "builtin".
	Scope string
}
