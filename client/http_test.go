package client_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// webServer is a legacy Streamable HTTP server whose answers to other than the handshake the test writes. notify is the
// status with which notifications are accepted.
func webServer(t *testing.T, notify int, answer func(http.ResponseWriter, *http.Request, message)) config.Server {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Errorf("the server received no message: %v", err)
		}
		switch {
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case len(m.ID) == 0:
			w.WriteHeader(notify)
		default:
			answer(w, r, m)
		}
	}))
	t.Cleanup(ts.Close)
	return config.Server{Name: "web", Type: "http", URL: ts.URL + "/"}
}

// TestAnswersOverHTTP is HTTP-04 and HTTP-07: a JSON body or a stream, by the content type however it is written, and
// every way of accepting a notification.
func TestAnswersOverHTTP(t *testing.T) {
	for _, c := range []struct {
		contentType string
		notify      int
		format      string
	}{
		{"application/json", 202, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`},
		{"Application/JSON; charset=utf-8", 200, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`},
		{"text/event-stream", 204, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n"},
		{"Text/Event-Stream;charset=UTF-8", 202, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n"},
	} {
		t.Run(c.contentType, func(t *testing.T) {
			s := dial(t, webServer(t, c.notify, func(w http.ResponseWriter, _ *http.Request, m message) {
				w.Header().Set("Content-Type", c.contentType)
				_, _ = fmt.Fprintf(w, c.format, m.ID)
			}), client.Options{})
			must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
		})
	}
}

// TestStreamThatGoesOnAfterTheAnswer is HTTP-09: the answer ends the call, whatever the server does with its stream.
func TestStreamThatGoesOnAfterTheAnswer(t *testing.T) {
	left := make(chan struct{})
	s := dial(t, webServer(t, 202, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	}), client.Options{})
	must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
	<-left // and the exchange is given back
}

// TestStreamThatBreaks is HTTP-12 for a session that cannot resume: the outcome of the call is unknown, it is not sent
// again, and the next one goes through.
func TestStreamThatBreaks(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	s := dial(t, webServer(t, 202, func(w http.ResponseWriter, _ *http.Request, m message) {
		mu.Lock()
		ids = append(ids, string(m.ID))
		first := len(ids) == 1
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		if first {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
	}), client.Options{})
	_, err := s.Call(t.Context(), "t", nil, client.CallOptions{Total: 20 * time.Second})
	wantError(t, err, client.PhaseCall, client.CodeUnknown)
	must(s.Call(t.Context(), "t", nil, client.CallOptions{}))
	mu.Lock()
	defer mu.Unlock()
	if len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("the server received the ids %v", ids)
	}
}

// TestCompressedStream is HTTP-22: a compressed stream is read as it comes.
func TestCompressedStream(t *testing.T) {
	release := make(chan struct{})
	s := dial(t, webServer(t, 202, func(w http.ResponseWriter, r *http.Request, m message) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("no compression is accepted")
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/event-stream")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(z, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", m.ID)
		_ = z.Flush()
		_ = http.NewResponseController(w).Flush()
		<-release // only when the report has arrived
		_, _ = fmt.Fprintf(z, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		_ = z.Close()
	}), client.Options{})
	must(s.Call(t.Context(), "t", nil, client.CallOptions{OnProgress: func(client.Progress) { close(release) }}))
}

// TestTheURLIsUsedAsWritten is HTTP-21.
func TestTheURLIsUsedAsWritten(t *testing.T) {
	h := ushertest.NewHTTP(t)
	spec := h.Server()
	spec.URL = strings.TrimSuffix(spec.URL, "/mcp") + "/a%20b/mcp/?k=v&k=w%2F"
	use(t, dial(t, spec, client.Options{}))
	for _, r := range h.Log(t) {
		if r.HTTP != "" && !strings.HasSuffix(r.HTTP, " /a%20b/mcp/?k=v&k=w%2F") {
			t.Errorf("the server received %s", r.HTTP)
		}
	}
}

// TestLegacyOverHTTPIsNotModern is NEG-34 for what is never sent to a remote server, and HTTP-01 to HTTP-03: a message a
// request, of one type, for answers of two.
func TestLegacyOverHTTPIsNotModern(t *testing.T) {
	var mu sync.Mutex
	var bodies []string
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(body, &m)
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			bodies = append(bodies, string(body))
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Mcp-Param-") {
				t.Errorf("%s was sent", name)
			}
		}
		if accept := r.Header.Get("Accept"); r.Method == http.MethodPost && (!strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream")) {
			t.Errorf("Accept: %s (HTTP-02)", accept)
		}
		if contentType := r.Header.Get("Content-Type"); r.Method == http.MethodPost && contentType != "application/json" {
			t.Errorf("Content-Type: %s (HTTP-03)", contentType)
		}
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}],"content":[]}}`, m.ID)
		}
	}))
	t.Cleanup(ts.Close)
	s := dial(t, config.Server{Name: "web", Type: "http", URL: ts.URL}, client.Options{})
	must(s.Tools(t.Context()))
	must(s.Call(t.Context(), "t", json.RawMessage(`{"a":"b"}`), client.CallOptions{}))
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 4 || slices.ContainsFunc(bodies, func(b string) bool {
		return strings.Contains(b, "io.modelcontextprotocol/protocolVersion") || b[0] != '{'
	}) {
		t.Errorf("the server received %q", bodies)
	}
}
