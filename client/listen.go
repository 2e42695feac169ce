package client

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	ackClock      = 5 * time.Second
	listenPause   = time.Second
	maxListenWait = 5 * time.Minute
	goodListen    = time.Minute
)

var (
	errNoAck       = errors.New("the server did not acknowledge the subscription")
	listsByKind    = map[string][]string{"tools": {"tools/list"}, "prompts": {"prompts/list"}, "resources": {"resources/list", "resources/templates/list"}}
	kindsInOrder   = []string{"tools", "prompts", "resources"}
	filterMembers  = map[string]string{"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
	subscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// listener keeps a modern session's subscriptions/listen open. It begins after the first list, because there are
// servers that do nothing else while a listen waits for its acknowledgement; those are given up on after a moment.
type listener struct {
	s     *Session
	kinds []string // that the server announces changes of (SUB-02)
	once  sync.Once
	wg    sync.WaitGroup

	mu    sync.Mutex
	id    string // of the open listen
	acked chan struct{}
}

func newListener(s *Session) *listener {
	l := &listener{s: s}
	for _, kind := range kindsInOrder {
		if s.server.declares(kind, "listChanged") {
			l.kinds = append(l.kinds, kind)
		}
	}
	return l
}

func (l *listener) begin() {
	if l == nil || len(l.kinds) == 0 {
		return
	}
	l.once.Do(func() { l.s.goUnlessClosed(&l.wg, l.run) })
}

// wait waits for the goroutine of a listener whose session has ended; it has said goodbye then (SUB-12).
func (l *listener) wait() {
	if l != nil {
		l.wg.Wait()
	}
}

// run opens the stream again whenever it ended, with growing pauses, until the server refuses it or the session is
// over (SUB-16, SUB-19).
func (l *listener) run() {
	ctx, pause := l.s.life, listenPause
	for again := false; ctx.Err() == nil; again = true {
		began := time.Now()
		err := l.open(ctx, again)
		var refused *wire.RemoteError
		var lost *wire.LostError
		switch {
		case ctx.Err() != nil, errors.As(err, &lost):
			return
		case errors.As(err, &refused), errors.Is(err, errNoAck):
			l.s.warn("the server sends no change notices: " + err.Error())
			return
		}
		// Nothing is replayed: what changes from now on goes unnoticed, so nothing is kept (CACHE-16).
		l.s.cache.invalidate(l.methods()...)
		if time.Since(began) >= goodListen {
			pause = listenPause
		}
		if sleep(ctx, pause/2+rand.N(pause)) != nil { //nolint:gosec // jitter needs no secrecy
			return
		}
		pause = min(2*pause, maxListenWait)
	}
}

func (l *listener) methods() []string {
	var out []string
	for _, kind := range l.kinds {
		out = append(out, listsByKind[kind]...)
	}
	return out
}

// open performs one listen. It returns nil when the server ended it in order.
func (l *listener) open(ctx context.Context, again bool) error {
	id, acked := l.s.conn.NextID(), make(chan struct{})
	l.mu.Lock()
	l.id, l.acked = id, acked
	l.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		t := time.NewTimer(ackClock)
		defer t.Stop()
		select {
		case <-acked:
			if again { // what changed meanwhile (SUB-17)
				l.changed()
			}
		case <-t.C:
			cancel(errNoAck)
		case <-ctx.Done():
		}
	}()
	filter := make([][]byte, 0, len(l.kinds))
	for _, kind := range l.kinds {
		filter = append(filter, []byte(`"`+filterMembers[kind]+`":true`))
	}
	_, err := l.s.conn.Do(ctx, wire.Request{
		ID: id, Method: "subscriptions/listen", Endless: true,
		Params: l.s.params(rawField("notifications", object(filter...)), nil, ""),
	})
	if errors.Is(err, wire.ErrWithdrawn) { // the other way to end it in order (SUB-14)
		err = nil
	}
	cancel(nil)
	<-waiting
	l.mu.Lock()
	l.id, l.acked = "", nil
	l.mu.Unlock()
	return err
}

// changed tells that everything the subscription covers may have changed. It takes the way of the server's own notices,
// so that callbacks stay one at a time.
func (l *listener) changed() {
	for _, kind := range l.kinds {
		l.s.conn.Inject("notifications/"+kind+"/list_changed", nil)
	}
}

// acknowledge handles the server's acknowledgement of the subscription id; what it does not grant is warned of
// (SUB-03, SUB-04).
func (l *listener) acknowledge(id string, params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked == nil || id != l.id {
		return
	}
	select {
	case <-l.acked:
		return
	default:
	}
	granted := wire.Member(params, "notifications")
	for _, kind := range l.kinds {
		if granted != nil && !truthy(granted, filterMembers[kind]) {
			l.s.warn("the server does not announce changes of " + kind)
		}
	}
	close(l.acked)
}

// owns reports whether a notification of a modern session belongs to the acknowledged subscription. One without an
// id is let through: there is only this one (SUB-05 to SUB-07).
func (l *listener) owns(params json.RawMessage) bool {
	raw := wire.Member(wire.Member(params, "_meta"), subscriptionID)
	if raw == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked == nil || raw[0] != '"' || wire.Text(raw) != l.id {
		return false
	}
	select {
	case <-l.acked:
		return true
	default:
		return false
	}
}

// notified handles the server's notifications, one at a time. Caches are dropped before anybody is told (SUB-08).
func (s *Session) notified(method string, params json.RawMessage) {
	kind, isList := strings.CutSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed")
	lists, known := listsByKind[kind]
	switch {
	case isList && known:
		s.cache.invalidate(lists...)
		if kind == "resources" {
			s.cache.invalidateReads(func(string) bool { return true })
		}
		if s.opts.OnListChanged != nil && s.wanted(params) {
			s.opts.OnListChanged(kind)
		}
	case method == "notifications/resources/updated":
		uri := wire.Text(wire.Member(params, "uri"))
		if uri == "" {
			return
		}
		// The notice may be about a part of what was read, or the other way round (SUB-09, CACHE-13).
		s.cache.invalidateReads(func(read string) bool { return strings.HasPrefix(read, uri) || strings.HasPrefix(uri, read) })
		if s.opts.OnResourceUpdated != nil && s.wanted(params) {
			s.opts.OnResourceUpdated(uri)
		}
	case method == "notifications/message":
		if s.opts.OnLog != nil {
			s.opts.OnLog(wire.Text(wire.Member(params, "level")), wire.Text(wire.Member(params, "logger")), readableMember(params, "data"))
		}
	case method == "notifications/subscriptions/acknowledged":
		if s.era == Modern && s.listening != nil {
			s.listening.acknowledge(wire.Text(wire.Member(wire.Member(params, "_meta"), subscriptionID)), params)
		}
	}
}

func (s *Session) wanted(params json.RawMessage) bool {
	return s.era != Modern || s.listening == nil || s.listening.owns(params)
}

// readableMember returns a member as valid JSON, null when there is none.
func readableMember(raw json.RawMessage, name string) json.RawMessage {
	if v := readable(wire.Member(raw, name)); json.Valid(v) {
		return v
	}
	return json.RawMessage("null")
}
