package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"time"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
	// goodStream is how long a stream must have lived for the pause to start small again. Servers that end
	// their streams on a timer do so after minutes; those that end them at once must not be asked in a loop.
	goodStream = 30 * time.Second
)

// Stream is the standing stream of a session, on which a server sends what belongs to no request (LEG-23). Its
// failures never touch the session: without it, list_changed and standalone requests are missed, and that is all.
type Stream struct {
	// Client is the session's client, URL its endpoint.
	Client *http.Client
	URL    string
	// Session is the session id that the server gave; empty without one.
	Session string
	// Deliver receives each message in order: one JSON object on one line, the receiver's to keep.
	Deliver func(json.RawMessage)
	// Logger may be nil.
	Logger *slog.Logger
}

// Listen keeps the stream open until ctx ends or the server says that it has none (405, or any other refusal
// that is not a passing one). It resumes after the last event id, honours the server's retry time, and waits
// between two attempts, from one second, doubled, to a minute.
func (s Stream) Listen(ctx context.Context) {
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	last, pause := "", firstPause
	for {
		began := time.Now()
		retry, err := s.read(ctx, &last, log)
		var refused *AnswerError
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &refused) && !passing(refused.Status):
			log.Debug("no standing stream", "status", refused.Status)
			return
		case time.Since(began) >= goodStream:
			pause = firstPause
		}
		wait := max(retry, pause/2+rand.N(pause)) //nolint:gosec // jitter needs no secrecy.
		pause = min(2*pause, maxPause)
		log.Debug("standing stream ended", "error", err, "again_in", wait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// passing are the refusals that may be over in a while: overload, a gateway's trouble, and the conflict with our
// own previous stream that the server has not noticed the end of yet.
func passing(status int) bool {
	switch status {
	case http.StatusConflict, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (s Stream) read(ctx context.Context, last *string, log *slog.Logger) (retry time.Duration, _ error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", eventStream)
	if s.Session != "" {
		req.Header.Set(sessionHeader, s.Session)
	}
	if *last != "" {
		req.Header.Set("Last-Event-Id", *last)
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || media != eventStream {
		return 0, &AnswerError{URL: req.URL.Redacted(), Status: resp.StatusCode, Reason: "it offers no stream"}
	}
	// The transport below has filtered the body already; what is left to do is to take it apart.
	events := newScanner(resp.Body, MaxAnswer, log)
	for {
		e, err := events.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return retry, err
		}
		if e.id != nil {
			*last = *e.id
		}
		if e.retry > 0 {
			retry = min(e.retry, maxPause)
		}
		if e.data != nil {
			s.Deliver(e.data)
		}
	}
}
