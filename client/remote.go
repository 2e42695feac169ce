package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/remote"
	"github.com/usher-mcp/usher/internal/wire"
)

// dialRemote opens a legacy session over Streamable HTTP (M6). There is no probe: a remote server never gets
// server/discover.
func (s *Session) dialRemote(ctx context.Context) error {
	if s.spec.VersionNegotiation == config.Auto {
		e := s.configError(`"versionNegotiation": "auto" works for servers with a command only`, nil)
		e.Hint = "Remove versionNegotiation from this server."
		return e
	}
	if t := s.spec.Type; t != "" && t != config.TypeHTTP {
		e := s.newError(PhaseConfig, CodeUnsupported, "servers of type "+t+" are not supported by this build")
		e.Hint = `Use "type": "http" if the server speaks Streamable HTTP.`
		return e
	}
	s.negotiation = Negotiation{Policy: string(config.Legacy), Reason: "remote servers are legacy"}
	l := &link{done: make(chan struct{})}
	l.version.Store(legacyVersion)
	httpClient, err := remote.NewClient(remote.Options{
		URL: s.spec.URL, Headers: revealed(s.spec.Headers), Version: func() string { v, _ := l.version.Load().(string); return v },
		CAFile: s.spec.CAFile, Proxy: s.spec.Proxy.Reveal(), Logger: s.logger,
	})
	if err != nil {
		return s.configError(err.Error(), err)
	}
	l.base = httpClient.Transport
	httpClient.Transport = l
	l.client = httpClient
	transport := &mcp.StreamableClientTransport{
		Endpoint: s.spec.URL, HTTPClient: httpClient, DisableStandaloneSSE: true, MaxEventSize: remote.MaxAnswer,
	}
	inner, err := transport.Connect(context.WithoutCancel(ctx)) // it opens nothing yet
	if err != nil {
		return s.configError(err.Error(), err)
	}
	l.bridge = wire.NewBridge(ctx, inner, l.fatal)
	s.proc, s.link = l, l
	s.open(ctx, l.bridge.Reader(), l.bridge.Writer())
	l.bridge.Bind(s.conn)
	if err := s.openLegacy(ctx); err != nil {
		s.abort(ctx)
		return err
	}
	s.start()
	stream := remote.Stream{
		Client: httpClient, URL: s.spec.URL, Session: inner.SessionID(), Logger: s.logger,
		Deliver: func(message json.RawMessage) { l.bridge.Deliver(message) },
	}
	s.goUnlessClosed(&s.wg, func() { stream.Listen(s.life) })
	return nil
}

func revealed(secrets map[string]config.Secret) map[string]string {
	out := make(map[string]string, len(secrets))
	for name, value := range secrets {
		out[name] = value.Reveal()
	}
	return out
}

// link stands in the place of a process for a remote session, and notes what its HTTP answers say.
type link struct {
	base    http.RoundTripper
	client  *http.Client
	bridge  *wire.Bridge
	version atomic.Value // string
	login   atomic.Bool  // the server wanted a login

	forgotten atomic.Bool // the server no longer knows the session

	once sync.Once
	done chan struct{}
	err  error
}

// RoundTrip implements [http.RoundTripper].
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.base.RoundTrip(r)
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusUnauthorized:
		l.login.Store(true)
	case resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "":
		l.forgotten.Store(true) // LEG-20
	}
	return resp, err
}

// fatal tells that a failure is the end of the session: the server has forgotten it, or wants a login.
func (l *link) fatal(error) bool { return l.forgotten.Load() || l.login.Load() }

// The methods of a Process that mean nothing to a remote server.

func (l *link) Stdin() io.WriteCloser  { return l.bridge.Writer() }
func (l *link) Stdout() io.ReadCloser  { return l.bridge.Reader() }
func (l *link) PID() int               { return 0 }
func (l *link) Stderr() (string, bool) { return "", false }
func (l *link) Done() <-chan struct{}  { return l.done }
func (l *link) ExitStatus() string     { return "" }

// Close tells the server and ends everything under way, in the time ctx leaves.
func (l *link) Close(ctx context.Context) error {
	l.once.Do(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.err = l.bridge.Close()
			l.client.CloseIdleConnections()
			close(l.done)
		}()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	})
	return nil // a server that does not take the goodbye is none of ours any more
}

// explainSend says what an undelivered request means.
func (s *Session) explainSend(e *Error, failed *wire.SendError) {
	e.Code, e.Message = CodeUnavailable, "the server cannot be reached: "+failed.Error()
	var (
		answer *remote.AnswerError
		dial   *net.OpError
	)
	switch {
	case s.link != nil && s.link.login.Load():
		e.Phase, e.Code, e.Message = PhaseAuth, CodeLogin, "the server wants a login"
		e.Hint = "Put the credentials it needs into headers."
	case s.link != nil && s.link.forgotten.Load():
		e.Message = "the server has forgotten the session"
		e.Hint = "Reconnect the server."
	case errors.As(failed, &answer) && answer.Status == http.StatusForbidden:
		e.Phase, e.Code, e.Message = PhaseAuth, CodeDenied, answer.Error()
		e.Hint = "The server refuses these credentials; see the headers of this server."
	case errors.As(failed, &answer):
		e.Message = answer.Error()
		e.Code = CodeProtocol
		if e.Phase == PhaseCall && answer.Status >= http.StatusInternalServerError {
			e.Code = CodeUnknown
			e.Message += "; the tool may have run"
		}
	case errors.As(failed, &dial) && dial.Op == "dial":
		e.Message = fmt.Sprintf("the server cannot be reached: %v", dial)
		e.Hint = "Check the URL, and that the server is running."
	case e.Phase == PhaseCall:
		e.Code = CodeUnknown
		e.Message = "the connection was lost before the server answered; the tool may have run"
	}
}
