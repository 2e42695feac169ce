package ushertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// server is what all clients of one fx share: its flags, its log and what it offers.
type server struct {
	opts *options
	log  *recorder
	life context.Context  //nolint:containedctx // what no request owns ends with it
	quit func(status int) // ends the process, or the connection where there is none

	mu    sync.Mutex
	extra []string // tools added while running
	peers map[*peer]struct{}
}

func newServer(life context.Context, opts *options, log *recorder, quit func(int)) *server {
	return &server{opts: opts, log: log, life: life, quit: quit, peers: map[*peer]struct{}{}}
}

func (s *server) violation(format string, args ...any) {
	s.log.add(Record{Event: "violation", Text: fmt.Sprintf(format, args...)})
}

// versions returns the supported versions of an era, or of both, oldest first.
func (s *server) versions(legacy, modern bool) []string {
	all := s.opts.versions
	if all == nil {
		all = knownVersions()
	}
	var out []string
	for _, v := range all {
		isModern := v >= modernVersion
		if (isModern && modern && s.opts.era != "legacy") || (!isModern && legacy && s.opts.era != "modern") {
			out = append(out, v)
		}
	}
	return out
}

// sink takes one frame on its way to the client.
type sink func(frame []byte)

// peer is one client: of the process, of the pipe, or one HTTP session.
type peer struct {
	srv *server
	out sink // where messages go that answer no request
	wg  sync.WaitGroup

	mu          sync.Mutex
	version     string // the legacy version agreed on; empty before initialize
	initialized bool
	declared    map[string]json.RawMessage // the legacy client's capabilities
	logLevel    string
	ids         map[string]bool // every request id seen
	running     map[string]context.CancelFunc
	asked       map[string]chan message // our own requests
	nextAsk     int
	subscribed  map[string]bool // legacy resources/subscribe

	// listenMu is held while a subscription is acknowledged, so that nothing can be published to it before (SUB-03).
	listenMu sync.Mutex
	listens  map[string]*listen
}

// listen is one open subscriptions/listen.
type listen struct {
	id     json.RawMessage
	out    sink
	wanted params
}

func (s *server) newPeer(out sink) *peer {
	p := &peer{
		srv: s, out: out, ids: map[string]bool{}, running: map[string]context.CancelFunc{}, asked: map[string]chan message{},
		subscribed: map[string]bool{}, listens: map[string]*listen{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[p] = struct{}{}
	return p
}

// drop forgets the peer after its requests have ended.
func (p *peer) drop() {
	p.mu.Lock()
	for _, cancel := range p.running {
		cancel()
	}
	p.mu.Unlock()
	p.wg.Wait()
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	delete(p.srv.peers, p)
}

// dropAll drops every peer that is left.
func (s *server) dropAll() {
	s.mu.Lock()
	peers := make([]*peer, 0, len(s.peers))
	for p := range s.peers {
		peers = append(peers, p)
	}
	s.mu.Unlock()
	for _, p := range peers {
		p.drop()
	}
}

// call is one request being served.
type call struct {
	*peer
	ctx    context.Context //nolint:containedctx // a call is what the context belongs to
	msg    message
	params params
	modern bool
	out    sink
}

// receive serves one inbound message. done, when not nil, is called once nothing more will be sent to out.
// Calls and delayed requests are served concurrently, all others in order of arrival.
func (p *peer) receive(ctx context.Context, data []byte, out sink, done func()) {
	finish := func() {
		if done != nil {
			done()
		}
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		p.srv.violation("not a JSON-RPC message: %v", err)
		out(errorResponse(nil, codeParse, "parse error", nil))
		finish()
		return
	}
	p.check(m)
	if m.Method == "" {
		p.answered(m)
		finish()
		return
	}
	o := p.srv.opts
	if status, ok := o.exitOn[m.Method]; ok {
		p.srv.quit(status)
		finish()
		return
	}
	c := &call{peer: p, ctx: ctx, msg: m, out: out}
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &c.params); err != nil && m.ID != nil {
			c.fail(codeInvalidParams, "invalid params: "+err.Error(), nil)
			finish()
			return
		}
	}
	if m.ID == nil {
		p.notified(c)
		finish()
		return
	}
	if o.silent[m.Method] {
		if done != nil { // over HTTP silence is a response that does not come
			<-ctx.Done()
			finish()
		}
		return
	}
	key := string(m.ID)
	c.ctx = p.track(ctx, key)
	serve := func() {
		defer finish()
		defer p.untrack(key)
		c.serve()
	}
	_, delayed := o.delays[m.Method]
	if m.Method == "tools/call" || m.Method == "subscriptions/listen" || delayed || done != nil {
		p.wg.Go(serve)
		return
	}
	serve()
}

// track makes the request cancellable.
func (p *peer) track(ctx context.Context, key string) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[key] = cancel
	return ctx
}

func (p *peer) untrack(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel, ok := p.running[key]; ok {
		cancel()
		delete(p.running, key)
	}
}

// check watches the rules a client must keep whatever it wants.
func (p *peer) check(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.JSONRPC != "2.0" {
		p.srv.violation("jsonrpc is %q", m.JSONRPC)
	}
	if m.Method == "" && p.version == "" {
		p.srv.violation("a response from a modern client (BASE-05)")
	}
	if m.Method == "" || m.ID == nil {
		return
	}
	key := string(m.ID)
	if key[0] != '"' && strings.Trim(key, "-0123456789") != "" {
		p.srv.violation("request id %s is neither a string nor an integer (BASE-02)", key)
	}
	if p.ids[key] {
		p.srv.violation("request id %s used twice (BASE-03)", key)
	}
	p.ids[key] = true
	if p.version != "" && !p.initialized && m.Method != "ping" && m.Method != "initialize" {
		p.srv.violation("%s before notifications/initialized (LEG-04)", m.Method)
	}
	if p.version != "" && (m.Method == "server/discover" || m.Method == "subscriptions/listen") {
		p.srv.violation("%s in a legacy session (NEG-35)", m.Method)
	}
}

// answered hands a client's response to the request of ours that waits for it.
func (p *peer) answered(m message) {
	p.mu.Lock()
	wait := p.asked[string(m.ID)]
	delete(p.asked, string(m.ID))
	p.mu.Unlock()
	if wait == nil {
		p.srv.violation("a response to %s, which was not asked", m.ID)
		return
	}
	wait <- m
}

// notified serves a notification.
func (p *peer) notified(c *call) {
	switch c.msg.Method {
	case "notifications/initialized":
		p.mu.Lock()
		first := !p.initialized
		p.initialized = true
		p.mu.Unlock()
		if first {
			p.changeLater(p.srv.life)
		}
	case "notifications/cancelled":
		if !p.srv.opts.answerCancelled {
			p.untrack(string(c.params.RequestID))
		}
	}
}

// serve answers one request.
func (c *call) serve() {
	o := c.srv.opts
	method := c.msg.Method
	if !c.admit() {
		return
	}
	if d, ok := o.delays[method]; ok && !c.wait(d) {
		return // cancelled: no answer must follow (CAN rows)
	}
	if text, ok := o.raw[method]; ok {
		c.out([]byte(strings.ReplaceAll(text, "{{id}}", string(c.msg.ID))))
		return
	}
	if f, ok := o.failures[method]; ok {
		if f.data == nil {
			c.fail(f.code, f.message, nil)
		} else {
			c.fail(f.code, f.message, f.data)
		}
		return
	}
	if result, ok := o.results[method]; ok {
		c.out(response(c.msg.ID, result))
		return
	}
	c.dispatch()
}

// wait sleeps for d, reporting progress if that is wanted. It is false when the call was cancelled.
func (c *call) wait(d time.Duration) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	var tick <-chan time.Time
	if c.srv.opts.progress > 0 {
		t := time.NewTicker(c.srv.opts.progress)
		defer t.Stop()
		tick = t.C
	}
	for n := 1; ; n++ {
		select {
		case <-end.C:
			return true
		case <-c.ctx.Done():
			return false
		case <-tick:
			c.progress(float64(n), nil, "")
		}
	}
}

// admit decides the era of the request and refuses what that era does not allow.
func (c *call) admit() bool {
	_, hasVersion := c.params.Meta[metaVersion]
	c.peer.mu.Lock()
	version := c.peer.version
	c.peer.mu.Unlock()
	modern := c.srv.versions(false, true)
	switch {
	case c.msg.Method == "initialize":
		if legacy := c.srv.versions(true, false); len(legacy) == 0 {
			c.fail(codeVersion, "unsupported protocol version", object{"supported": modern, "requested": c.params.ProtocolVersion})
			return false
		}
		return true
	case version != "" || c.msg.Method == "ping" && !hasVersion:
		return true
	case len(modern) == 0:
		if c.msg.Method == "server/discover" || c.msg.Method == "subscriptions/listen" {
			c.fail(codeNoMethod, "method not found", nil)
		} else {
			c.srv.violation("%s before initialize (LEG-01)", c.msg.Method)
			c.fail(codeInvalidRequest, "the session is not initialized", nil)
		}
		return false
	}
	c.modern = true
	var capabilities map[string]json.RawMessage
	if !hasVersion || json.Unmarshal(c.params.Meta[metaCapabilities], &capabilities) != nil || capabilities == nil {
		c.srv.violation("%s without %s or %s (BASE-17)", c.msg.Method, metaVersion, metaCapabilities)
		c.fail(codeInvalidParams, "the request's _meta lacks "+metaVersion+" or "+metaCapabilities, nil)
		return false
	}
	if v := c.params.meta(metaVersion); !slices.Contains(modern, v) {
		c.fail(codeVersion, "unsupported protocol version", object{"supported": c.srv.versions(true, true), "requested": v})
		return false
	}
	switch c.msg.Method {
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		c.srv.violation("%s does not exist in the modern era (BASE-27)", c.msg.Method)
		c.fail(codeNoMethod, "method not found", nil)
		return false
	}
	return true
}

// capable reports whether the client can serve what is asked of it.
func (c *call) capable(capability string) bool {
	declared := map[string]json.RawMessage{}
	if c.modern {
		_ = json.Unmarshal(c.params.Meta[metaCapabilities], &declared) // admit has read it before
	} else {
		c.peer.mu.Lock()
		declared = c.peer.declared
		c.peer.mu.Unlock()
	}
	_, ok := declared[capability]
	return ok
}

func (c *call) fail(code int64, text string, data any) {
	c.out(errorResponse(c.msg.ID, code, text, data))
}

// reply answers with result, completed by what the era adds. cacheable results carry the hints.
func (c *call) reply(result object, cacheable bool) {
	if c.modern {
		if _, ok := result["resultType"]; !ok {
			result["resultType"] = "complete"
		}
		meta, _ := result["_meta"].(object)
		if meta == nil {
			meta = object{}
		}
		meta[metaServerInfo] = serverInfo()
		result["_meta"] = meta
		if cacheable {
			result["ttlMs"], result["cacheScope"] = c.srv.opts.ttl, c.srv.opts.scope
		}
	}
	c.out(response(c.msg.ID, result))
}

func serverInfo() object {
	return object{"name": "fx", "title": "Test server", "version": "1.0.0"}
}

func (c *call) progress(done float64, total *float64, text string) {
	token, ok := c.params.Meta["progressToken"]
	if !ok {
		return
	}
	p := object{"progressToken": token, "progress": done}
	if total != nil {
		p["total"] = *total
	}
	if text != "" {
		p["message"] = text
	}
	c.out(notification("notifications/progress", p))
}

// logf sends a log message if the client asked for that level.
func (c *call) logf(format string, args ...any) {
	level := c.params.meta(metaLogLevel)
	if !c.modern {
		c.peer.mu.Lock()
		level = c.peer.logLevel
		c.peer.mu.Unlock()
	}
	if level == "debug" || level == "info" {
		c.out(notification("notifications/message", object{"level": "info", "logger": "fx", "data": fmt.Sprintf(format, args...)}))
	}
}

// ask sends a request to a legacy client and waits for its answer.
func (c *call) ask(method string, params any) (message, error) {
	c.peer.mu.Lock()
	c.peer.nextAsk++
	id := fmt.Sprintf(`"fx-%d"`, c.peer.nextAsk)
	wait := make(chan message, 1)
	c.peer.asked[id] = wait
	c.peer.mu.Unlock()
	c.out(encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  any             `json:"params,omitempty"`
	}{"2.0", json.RawMessage(id), method, params}))
	select {
	case m := <-wait:
		return m, nil
	case <-c.ctx.Done():
		c.peer.mu.Lock()
		delete(c.peer.asked, id)
		c.peer.mu.Unlock()
		return message{}, c.ctx.Err()
	}
}
