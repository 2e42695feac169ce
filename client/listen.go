package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
	errNotGranted  = errors.New("the server does not announce changes of this resource")
	errRefilter    = errors.New("the subscription is replaced")
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
	wg    sync.WaitGroup

	mu      sync.Mutex
	begun   bool // a first list has been fetched, so that kinds are asked for
	running bool
	uris    map[string]bool
	changes int    // of uris and begun, counted
	id      string // of the open listen
	acked   chan struct{}
	reopen  context.CancelCauseFunc // ends the open listen or the pause before the next one
	waiting []chan error            // who wants to know whether the current filter was accepted
}

func newListener(s *Session) *listener {
	l := &listener{s: s, uris: make(map[string]bool)}
	for _, kind := range kindsInOrder {
		if s.server.declares(kind, "listChanged") {
			l.kinds = append(l.kinds, kind)
		}
	}
	return l
}

// begin opens the listen for changes of lists, once.
func (l *listener) begin() {
	if l == nil || len(l.kinds) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		l.startLocked()
	}
}

func (l *listener) startLocked() {
	l.changes++
	switch {
	case l.reopen != nil:
		l.id = "" // the acknowledgement of what is replaced no longer counts
		l.reopen(errRefilter)
	case !l.running:
		l.running = l.s.goUnlessClosed(&l.wg, l.run)
	}
}

// follow changes which resources are listened for, and waits until the server has accepted that.
func (l *listener) follow(ctx context.Context, uri string, on bool) error {
	l.mu.Lock()
	if l.uris[uri] == on {
		l.mu.Unlock()
		return nil
	}
	if on {
		l.uris[uri] = true
	} else {
		delete(l.uris, uri)
	}
	settled := make(chan error, 1)
	l.waiting = append(l.waiting, settled)
	l.startLocked()
	l.mu.Unlock()
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		return fmt.Errorf("request given up: %w", context.Cause(ctx))
	case <-l.s.life.Done():
		return &wire.LostError{Cause: wire.ErrClosed}
	}
}

// settle tells those who wait what became of the filter they changed.
func (l *listener) settle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w <- err
	}
	l.waiting = nil
}

// wait waits for the goroutine of a listener whose session has ended; it has said goodbye then (SUB-12).
func (l *listener) wait() {
	if l != nil {
		l.wg.Wait()
	}
}

// filter is what the next listen asks for, and as of which change. It is nil when there is nothing to ask for; the
// listener stops then.
func (l *listener) filter() (filter []byte, change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts [][]byte
	if l.begun {
		for _, kind := range l.kinds {
			parts = append(parts, []byte(`"`+filterMembers[kind]+`":true`))
		}
	}
	if len(l.uris) > 0 {
		parts = append(parts, field("resourceSubscriptions", slices.Sorted(maps.Keys(l.uris))))
	}
	if len(parts) == 0 {
		l.stoppedLocked()
		return nil, 0
	}
	return object(parts...), l.changes
}

func (l *listener) stoppedLocked() {
	l.running = false
	if l.reopen != nil {
		l.reopen(nil)
		l.reopen = nil
	}
}

// run opens the stream again whenever it ended, with growing pauses, until the server refuses it or the session is
// over (SUB-16, SUB-19).
func (l *listener) run() {
	pause := listenPause
	for again := false; l.s.life.Err() == nil; again = true {
		filter, change := l.filter()
		if filter == nil {
			l.settle(nil)
			return
		}
		began := time.Now()
		err := l.open(filter, change, again)
		var refused *wire.RemoteError
		var lost *wire.LostError
		switch {
		case l.s.life.Err() != nil, errors.As(err, &lost):
			return
		case errors.As(err, &refused), errors.Is(err, errNoAck):
			l.s.warn("the server sends no change notices: " + err.Error())
			l.mu.Lock()
			l.stoppedLocked()
			clear(l.uris)
			l.mu.Unlock()
			l.settle(err)
			return
		}
		// Nothing is replayed: what changes from now on goes unnoticed, so nothing is kept (CACHE-16).
		l.s.cache.invalidate(l.methods()...)
		l.s.cache.invalidateReads(func(string) bool { return true })
		if errors.Is(err, errRefilter) {
			continue
		}
		if time.Since(began) >= goodListen {
			pause = listenPause
		}
		ctx := l.interruptible(change)
		_ = sleep(ctx, pause/2+rand.N(pause)) //nolint:gosec // jitter needs no secrecy
		pause = min(2*pause, maxListenWait)
	}
}

// interruptible returns a ctx that ends with the first change of the filter after the given one.
func (l *listener) interruptible(change int) context.Context {
	ctx, cancel := context.WithCancelCause(l.s.life)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reopen != nil {
		l.reopen(nil)
	}
	l.reopen = cancel
	if l.changes != change {
		cancel(errRefilter)
	}
	return ctx
}

func (l *listener) methods() []string {
	var out []string
	for _, kind := range l.kinds {
		out = append(out, listsByKind[kind]...)
	}
	return out
}

// open performs one listen. It returns nil when the server ended it in order, and errRefilter when it has to ask for
// something else.
func (l *listener) open(filter []byte, change int, again bool) error {
	id, acked := l.s.conn.NextID(), make(chan struct{})
	opened := l.interruptible(change)
	ctx, cancel := context.WithCancelCause(opened)
	l.mu.Lock()
	l.id, l.acked = id, acked
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
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
	_, err := l.s.conn.Do(ctx, wire.Request{
		ID: id, Method: "subscriptions/listen", Endless: true,
		Params: l.s.params(rawField("notifications", filter), nil, ""),
	})
	if errors.Is(err, wire.ErrWithdrawn) { // the other way to end it in order (SUB-14)
		err = nil
	}
	cancel(nil)
	<-done
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
		if l.begun && granted != nil && !truthy(granted, filterMembers[kind]) {
			l.s.warn("the server does not announce changes of " + kind)
		}
	}
	var refused error
	if len(l.uris) > 0 && granted != nil && wire.Member(granted, "resourceSubscriptions") == nil {
		refused = errNotGranted
	}
	for _, w := range l.waiting {
		w <- refused
	}
	l.waiting = nil
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
