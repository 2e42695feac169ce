package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// TestRemoteLegacySession is V2, M6 and M13: the handshake, and the headers on every request.
func TestRemoteLegacySession(t *testing.T) {
	h := ushertest.NewHTTP(t)
	spec := h.Server()
	spec.Headers = map[string]config.Secret{"Authorization": "Bearer s3cret"}
	s := dial(t, spec, client.Options{})
	use(t, s)
	if s.Era() != client.Legacy || s.ProtocolVersion() != "2025-11-25" || s.PID() != 0 {
		t.Errorf("%s %s %d", s.Era(), s.ProtocolVersion(), s.PID())
	}
	var progress []float64
	r, err := s.Call(t.Context(), "slow", json.RawMessage(`{"ms":50,"steps":5}`), client.CallOptions{OnProgress: func(p client.Progress) { progress = append(progress, p.Progress) }})
	if err != nil || r.IsError || len(progress) != 5 || !slices.IsSorted(progress) {
		t.Errorf("%+v, %v, progress %v", r, err, progress)
	}
	closeSession(t, s)

	log := h.Log(t)
	if methods := log.Methods(); methods[0] != "initialize" || slices.Contains(methods, "server/discover") {
		t.Errorf("methods %v", methods)
	}
	posts := 0
	for _, r := range log {
		if !strings.HasPrefix(r.HTTP, "POST") {
			continue
		}
		posts++
		header := http.Header(r.Header)
		if header.Get("Mcp-Method") != r.Method || header.Get("Mcp-Protocol-Version") != "2025-11-25" || header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s has the headers %v", r.Method, header)
		}
		if name := header.Get("Mcp-Name"); r.Method == "tools/call" && name == "" {
			t.Errorf("%s has no Mcp-Name", r.Method)
		}
	}
	if posts < 5 {
		t.Errorf("%d POSTs", posts)
	}
	if !slices.ContainsFunc(log, func(r ushertest.Record) bool { return strings.HasPrefix(r.HTTP, "DELETE") }) {
		t.Error("the session was not given back (LEG-22)")
	}
	if v := log.Violations(); len(v) != 0 {
		t.Error(v)
	}
}

// TestRemoteCancellation is CAN-04: the notification is POSTed.
func TestRemoteCancellation(t *testing.T) {
	h := ushertest.NewHTTP(t)
	s := dial(t, h.Server(), client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Call(ctx, "slow", json.RawMessage(`{"ms":60000,"steps":6000}`), client.CallOptions{OnProgress: func(client.Progress) { cancel() }})
	wantError(t, err, client.PhaseCall, client.CodeCancelled)
	closeSession(t, s) // waits for what is queued
	if got := h.Log(t).Received("notifications/cancelled"); len(got) != 1 {
		t.Errorf("%d cancellations", len(got))
	}
}

func TestRemoteListChanged(t *testing.T) {
	h := ushertest.NewHTTP(t, "--list-changed-after", "50ms")
	changed := make(chan string, 10)
	dial(t, h.Server(), client.Options{OnListChanged: func(kind string) { changed <- kind }})
	if kind := <-changed; kind != "tools" {
		t.Errorf("kind %q", kind)
	}
}

func TestRemoteQuestions(t *testing.T) {
	var a answering
	s := dial(t, ushertest.NewHTTP(t, "--elicit").Server(), client.Options{Handler: a.handler()})
	r, err := s.Call(t.Context(), "ask", nil, client.CallOptions{})
	if err != nil || r.IsError || len(a.asked) == 0 || !a.asked[0].Attributed {
		t.Errorf("%+v, %v, asked %+v", r, err, a.asked)
	}
}

func TestRemoteManyCallsAtOnce(t *testing.T) {
	s := dial(t, ushertest.NewHTTP(t).Server(), client.Options{})
	errs := make(chan error, 50)
	for i := range 50 {
		go func() {
			r, err := s.Call(t.Context(), "echo", json.RawMessage(fmt.Sprintf(`{"message":"m%d"}`, i)), client.CallOptions{})
			if err == nil && !strings.Contains(r.Content[0].Text, fmt.Sprintf("m%d", i)) {
				err = errors.New("the answer of another call")
			}
			errs <- err
		}()
	}
	for range 50 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestRemoteForgottenSession(t *testing.T) {
	h := ushertest.NewHTTP(t, "--forget-session-after", "3")
	s := dial(t, h.Server(), client.Options{})
	var err error
	for range 5 {
		if _, err = s.Tools(t.Context()); err != nil {
			break
		}
	}
	if e := wantError(t, err, client.PhaseList, client.CodeUnavailable); !strings.Contains(e.Message, "session") {
		t.Errorf("message %q", e.Message)
	}
	<-s.Done() // so that the host connects anew (LEG-20)
	if s.Err() == nil {
		t.Error("the session ended without a reason")
	}
}

// TestRemoteRefusals: what each kind of server that is none gets said about it.
func TestRemoteRefusals(t *testing.T) {
	serve := func(f http.HandlerFunc) config.Server {
		ts := httptest.NewServer(f)
		t.Cleanup(ts.Close)
		return config.Server{Name: "r", Type: "http", URL: ts.URL}
	}
	status := func(code int, body string) config.Server {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		})
	}
	const closed = "http://127.0.0.1:1"               // a port that was closed a moment ago could be the next server's
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	silent := config.Server{Name: "r", Type: "http", URL: "http://" + listener.Addr().String(), DiscoveryTimeout: 300 * time.Millisecond}
	for _, c := range []struct {
		name  string
		spec  config.Server
		phase client.Phase
		code  client.Code
	}{
		{"login", status(401, ""), client.PhaseAuth, client.CodeLogin},
		{"forbidden", status(403, "no"), client.PhaseAuth, client.CodeDenied},
		{"page", status(200, "<html>hello"), client.PhaseHandshake, client.CodeProtocol},
		{"not found", status(404, "nothing here"), client.PhaseHandshake, client.CodeProtocol},
		{"broken", status(500, "oops"), client.PhaseHandshake, client.CodeProtocol},
		{"nobody there", config.Server{Name: "r", Type: "http", URL: closed}, client.PhaseHandshake, client.CodeUnavailable},
		{"silent", silent, client.PhaseHandshake, client.CodeTimeout},
		{"auto", auto(config.Server{Name: "r", Type: "http", URL: closed}), client.PhaseConfig, client.CodeConfig},
		{"sse", config.Server{Name: "r", Type: "sse", URL: closed}, client.PhaseConfig, client.CodeUnsupported},
		{"no URL", config.Server{Name: "r", Type: "http", URL: "ftp://x"}, client.PhaseConfig, client.CodeConfig},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := client.Dial(t.Context(), c.spec, client.Options{})
			wantError(t, err, c.phase, c.code)
		})
	}
}

// TestRemoteAnswerThatIsNone: what would end the SDK's session costs the request it answers and no other.
func TestRemoteAnswerThatIsNone(t *testing.T) {
	for _, members := range []string{``, `,"result":{"content":[]},"error":{"code":1,"message":"m"}`, `,"error":"text"`, `,"error":null`} {
		for _, contentType := range []string{"application/json", "text/event-stream"} {
			t.Run(contentType+members, func(t *testing.T) {
				first := true
				s := dial(t, webServer(t, 202, func(w http.ResponseWriter, _ *http.Request, m message) {
					text := `{"jsonrpc":"2.0","id":` + string(m.ID) + members + `}`
					if !first {
						text = `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]}}`
					}
					if first = false; contentType == "text/event-stream" {
						text = "data: " + text + "\n\n"
					}
					w.Header().Set("Content-Type", contentType)
					_, _ = w.Write([]byte(text))
				}), client.Options{})
				_, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
				wantError(t, err, client.PhaseCall, client.CodeProtocol)
				must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
			})
		}
	}
}
