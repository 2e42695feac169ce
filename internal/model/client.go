package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The defaults and bounds of a client.
const (
	DefaultIdle     = 5 * time.Minute
	DefaultAttempts = 4

	maxRetryAfter = time.Minute // a server that asks for more is not waited for
	firstBackoff  = 500 * time.Millisecond
	maxBackoff    = 8 * time.Second
	maxErrorBody  = 64 << 10
)

// Options are the options of a client. The zero value is useful.
type Options struct {
	// HTTPClient sends the requests; nil makes one of its own, which uses the proxies of the environment. Redirects
	// are not followed either way.
	HTTPClient *http.Client
	// Logger gets retries at level Warn; nil discards.
	Logger *slog.Logger
	// Idle is how long nothing may come from the server; 0 means [DefaultIdle].
	Idle time.Duration
	// Attempts bounds how often one step is sent; 0 means [DefaultAttempts].
	Attempts int
	// Wait waits between attempts; nil waits on a timer. It returns early with the error of ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client is a client of one model. It is safe for concurrent use.
type Client struct {
	config   Config
	endpoint string
	http     *http.Client
	log      *slog.Logger
	idle     time.Duration
	attempts int
	wait     func(context.Context, time.Duration) error
	now      func() time.Time

	// What the server was found not to know.
	noStreamOptions  atomic.Bool
	completionTokens atomic.Bool
}

// New returns a client. The error is an [*Error] of [KindConfig] when the configuration names no model or no
// address. Nothing is sent.
func New(c Config, o Options) (*Client, error) {
	client := &Client{
		config: c, endpoint: endpoint(c.BaseURL), http: o.HTTPClient, log: o.Logger,
		idle: cmp.Or(o.Idle, DefaultIdle), attempts: max(1, cmp.Or(o.Attempts, DefaultAttempts)), wait: o.Wait, now: time.Now,
	}
	u, err := url.Parse(client.endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, client.fail(KindConfig, 0, "the address is not one of the web", "Set model.baseUrl to something like http://127.0.0.1:11434/v1.")
	}
	if c.Name == "" {
		return nil, client.fail(KindConfig, 0, "no model is named", "Set model.name, USHER_MODEL_NAME or OPENAI_MODEL.")
	}
	if strings.ContainsAny(c.APIKey.Reveal(), "\r\n\x00") {
		return nil, client.fail(KindConfig, 0, "the key has a line end in it", "Set it again, on one line.")
	}
	if client.http == nil {
		client.http = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   15 * time.Second,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   8,
			ForceAttemptHTTP2:     true,
		}}
	}
	own := *client.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.http = &own
	if client.log == nil {
		client.log = slog.New(slog.DiscardHandler)
	}
	if client.wait == nil {
		client.wait = wait
	}
	return client, nil
}

// Config is the client's configuration.
func (c *Client) Config() Config { return c.config }

// Close gives back connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Stream sends one step and returns its answer. onDelta, if not nil, gets the answer's pieces in order, on the
// caller's goroutine. A failed request is sent again, with growing waits and as Retry-After says, as long as
// nothing of an answer was passed to onDelta. With an error, the response holds what had come. Errors are of type
// [*Error], or of ctx when it is done.
func (c *Client) Stream(ctx context.Context, r Request, onDelta func(Delta)) (Response, error) {
	if onDelta == nil {
		onDelta = func(Delta) {}
	}
	for attempt := 1; ; attempt++ {
		body, err := json.Marshal(c.wire(r))
		if err != nil {
			return Response{}, fmt.Errorf("model %s: writing the request: %w", c.config.Name, err)
		}
		a := &answer{client: c, onDelta: onDelta}
		err = c.once(ctx, body, a)
		response := a.response()
		if err == nil {
			return response, nil
		}
		if ctx.Err() != nil {
			return response, context.Cause(ctx)
		}
		var e *Error
		if !errors.As(err, &e) || a.delivered {
			return response, err
		}
		if c.adapt(e, r) {
			attempt--
			continue
		}
		if !e.retryable() || attempt >= c.attempts || e.RetryAfter > maxRetryAfter {
			if e.RetryAfter > maxRetryAfter {
				e.Hint = fmt.Sprintf("The server asks to wait %s.", e.RetryAfter.Round(time.Second))
			}
			return response, err
		}
		pause := backoff(attempt)
		if e.RetryAfter > 0 {
			pause = e.RetryAfter
		}
		c.log.LogAttrs(ctx, slog.LevelWarn, "model request is sent again",
			slog.String("model", c.config.Name), slog.Int("attempt", attempt), slog.Duration("wait", pause), slog.String("error", e.Error()))
		onDelta(Delta{Retry: &Retry{Attempt: attempt, Wait: pause, Err: e}})
		if err := c.wait(ctx, pause); err != nil {
			return response, err
		}
	}
}

// adapt changes how requests are written after a server refused a field that it does not know. It does so at most
// once for each field.
func (c *Client) adapt(e *Error, r Request) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	switch {
	case strings.Contains(e.Message, "stream_options") && !c.noStreamOptions.Load():
		c.noStreamOptions.Store(true)
		return true
	case strings.Contains(e.Message, "max_completion_tokens") && r.MaxTokens > 0 && !c.completionTokens.Load():
		c.completionTokens.Store(true)
		return true
	}
	return false
}

var errIdle = errors.New("nothing came for too long")

// once sends the request and reads the answer into a.
func (c *Client) once(ctx context.Context, body []byte, a *answer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	defer clock.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return c.network(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json;q=0.9")
	if key := c.config.APIKey.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.stalled(ctx, c.network(err))
	}
	defer func() { _ = resp.Body.Close() }() // read to where it matters
	stream := &watched{Reader: resp.Body, alive: func() { clock.Reset(c.idle) }}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(stream, maxErrorBody))
		if err != nil && len(text) == 0 && ctx.Err() != nil {
			return c.stalled(ctx, c.network(err))
		}
		return c.refusal(resp, text)
	}
	contentType := resp.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(contentType, "text/html"):
		text, _ := io.ReadAll(io.LimitReader(stream, maxErrorBody)) // a web page in any case
		return c.refusal(resp, text)
	case strings.HasPrefix(contentType, "application/json"):
		return c.stalled(ctx, a.readWhole(stream))
	}
	return c.stalled(ctx, a.readStream(stream))
}

// stalled says that it was our own clock, if it was, that ended a request.
func (c *Client) stalled(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errIdle) {
		return c.fail(KindTimeout, 0, fmt.Sprintf("nothing came for %s", c.idle), "The model's server may be overloaded; try again.")
	}
	return err
}

// watched tells when something is read.
type watched struct {
	io.Reader
	alive func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive()
	}
	return n, err
}

func refused(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) && dns.IsNotFound
}

// backoff is the wait after an attempt: twice the one before, with up to a quarter of it taken off by chance.
func backoff(attempt int) time.Duration {
	d := min(firstBackoff<<min(attempt-1, 10), maxBackoff)
	return d - rand.N(d/4+1) //nolint:gosec // spreading load is no secret
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter reads how long a server asks to wait: in milliseconds, in seconds, or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
