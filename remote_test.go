package usher_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// forgetful stands before a server and answers 404 for the sessions it has been told to forget.
type forgetful struct {
	next http.Handler

	mu sync.Mutex
	// missing posts of forgotten sessions are waited for before any of them is answered; met is closed then.
	missing   int
	met       chan struct{}
	known     map[string]bool
	forgotten map[string]bool
}

func newForgetful(t *testing.T, server *ushertest.HTTP) (*forgetful, config.Server) {
	t.Helper()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = target, target.Host },
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f := &forgetful{next: proxy, known: map[string]bool{}, forgotten: map[string]bool{}}
	ts := httptest.NewServer(f)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return f, config.Server{Name: "fx", Type: config.TypeHTTP, URL: ts.URL}
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	f.mu.Lock()
	if id != "" {
		f.known[id] = true
	}
	gone, met := f.forgotten[id], f.met
	if gone && r.Method == http.MethodPost {
		if f.missing--; f.missing == 0 {
			close(f.met)
		}
	}
	f.mu.Unlock()
	if !gone {
		f.next.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost {
		select {
		case <-met:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// forget ends every session so far. The next posts of them, so many, are answered together.
func (f *forgetful) forget(posts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.known {
		f.forgotten[id] = true
	}
	f.missing, f.met = posts, make(chan struct{})
}

func handshakes(t *testing.T, log ushertest.Log) int {
	t.Helper()
	all := log.Received("initialize")
	for _, r := range all {
		if id := r.Header["Mcp-Session-Id"]; len(id) != 0 {
			t.Errorf("initialize was sent with the session %q", id)
		}
	}
	return len(all)
}

// TestARemoteServerThatForgetsTheSession is LEG-20: a new handshake and a new list, one for all calls that noticed, and
// each call is carried out once.
func TestARemoteServerThatForgetsTheSession(t *testing.T) {
	for _, calls := range []int{1, 2} {
		t.Run(fmt.Sprint(calls, " calls"), func(t *testing.T) {
			server := ushertest.NewHTTP(t)
			f, spec := newForgetful(t, server)
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			if err := h.Wait(within(t), "fx"); err != nil {
				t.Fatal(err)
			}
			f.forget(calls)
			errs := make(chan error, calls)
			for i := range calls {
				go func() {
					text := fmt.Sprintf("call %d", i)
					res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"` + text + `"}`)})
					if err == nil && res.Content[0].Text != text {
						err = fmt.Errorf("got %q, want %q", res.Content[0].Text, text)
					}
					errs <- err
				}()
			}
			for range calls {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			log := server.Log(t)
			if got := handshakes(t, log); got != 2 {
				t.Errorf("%d handshakes, want the first and one more", got)
			}
			if got := len(log.Received("tools/list")); got != 2 {
				t.Errorf("the tools were listed %d times", got)
			}
			if got := len(log.Received("tools/call")); got != calls {
				t.Errorf("the server carried out %d calls, want %d", got, calls)
			}
		})
	}
}

// TestACallUnderWayIsNotRepeatedForAnothersSake: one call runs when another learns that the session is forgotten.
func TestACallUnderWayIsNotRepeatedForAnothersSake(t *testing.T) {
	server := ushertest.NewHTTP(t)
	f, spec := newForgetful(t, server)
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if err := h.Wait(within(t), "fx"); err != nil {
		t.Fatal(err)
	}
	running, slow := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := h.Call(within(t), usher.Call{
			Server: "fx", Tool: "slow", Arguments: []byte(`{"ms":60000,"steps":6000}`),
			OnProgress: func(client.Progress) { once.Do(func() { close(running) }) },
		})
		slow <- err
	}()
	<-running
	f.forget(1)
	if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"x"}`)}); err != nil {
		t.Error(err)
	}
	if err := <-slow; codeOf(err) != client.CodeUnknown {
		t.Errorf("the call that ran: %v, want an unknown outcome", err)
	}
	runs := 0
	for _, r := range server.Log(t).Received("tools/call") {
		if strings.Contains(r.Text, `"slow"`) {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("the server got the running call %d times", runs)
	}
}

// TestHeadersStayAtTheirServer sends a canary with every request to its server, and none after a redirect away.
func TestHeadersStayAtTheirServer(t *testing.T) {
	const canary = "canary-7f3a"
	headers := map[string]config.Secret{"Authorization": config.Secret("Bearer " + canary)}

	server := ushertest.NewHTTP(t)
	spec := server.Server()
	spec.Headers = headers
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if _, err := h.Call(within(t), usher.Call{Server: spec.Name, Tool: "echo", Arguments: []byte(`{"message":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, r := range server.Log(t) {
		if r.HTTP != "" && strings.Join(r.Header["Authorization"], "") != "Bearer "+canary {
			t.Errorf("%s without the configured header", r.HTTP)
		}
	}

	elsewhere := ushertest.NewHTTP(t)
	away := ushertest.NewHTTP(t, "--redirect", elsewhere.URL).Server()
	away.Name, away.Headers = "away", headers
	h = open(t, usher.Options{Servers: []config.Server{away}})
	err := h.Wait(within(t), "away")
	if err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(fmt.Sprintf("%v %+v", err, h.Servers()), canary) {
		t.Errorf("Wait = %v", err)
	}
	for _, r := range elsewhere.Log(t) {
		if r.HTTP != "" {
			t.Errorf("the other origin got %s", r.HTTP)
		}
	}
}
