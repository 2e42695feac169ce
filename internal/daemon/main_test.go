package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/daemon"
	"github.com/usher-mcp/usher/internal/sse"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/ushertest"
)

// patience bounds every wait of a test; it is reached only when the test has failed already.
const patience = 60 * time.Second

const token = "a-token-of-more-than-26-characters"

func TestMain(m *testing.M) {
	ushertest.Main()
	goleak.VerifyTestMain(m)
}

// fixture is a running daemon with a real host, a real store and real sockets.
type fixture struct {
	t      *testing.T
	dir    string
	url    string
	port   int
	host   *usher.Host
	server *daemon.Server
	stop   func()
	client *http.Client
}

type setup struct {
	dir     string // a new one if empty
	addr    string // 127.0.0.1:0 if empty
	servers []config.Server
	daemon  daemon.Options
	calls   int
}

func fx(t *testing.T, name string, flags ...string) config.Server {
	t.Helper()
	s := ushertest.Command(t, flags...)
	s.Name = name
	return s
}

// start runs a daemon until the test ends, or until its stop is called.
func start(t *testing.T, o setup) *fixture {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	if o.addr == "" {
		o.addr = "127.0.0.1:0"
	}
	listeners, err := daemon.Listen(t.Context(), o.addr, false)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), o.dir)
	if err != nil {
		t.Fatal(err)
	}
	desk := conversation.NewDesk()
	h, err := usher.Open(t.Context(), usher.Options{Servers: o.servers, Ask: desk.Ask})
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := conversation.Open(t.Context(), conversation.Options{Store: store, Host: h, Desk: desk, CallsPerSession: o.calls})
	if err != nil {
		t.Fatal(err)
	}
	o.daemon.Sessions, o.daemon.Host, o.daemon.Listeners, o.daemon.Token = sessions, h, listeners, token
	o.daemon.Version = "1.2.3"
	if o.daemon.Web == nil {
		o.daemon.Web = fstest.MapFS{
			"index.html":           {Data: []byte("<!doctype html><title>Usher</title>")},
			"assets/main-abc12.js": {Data: []byte("console.log(1)")},
			"icon.svg":             {Data: []byte("<svg/>")},
		}
	}
	server, err := daemon.New(o.daemon)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	f := &fixture{
		t: t, dir: o.dir, url: listeners.URL(), port: listeners.Port(), host: h, server: server,
		client: &http.Client{Transport: &http.Transport{}},
	}
	stopped := false
	f.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		closing, done := context.WithTimeout(context.Background(), patience)
		defer done()
		if err := errors.Join(<-served, sessions.Close(closing), h.Close(closing), store.Close()); err != nil {
			t.Error(err)
		}
		f.client.CloseIdleConnections()
	}
	t.Cleanup(f.stop)
	return f
}

// request makes a request with the bearer token.
func (f *fixture) request(method, path string, body any) *http.Request {
	f.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			f.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, reader)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
}

func (f *fixture) send(r *http.Request) answer {
	f.t.Helper()
	response, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{response, body}
}

// problem is the error that an answer tells.
func (a answer) problem() api.Error {
	var p api.Problem
	_ = json.Unmarshal(a.body, &p) // what is none has no code
	return p.Error
}

// do sends a request and reads the answer, which must have the status.
func do[T any](f *fixture, status int, method, path string, body any) (out T) {
	f.t.Helper()
	a := f.send(f.request(method, path, body))
	if a.StatusCode != status {
		f.t.Fatalf("%s %s: %s, want %d\n%s", method, path, a.Status, status, a.body)
	}
	if len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &out); err != nil {
			f.t.Fatalf("%s %s: %v\n%s", method, path, err, a.body)
		}
	}
	return out
}

type none struct{}

func (f *fixture) create() string {
	f.t.Helper()
	return do[api.Session](f, 201, "POST", "/v1/sessions", nil).ID
}

func (f *fixture) call(session, tool, args string) string {
	f.t.Helper()
	return do[api.Accepted](f, 202, "POST", "/v1/sessions/"+session+"/calls",
		api.CallRequest{Server: "fx", Tool: tool, Arguments: json.RawMessage(args)}).CallID
}

// follow opens a session's stream and returns its reader.
func (f *fixture) follow(session, query, lastID string) *stream {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	r := f.request("GET", "/v1/sessions/"+session+"/events"+query, nil).WithContext(ctx)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	s := &stream{t: f.t, response: response, reader: sse.NewReader(response.Body, 0), cancel: cancel}
	f.t.Cleanup(s.close)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != sse.ContentType {
		f.t.Fatalf("GET events: %s, %s", response.Status, response.Header.Get("Content-Type"))
	}
	return s
}

type stream struct {
	t        *testing.T
	response *http.Response
	reader   *sse.Reader
	cancel   func()
}

func (s *stream) close() {
	s.cancel()
	_ = s.response.Body.Close() // it is read no further
}

// until reads events of the log up to the first of a type, hints left out.
func (s *stream) until(kind string) []api.Event {
	s.t.Helper()
	var log []api.Event
	for {
		message, err := s.reader.Next()
		if err != nil {
			s.t.Fatalf("waiting for %s after %d events: %v", kind, len(log), err)
		}
		var e api.Event
		if err := json.Unmarshal(message.Data, &e); err != nil {
			s.t.Fatalf("%s: %v", message.Data, err)
		}
		if e.ID == 0 && message.Type != kind {
			continue
		}
		if e.Type != message.Type && message.Type != "resync" {
			s.t.Errorf("a message of type %s holds an event of type %s", message.Type, e.Type)
		}
		log = append(log, e)
		if message.Type == kind {
			return log
		}
	}
}

func data[T any](t *testing.T, e api.Event) (v T) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &v); err != nil {
		t.Fatalf("%s: %v", e.Type, err)
	}
	return v
}

func (f *fixture) log(session string) []api.Event {
	f.t.Helper()
	return do[api.EventList](f, 200, "GET", "/v1/sessions/"+session+"/events?until=now", nil).Events
}
