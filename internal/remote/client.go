// Package remote makes the HTTP client through which a session with a remote MCP server speaks. It sits under
// the SDK's Streamable HTTP transport and keeps four promises that the transport does not: configured headers
// never leave the configured origin; every POST carries the headers that name its protocol version, method and
// subject; no answer is larger than a bound; and an answer that is not JSON-RPC fails its own request and not
// the session.
package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// MaxAnswer is the default bound of one answer: a JSON body, or one event of a stream. 64 MiB.
	MaxAnswer = 64 << 20
	// maxRedirects is how many redirects within the origin are followed.
	maxRedirects = 5
	// connectTime bounds dialling and the TLS handshake, 15 s each. There is no bound on a whole exchange:
	// calls and streams are long, and their own clocks end them.
	connectTime = 15 * time.Second
)

// Options describe one remote server.
type Options struct {
	// URL is the endpoint, http or https.
	URL string
	// Headers are sent with every request to the endpoint's origin, and to no other.
	Headers map[string]string
	// Version is the protocol version the session speaks: the negotiated one, or before that the one it asks
	// for. It is sent with every request (M13). Nil sends none.
	Version func() string
	// CAFile is a PEM file of authorities to trust besides the system's.
	CAFile string
	// Proxy is the proxy's URL. Empty follows HTTP_PROXY, HTTPS_PROXY and NO_PROXY; loopback is never proxied.
	Proxy string
	// MaxAnswer bounds one answer in bytes; 0 means [MaxAnswer].
	MaxAnswer int64
	// Logger receives what is dropped or repaired; nil discards.
	Logger *slog.Logger
}

// NewClient returns the client for one server. Its CloseIdleConnections ends what it keeps open.
// Errors name the option that cannot work; none of them shows a header's value or a password.
func NewClient(o Options) (*http.Client, error) {
	endpoint, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed")
	}
	if endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, fmt.Errorf("the URL must be http:// or https:// with a host, not %q", endpoint.Redacted())
	}
	base, err := newBase(o)
	if err != nil {
		return nil, err
	}
	t := &transport{
		base: base, origin: originOf(endpoint), version: o.Version, maxAnswer: o.MaxAnswer, log: o.Logger,
		headers: make(http.Header, len(o.Headers)),
	}
	if t.maxAnswer <= 0 {
		t.maxAnswer = MaxAnswer
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	for name, value := range o.Headers {
		if reserved(name) {
			return nil, fmt.Errorf("the header %q belongs to the protocol and cannot be configured", name)
		}
		t.headers.Set(name, value)
	}
	return &http.Client{Transport: t, CheckRedirect: t.checkRedirect}, nil
}

func newBase(o Options) (*http.Transport, error) {
	base := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library documents the type.
	base.TLSHandshakeTimeout = connectTime
	base.MaxIdleConnsPerHost = 16
	if o.Proxy != "" {
		proxy, err := url.Parse(o.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("the proxy's URL cannot be parsed")
		}
		base.Proxy = http.ProxyURL(proxy)
	}
	proxied := base.Proxy
	base.Proxy = func(r *http.Request) (*url.URL, error) {
		if loopback(r.URL.Hostname()) {
			return nil, nil
		}
		return proxied(r)
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("caFile: %s holds no certificate", o.CAFile)
		}
		base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return base, nil
}

// reserved are the headers that only the protocol may set (HDR-21).
func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "accept", "content-type", "content-length", "host", "last-event-id", "connection", "transfer-encoding":
		return true
	}
	return strings.HasPrefix(name, "mcp-")
}

func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// checkRedirect follows redirects within the origin only: a redirect carries the request's body, its session id
// and every header to wherever it points.
func (t *transport) checkRedirect(req *http.Request, via []*http.Request) error {
	if got := originOf(req.URL); got != t.origin {
		return &AnswerError{URL: via[0].URL.Redacted(), Reason: "it redirects to another origin, " + got}
	}
	if req.Method != via[0].Method {
		// 301, 302 and 303 turn a POST into a GET without its body.
		return &AnswerError{URL: via[0].URL.Redacted(), Reason: "it moved to " + req.URL.Redacted() + "; configure that URL"}
	}
	if len(via) > maxRedirects {
		return &AnswerError{URL: via[0].URL.Redacted(), Reason: fmt.Sprintf("it redirects more than %d times", maxRedirects)}
	}
	return nil
}

// AnswerError is an answer that is not JSON-RPC: an error page, a wrong content type, a redirect away. The
// request it answers fails; the session goes on.
type AnswerError struct {
	URL string
	// Status is the HTTP status; 0 when the answer was refused before it was read.
	Status int
	// Reason says what is wrong in a phrase.
	Reason string
	// Excerpt is the beginning of the body, at most 512 bytes of text.
	Excerpt string
}

func (e *AnswerError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.URL, e.Reason)
	}
	return fmt.Sprintf("%s answered %d %s: %s", e.URL, e.Status, http.StatusText(e.Status), e.Reason)
}
