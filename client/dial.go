package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/wire"
)

var errWindow = errors.New("the time for connecting is over")

// Dial starts the server of spec, learns which era to speak (legacy unless spec asks for auto, M2, M3), and returns
// the session. ctx bounds connecting only, as does spec.DiscoveryTimeout. The error is an *Error; nothing is left
// running then.
func Dial(ctx context.Context, spec config.Server, opts Options) (*Session, error) {
	s, err := newSession(ctx, spec, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	window := spec.ConnectWindow()
	ctx, cancel := context.WithTimeoutCause(ctx, window, errWindow)
	defer cancel()
	if err := s.dial(ctx, window); err != nil {
		return nil, err
	}
	s.logger.Info("session open", "server", spec.Name, "era", string(s.era), "version", s.version,
		"took", time.Since(began).Round(time.Millisecond))
	return s, nil
}

func (s *Session) dial(ctx context.Context, window time.Duration) error {
	switch {
	case s.spec.Problem != nil:
		return s.configError(s.spec.Problem.Error(), s.spec.Problem)
	case s.spec.Remote():
		return s.dialRemote(ctx)
	case s.spec.Command == "":
		return s.configError("the server has neither a command nor a url", nil)
	}
	v, err := s.negotiate(ctx, window)
	if err != nil {
		return err
	}
	proc, err := s.opts.Launcher.Launch(ctx, s.spec)
	if err != nil {
		return s.startError(err)
	}
	s.proc = proc
	s.open(ctx, proc.Stdout(), proc.Stdin())
	if v.kind == VerdictModern {
		err = s.openModern(ctx, v.discover)
	} else {
		err = s.openLegacy(ctx)
	}
	if err != nil {
		s.abort(ctx)
		return err
	}
	s.start()
	return nil
}

func (s *Session) configError(message string, cause error) *Error {
	e := s.newError(PhaseConfig, CodeConfig, message)
	e.Err = cause
	return e
}

// negotiate decides the era of the session before its process starts. Without auto there is nothing to ask.
func (s *Session) negotiate(ctx context.Context, window time.Duration) (verdict, error) {
	n := &s.negotiation
	if n.Policy = string(config.Legacy); s.spec.VersionNegotiation != config.Auto {
		n.Reason = "versionNegotiation is legacy"
		return verdict{kind: VerdictLegacy}, nil
	}
	n.Policy = string(config.Auto)
	budget := probeBudget(window)
	if budget == 0 {
		n.Reason = fmt.Sprintf("no probe: discoveryTimeoutMs (%s) does not cover a probe and the handshake", window)
		return verdict{kind: VerdictLegacy}, nil
	}
	began := time.Now()
	ev, err := s.probe(ctx, budget)
	if err != nil {
		return verdict{}, err
	}
	v := judge(ev)
	n.Probed, n.Verdict, n.Reason, n.Probe = true, v.kind, v.reason, time.Since(began)
	s.logger.Debug("probed", "server", s.spec.Name, "verdict", v.kind, "reason", v.reason, "took", n.Probe)
	switch v.kind {
	case VerdictIncompatible:
		return v, s.incompatible(PhaseProbe, v)
	case VerdictInconclusive:
		return v, s.translate(ctx, PhaseProbe, ev.failed)
	}
	return v, nil
}

func (s *Session) incompatible(phase Phase, v verdict) *Error {
	theirs := "no version that could be read"
	if len(v.supported) > 0 {
		theirs = strings.Join(v.supported, ", ")
	}
	e := s.newError(phase, CodeIncompat, fmt.Sprintf(
		"no protocol version in common: the server speaks %s, this client %s, %s", theirs, modernVersion, strings.Join(legacyVersions, ", ")))
	e.Hint = "Use a version of the server that speaks " + modernVersion + " or " + legacyVersion + "."
	return e
}

// openLegacy performs the initialize handshake. A server that refuses the version and names another that is spoken here
// is asked once more, with that one (LEG-03).
func (s *Session) openLegacy(ctx context.Context) error {
	s.era = Legacy
	refusal, err := s.initialize(ctx, legacyVersion)
	if refusal == nil {
		return err
	}
	supported, _ := supportedVersions(refusal.Data)
	modern := slices.Contains(supported, modernVersion)
	if modern && refusal.Code == codeUnsupportedVersion && s.spec.VersionNegotiation == config.Auto {
		// The probe's silence was a guess; this refusal is proof.
		s.logger.Debug("initialize refused by a modern server", "server", s.spec.Name)
		s.negotiation.Verdict = VerdictModern
		s.negotiation.Reason = "the server refused initialize and speaks " + modernVersion
		s.conn.Silence()
		return s.openModern(ctx, nil)
	}
	if other := anotherVersion(supported, legacyVersion); other != "" {
		s.logger.Debug("initialize refused; asking for another version", "server", s.spec.Name, "version", other)
		if refusal, err = s.initialize(ctx, other); refusal == nil {
			return err
		}
		supported, _ = supportedVersions(refusal.Data)
	}
	if refusal.Code != codeUnsupportedVersion {
		return s.translate(ctx, PhaseHandshake, refusal)
	}
	e := s.incompatible(PhaseHandshake, verdict{supported: supported})
	e.RPC = rpcError(refusal)
	if modern {
		e.Message = "the server speaks only " + strings.Join(supported, ", ") + " and refuses the initialize handshake"
		e.Hint = s.modernHint()
	}
	return e
}

// anotherVersion picks the newest legacy version a server names that has not been tried, "" when there is none.
func anotherVersion(supported []string, tried string) string {
	for _, v := range legacyVersions {
		if v != tried && slices.Contains(supported, v) {
			return v
		}
	}
	return ""
}

// initialize performs one handshake, which is the SDK's, asking for version. It returns the server's refusal, or why
// the handshake failed otherwise.
func (s *Session) initialize(ctx context.Context, version string) (*wire.RemoteError, error) {
	if s.link != nil {
		s.link.version.Store(version)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: s.opts.Info.Name, Title: s.opts.Info.Title, Version: s.opts.Info.Version},
		&mcp.ClientOptions{Capabilities: s.sdkCapabilities(), MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
	session, err := client.Connect(ctx, s.conn, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if answered := s.answered.Load(); answered != nil {
		s.server = answered
		if s.version = answered.ProtocolVersion; !slices.Contains(legacyVersions, s.version) {
			if err == nil {
				_ = session.Close() // the session's end follows
			}
			return nil, s.badVersion(answered.ProtocolVersion)
		}
	}
	if err == nil {
		s.sdk = session
		s.initialized.Store(true)
		s.setLogLevel(ctx)
		return nil, nil
	}
	if failed := s.unanswered.Load(); failed != nil && ctx.Err() == nil {
		return nil, s.translate(ctx, PhaseHandshake, *failed)
	}
	if refusal := sdkError(err); refusal != nil {
		return refusal, nil
	}
	return nil, s.translate(ctx, PhaseHandshake, s.handshakeError(ctx, err))
}

// handshakeError prefers the end of the connection over what the SDK made of it.
func (s *Session) handshakeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("initialize: %w", context.Cause(ctx))
	}
	select {
	case <-s.conn.Done():
		return &wire.LostError{Cause: s.conn.Err()}
	default:
		return err
	}
}

func (s *Session) badVersion(version string) *Error {
	e := s.newError(PhaseHandshake, CodeIncompat, fmt.Sprintf("the server answered initialize with version %q", version))
	switch {
	case version == "":
		e.Code, e.Message = CodeProtocol, "the server answered initialize without a protocol version"
	case version >= modernVersion:
		e.Message += ", which has no initialize"
		e.Hint = s.modernHint()
	default:
		e.Hint = "This client speaks " + strings.Join(legacyVersions, ", ") + "."
	}
	return e
}

// modernHint is the way to a server that speaks only the modern era.
func (s *Session) modernHint() string {
	if s.link != nil {
		return "Use a version of the server that also speaks " + legacyVersion + ": over HTTP this client does not speak " + modernVersion + " yet."
	}
	return `Set "versionNegotiation": "auto" for this server.`
}

// handshake sees the server's own answer to initialize and gives the SDK a plain one: what is odd in it must not
// cost the session, and the SDK uses nothing of it but the version.
func (s *Session) handshake(result json.RawMessage) json.RawMessage {
	d := parseInitialize(result)
	s.answered.Store(d)
	version := legacyVersion
	if !slices.Contains(legacyVersions, d.ProtocolVersion) {
		version = d.ProtocolVersion
	} else if s.link != nil {
		s.link.version.Store(d.ProtocolVersion) // what follows names it already, notifications/initialized first
	}
	return object(field("protocolVersion", version), []byte(`"capabilities":{}`),
		field("serverInfo", map[string]string{"name": d.Info.Name, "version": d.Info.Version}))
}

func (s *Session) sdkCapabilities() *mcp.ClientCapabilities {
	c := new(mcp.ClientCapabilities)
	c.AddExtension(appsExtension, map[string]any{"mimeTypes": []string{appsMIMEType}})
	if s.opts.Handler.Elicit != nil {
		c.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		if s.opts.Handler.ElicitURL {
			c.Elicitation.URL = &mcp.URLElicitationCapabilities{}
		}
	}
	if s.opts.Handler.Sample != nil {
		c.Sampling = &mcp.SamplingCapabilities{}
	}
	if s.opts.Handler.Roots != nil {
		c.RootsV2 = &mcp.RootCapabilities{}
	}
	return c
}

// setLogLevel asks a legacy server for its log when somebody listens and it has one (LOG-03).
func (s *Session) setLogLevel(ctx context.Context) {
	if s.opts.OnLog == nil || !s.server.declares("logging") {
		return
	}
	_, err := s.conn.Do(ctx, wire.Request{
		ID: s.conn.NextID(), Method: "logging/setLevel", Params: json.RawMessage(`{"level":"info"}`), Total: listClock,
	})
	if err != nil {
		s.warn("the server did not accept a log level: " + err.Error())
	}
}

// openModern makes the session a modern one. There is no handshake: the first request that goes out is a
// caller's, unless the probe did not bring the server's description along.
func (s *Session) openModern(ctx context.Context, d *discovery) error {
	s.era, s.version = Modern, modernVersion
	s.conn.Silence()
	if d == nil {
		result, err := s.conn.Do(ctx, wire.Request{ID: s.conn.NextID(), Method: "server/discover", Params: s.params(nil, nil, "")})
		if err != nil {
			return s.discoverError(ctx, err)
		}
		if d, err = parseDiscovery(readable(result)); err != nil {
			return s.translate(ctx, PhaseHandshake, fmt.Errorf("server/discover: %w: %w", wire.ErrMalformed, err))
		}
		if v := judgeVersions(d.SupportedVersions); v.kind != VerdictModern {
			return s.incompatible(PhaseHandshake, v)
		}
	}
	s.server = d
	return nil
}

func (s *Session) discoverError(ctx context.Context, err error) *Error {
	e := s.translate(ctx, PhaseHandshake, err)
	if e.RPC == nil {
		return e
	}
	switch e.RPC.Code {
	case codeUnsupportedVersion:
		supported, _ := supportedVersions(e.RPC.Data)
		refused := s.incompatible(PhaseHandshake, verdict{supported: supported})
		refused.RPC = e.RPC
		return refused
	case codeMissingCapability, codeHeaderMismatch:
		e.Code = CodeIncompat
	}
	return e
}
