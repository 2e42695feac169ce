package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher/internal/remote"
)

func stream(t *testing.T, url, session string, deliver func(json.RawMessage)) remote.Stream {
	t.Helper()
	c, err := remote.NewClient(remote.Options{URL: url, Headers: map[string]string{"X-Api-Key": "k"}, Version: func() string { return "2025-11-25" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return remote.Stream{Client: c, URL: url, Session: session, Deliver: deliver}
}

// LEG-23, LEG-24: one GET, with the session's headers; a clean refusal is not asked again.
func TestAServerWithoutAStreamIsAskedOnce(t *testing.T) {
	for _, status := range []int{404, 405, 400, 200} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Method != http.MethodGet || r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("Accept") != "text/event-stream" ||
					r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" {
					t.Errorf("received %s %v", r.Method, r.Header)
				}
				w.WriteHeader(status)
			}))
			defer srv.Close()
			stream(t, srv.URL, "s1", func(json.RawMessage) { t.Error("a message out of nowhere") }).Listen(t.Context())
			if asked.Load() != 1 {
				t.Errorf("asked %d times, want once", asked.Load())
			}
		})
	}
}

func TestTheStreamResumesAfterItsLastEvent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var resumed []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.Header.Get("Last-Event-Id"))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: e%d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n%d\"}\n\n", len(resumed), len(resumed))
	}))
	defer srv.Close()
	var got []string
	stream(t, srv.URL, "", func(m json.RawMessage) {
		got = append(got, string(m))
		if len(got) == 2 {
			cancel()
		}
	}).Listen(ctx)
	if want := []string{"", "e1"}; fmt.Sprint(resumed) != fmt.Sprint(want) {
		t.Errorf("Last-Event-Id = %q, want %q", resumed, want)
	}
	if want := []string{`{"jsonrpc":"2.0","method":"n1"}`, `{"jsonrpc":"2.0","method":"n2"}`}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
}

func TestTheStreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
		close(gone)
	}))
	defer srv.Close()
	stream(t, srv.URL, "", func(json.RawMessage) {}).Listen(ctx)
	<-gone
}
