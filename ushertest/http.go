package ushertest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
)

const (
	codeHeader   = -32020 // modern: a header disagrees with the body
	bodyLimit    = 64 << 20
	backlogLimit = 64 // unsolicited messages kept for a client that has no stream open

	sessionHeader = "Mcp-Session-Id"
	eventStream   = "text/event-stream"
)

// handler serves Streamable HTTP at any path: sessions for legacy clients, single requests for modern ones.
type handler struct {
	srv *server

	mu       sync.Mutex
	sessions map[string]*session
}

// session is one legacy client.
type session struct {
	*peer
	requests int

	mu      sync.Mutex
	stream  *reply // the open GET, or nil
	backlog [][]byte
}

func newHandler(srv *server) *handler { return &handler{srv: srv, sessions: map[string]*session{}} }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := Record{HTTP: r.Method + " " + r.URL.RequestURI(), Header: r.Header}
	if h.srv.opts.redirect != "" {
		rec.Event = "request"
		h.srv.log.add(rec)
		w.Header().Set("Location", h.srv.opts.redirect)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	if r.Method == http.MethodPost {
		h.post(w, r, rec)
		return
	}
	rec.Event = "request"
	h.srv.log.add(rec)
	id := r.Header.Get(sessionHeader)
	s := h.session(id)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodDelete, id == "":
		if id == "" {
			h.srv.violation("%s without a session (HTTP-15)", r.Method)
		}
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		h.mu.Lock()
		delete(h.sessions, id)
		h.mu.Unlock()
		s.drop()
		w.WriteHeader(http.StatusNoContent)
	default:
		s.serveStream(w, r)
	}
}

// session finds a session and counts the request against its life.
func (h *handler) session(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil {
		return nil
	}
	s.requests++
	if limit := h.srv.opts.forgetSessionAfter; limit > 0 && s.requests > limit {
		delete(h.sessions, id)
		go s.drop()
		return nil
	}
	return s
}

func (h *handler) post(w http.ResponseWriter, r *http.Request, rec Record) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	h.srv.log.frame("received", body, rec)
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if !strings.Contains(accept, "application/json") || !strings.Contains(accept, eventStream) {
		h.srv.violation("Accept %q does not list both types (HTTP-02)", accept)
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	var m message
	var p params
	if json.Unmarshal(body, &m) == nil && len(m.Params) > 0 {
		_ = json.Unmarshal(m.Params, &p) // the peer complains about it
	}
	_, modern := p.Meta[metaVersion]
	id := r.Header.Get(sessionHeader)
	switch {
	case m.Method == "initialize" && len(h.srv.versions(true, false)) > 0:
		s := &session{}
		s.peer = h.srv.newPeer(s.push)
		id = rand.Text()
		h.mu.Lock()
		h.sessions[id] = s
		h.mu.Unlock()
		w.Header().Set(sessionHeader, id)
		h.exchange(w, r, s.peer, body, m, false)
	case id != "" && !modern:
		s := h.session(id)
		if s == nil {
			h.refuse(w, http.StatusNotFound, m, codeInvalidRequest, "no such session")
			return
		}
		h.exchange(w, r, s.peer, body, m, false)
	case len(h.srv.versions(false, true)) == 0:
		if m.Method == "server/discover" {
			h.refuse(w, http.StatusBadRequest, m, codeNoMethod, "method not found")
			return
		}
		h.refuse(w, http.StatusBadRequest, m, codeInvalidRequest, "the session id is missing")
	default:
		if id != "" {
			h.srv.violation("a session id on a modern request (HTTP-14)")
		}
		if why := mismatch(r.Header, m, p); why != "" && modern {
			h.srv.violation("%s (HDR rows)", why)
			h.refuse(w, http.StatusBadRequest, m, codeHeader, why)
			return
		}
		one := h.srv.newPeer(func([]byte) {})
		defer one.drop()
		h.exchange(w, r, one, body, m, true)
	}
}

// mismatch tells which mirrored header disagrees with the body.
func mismatch(header http.Header, m message, p params) string {
	name := ""
	switch m.Method {
	case "tools/call", "prompts/get":
		name = p.Name
	case "resources/read":
		name = p.URI
	}
	for _, want := range []struct{ header, value string }{
		{"Mcp-Protocol-Version", p.meta(metaVersion)}, {"Mcp-Method", m.Method}, {"Mcp-Name", name},
	} {
		got := header.Get(want.header)
		if coded, ok := strings.CutPrefix(got, "=?base64?"); ok {
			if text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?=")); err == nil {
				got = string(text)
			}
		}
		if got != want.value {
			return fmt.Sprintf("header %s is %q, the body says %q", want.header, got, want.value)
		}
	}
	return ""
}

func (h *handler) refuse(w http.ResponseWriter, status int, m message, code int64, text string) {
	frame := errorResponse(m.ID, code, text, nil)
	h.srv.log.frame("sent", frame, Record{})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(frame) // a client that is gone needs no answer
}

// exchange serves one posted message on p.
func (h *handler) exchange(w http.ResponseWriter, r *http.Request, p *peer, body []byte, m message, modern bool) {
	// Leaving cancels a modern request; a legacy one goes on (LEG-26).
	ctx, cancel := context.WithCancel(h.srv.life)
	defer cancel()
	gone := r.Context().Done()
	out := newReply(w, h.srv, modern)
	done := make(chan struct{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		p.receive(ctx, body, out.send, func() { close(done) })
	}()
	select {
	case <-done:
	case <-gone:
		out.close()
		if modern {
			cancel()
		}
	case <-out.cut:
		out.close()
		if modern {
			cancel()
			<-done
		}
		panic(http.ErrAbortHandler) // the way to break a connection off
	}
	if !modern && r.Context().Err() != nil {
		<-done
	}
	<-served
	<-done
	if !out.close() {
		switch {
		case m.Method == "" || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case r.Context().Err() == nil:
			panic(http.ErrAbortHandler) // a request without an answer, as after --exit-on
		}
	}
}

// push sends an unsolicited message to the client's open stream, or keeps it.
func (s *session) push(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil {
		s.stream.send(frame)
		return
	}
	if len(s.backlog) < backlogLimit {
		s.backlog = append(s.backlog, frame)
	}
}

// serveStream serves the GET of a legacy session.
func (s *session) serveStream(w http.ResponseWriter, r *http.Request) {
	out := newReply(w, s.srv, false)
	s.mu.Lock()
	if s.stream != nil {
		s.mu.Unlock()
		w.WriteHeader(http.StatusConflict)
		return
	}
	out.open()
	s.stream = out
	for _, frame := range s.backlog {
		out.send(frame)
	}
	s.backlog = nil
	s.mu.Unlock()
	cut := false
	select {
	case <-r.Context().Done():
	case <-s.srv.life.Done():
	case <-out.cut:
		cut = true
	}
	s.mu.Lock()
	s.stream = nil
	s.mu.Unlock()
	out.close()
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// reply is the body of one HTTP response: one JSON object if the answer is the first thing to be sent, else an event stream.
type reply struct {
	w      http.ResponseWriter
	srv    *server
	modern bool
	cut    chan struct{} // closed when --drop-stream-after is over

	mu     sync.Mutex
	begun  bool
	events bool
	closed bool
	timer  *time.Timer
}

func newReply(w http.ResponseWriter, srv *server, modern bool) *reply {
	return &reply{w: w, srv: srv, modern: modern, cut: make(chan struct{})}
}

// open begins the event stream.
func (o *reply) open() {
	o.begun, o.events = true, true
	o.w.Header().Set("Content-Type", eventStream)
	o.w.Header().Set("Cache-Control", "no-store")
	o.w.WriteHeader(http.StatusOK)
	o.flush()
	if d := o.srv.opts.dropStreamAfter; d > 0 {
		o.timer = time.AfterFunc(d, func() { close(o.cut) })
	}
}

func (o *reply) flush() { _ = http.NewResponseController(o.w).Flush() } // fails when the client is gone

func (o *reply) send(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.srv.log.frame("sent", frame, Record{})
	var m struct {
		Method string `json:"method"`
		Error  struct {
			Code int64 `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(frame, &m) // --raw may be anything
	if !o.begun && m.Method == "" {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/json")
		o.w.WriteHeader(o.status(m.Error.Code))
		_, _ = o.w.Write(frame)
		return
	}
	if !o.begun {
		o.open()
	}
	for line := range strings.SplitSeq(string(frame), "\n") {
		_, _ = io.WriteString(o.w, "data: "+line+"\n")
	}
	_, _ = io.WriteString(o.w, "\n")
	o.flush()
}

// status is the HTTP status that goes with a JSON-RPC error.
func (o *reply) status(code int64) int {
	switch {
	case !o.modern:
		return http.StatusOK
	case code == codeNoMethod:
		return http.StatusNotFound
	case code == codeVersion, code == codeCapability, code == codeHeader, code == codeParse, code == codeInvalidRequest, code == codeInvalidParams:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// close ends the reply and reports whether anything was sent. Nothing is written after it.
func (o *reply) close() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
	return o.begun
}

// HTTP is an fx that serves Streamable HTTP in this process.
type HTTP struct {
	// URL is the endpoint.
	URL string
	log string
}

// NewHTTP starts an fx with these flags on a loopback port. It ends with the test. Flags about processes, signals and
// stdio are refused; --exit-on breaks the connection and closes the port.
func NewHTTP(t testing.TB, flags ...string) *HTTP {
	t.Helper()
	opts, err := parseFlags(flags)
	if err == nil && (opts.needsProcess() || opts.http != "" || opts.noiseStdout || opts.banner != "") {
		err = errors.New("a flag needs a process of its own")
	}
	if err != nil {
		t.Fatalf("fx: %v", err)
	}
	if opts.log == "" {
		opts.log = filepath.Join(t.TempDir(), "fx.log")
	}
	rec, err := openRecorder(opts.log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ts *httptest.Server
	var stop sync.Once
	srv := newServer(ctx, opts, rec, func(int) { stop.Do(func() { _ = ts.Listener.Close() }) })
	ts = httptest.NewUnstartedServer(newHandler(srv))
	ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ts.Start()
	rec.add(Record{Event: "listen", Text: ts.URL})
	t.Cleanup(func() {
		cancel()
		ts.CloseClientConnections()
		ts.Close()
		srv.dropAll()
		rec.close()
	})
	return &HTTP{URL: ts.URL + "/mcp", log: opts.log}
}

// Server gives the configuration entry that reaches h.
func (h *HTTP) Server() config.Server {
	return config.Server{Name: "fx", Type: "http", URL: h.URL}
}

// Log reads what the server has logged so far.
func (h *HTTP) Log(t testing.TB) Log {
	t.Helper()
	l, err := ReadLogFile(h.log)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveHTTP serves until stdin ends or a flag says to leave. The address must be a loopback one: fx guards nothing.
func serveHTTP(ctx context.Context, opts *options, rec *recorder, stdin io.Reader, stderr io.Writer) int {
	host, _, err := net.SplitHostPort(opts.http)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		_, _ = fmt.Fprintf(stderr, "fx: --http %s: want a loopback address and a port, such as 127.0.0.1:0\n", opts.http)
		return 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", opts.http)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fx:", err)
		return 1
	}
	quit := make(chan int, 1)
	srv := newServer(ctx, opts, rec, func(status int) {
		select {
		case quit <- status:
		default:
		}
	})
	hs := &http.Server{Handler: newHandler(srv), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = hs.Serve(listener) // ends with Close below
	}()
	url := "http://" + listener.Addr().String() + "/mcp"
	rec.add(Record{Event: "listen", Text: url})
	_, _ = fmt.Fprintln(stderr, "fx listens on", url)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stdin)
	}()
	status := 0
	select {
	case status = <-quit:
	case <-ctx.Done():
	case <-ended:
		rec.add(Record{Event: "eof"})
		if opts.ignoreEOF {
			status = <-quit
		}
	}
	cancel()
	_ = hs.Close()
	<-served
	return status
}
