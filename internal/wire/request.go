package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	idPrefix          = "u"
	maxQueuedProgress = 64
)

// Request is one raw request.
type Request struct {
	// ID comes from [Conn.NextID]; it is also the progress token of the request.
	ID     string
	Method string
	// Params is a JSON object, or nil for none.
	Params json.RawMessage
	// OnProgress gets the params of each progress notification, in wire order, on the goroutine of Do and never after
	// Do has returned. When it cannot keep up, the newest report replaces older ones.
	OnProgress func(params json.RawMessage)
	// Idle and Total are the clocks; 0 means none. Anything the server says about this request restarts Idle;
	// nothing restarts Total.
	Idle, Total time.Duration
	// Paused, when set, is asked before Idle strikes; true grants another round.
	Paused func() bool
	// Endless marks a request that the server may end with notifications/cancelled.
	Endless bool
	// Deep lets an answer through that nests deeper than MaxDepth. Whoever sets it measures the parts with [Depth]
	// and decodes none that is too deep.
	Deep bool
}

// call is a request that waits.
type call struct {
	outgoing
	endless, deep bool
	wake          chan struct{}

	mu       sync.Mutex
	progress []json.RawMessage
	finished bool
	result   json.RawMessage
	err      error
}

// NextID returns an id that this connection has not used (BASE-03). The SDK's ids are numbers, these are strings.
func (c *Conn) NextID() string { return idPrefix + strconv.FormatInt(c.nextID.Add(1), 10) }

// Do sends a request and waits for its answer, which is returned as it was sent: a JSON value, not yet validated.
// The error is a *RemoteError, *TimeoutError, *LostError, one of the errors of this package, or wraps the cause of
// ctx. When Do gives up on a request that may have been sent, the server is told (CAN-03).
func (c *Conn) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	cl := &call{endless: r.Endless, deep: r.Deep, wake: make(chan struct{}, 1)}
	cl.data = encode(r)
	c.mu.Lock()
	c.pending[r.ID] = cl
	c.mu.Unlock()
	defer c.take(r.ID)

	var expiry <-chan time.Time
	started, heard := time.Now(), time.Now()
	var timer *time.Timer
	if first := nearest(r.Idle, r.Total); first > 0 {
		timer = time.NewTimer(first)
		defer timer.Stop()
		expiry = timer.C
	}

	out := c.out
	for {
		select {
		case out <- &cl.outgoing:
			out = nil
		case <-cl.wake:
			heard = time.Now()
			if done, result, err := cl.drain(r.OnProgress); done {
				return result, err
			}
		case now := <-expiry:
			clock, next := strike(now, started, heard, r)
			if clock == nil {
				timer.Reset(next)
				continue
			}
			c.abandon(r.ID, cl, clock.Error())
			return nil, clock
		case <-ctx.Done():
			cause := context.Cause(ctx)
			c.abandon(r.ID, cl, "cancelled by the client")
			return nil, fmt.Errorf("request given up: %w", cause)
		case <-c.life.Done():
			// The answer may have come just before the end.
			if done, result, err := cl.drain(r.OnProgress); done {
				return result, err
			}
			cl.withdraw()
			return nil, &LostError{Sent: cl.state.Load() == stateTaken, Cause: c.Err()}
		}
	}
}

func nearest(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// strike decides what a timer that went off means: a clock that ran out, or how long to wait on.
func strike(now, started, heard time.Time, r Request) (*TimeoutError, time.Duration) {
	left := time.Duration(0)
	if r.Total > 0 {
		if left = r.Total - now.Sub(started); left <= 0 {
			return &TimeoutError{Clock: "total", After: r.Total}, 0
		}
	}
	if r.Idle > 0 {
		idle := r.Idle - now.Sub(heard)
		if idle <= 0 {
			if r.Paused == nil || !r.Paused() {
				return &TimeoutError{Clock: "idle", After: r.Idle}, 0
			}
			idle = r.Idle
		}
		left = nearest(left, idle)
	}
	return nil, left
}

// Send writes a notification. It returns when the notification is queued, or with an error when ctx or the
// connection ends first.
func (c *Conn) Send(ctx context.Context, method string, params json.RawMessage) error {
	return c.enqueue(ctx, encode(Request{Method: method, Params: params}))
}

func (c *Conn) enqueue(ctx context.Context, frame []byte) error {
	if c.life.Err() != nil {
		return &LostError{Cause: c.Err()}
	}
	select {
	case c.out <- &outgoing{data: frame}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("message not sent: %w", context.Cause(ctx))
	case <-c.life.Done():
		return &LostError{Cause: c.Err()}
	}
}

// abandon takes a request back, or tells the server when it may have it already. The note never waits: a server that
// does not read cannot be told.
func (c *Conn) abandon(id string, cl *call, reason string) {
	if cl.withdraw() || c.take(id) == nil {
		return
	}
	params, err := json.Marshal(struct {
		RequestID string `json:"requestId"`
		Reason    string `json:"reason"`
	}{id, reason})
	if err != nil {
		return // two strings always marshal
	}
	select {
	case c.control <- &outgoing{data: encode(Request{Method: "notifications/cancelled", Params: params})}:
	default:
	}
}

// encode writes a request, or a notification when it has no ID.
func encode(r Request) []byte {
	b := make([]byte, 0, 64+len(r.ID)+len(r.Method)+len(r.Params))
	b = append(b, `{"jsonrpc":"2.0"`...)
	if r.ID != "" {
		b = append(b, `,"id":"`...)
		b = append(b, r.ID...)
		b = append(b, '"')
	}
	b = append(b, `,"method":"`...)
	b = append(b, r.Method...)
	b = append(b, '"')
	if len(r.Params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, r.Params...)
	}
	return append(b, "}\n"...)
}

func (cl *call) signal() {
	select {
	case cl.wake <- struct{}{}:
	default:
	}
}

func (cl *call) finish(result json.RawMessage, err error) {
	cl.mu.Lock()
	if !cl.finished {
		cl.finished, cl.result, cl.err = true, result, err
	}
	cl.mu.Unlock()
	cl.signal()
}

func (cl *call) answer(m message, owned bool) {
	malformed := m.malformed()
	switch {
	case malformed != nil:
		cl.finish(nil, malformed)
	case m.depth > MaxDepth && !cl.deep:
		cl.finish(nil, ErrTooDeep)
	case m.err != nil:
		cl.finish(nil, remoteError(m.err))
	case owned:
		cl.finish(m.result, nil)
	default:
		cl.finish(bytes.Clone(m.result), nil)
	}
}

func (cl *call) progressed(params []byte) {
	cl.mu.Lock()
	if !cl.finished {
		p := json.RawMessage(bytes.Clone(params))
		if len(cl.progress) < maxQueuedProgress {
			cl.progress = append(cl.progress, p)
		} else {
			cl.progress[maxQueuedProgress-1] = p
		}
	}
	cl.mu.Unlock()
	cl.signal()
}

// drain delivers what has come and tells whether the answer is among it.
func (cl *call) drain(onProgress func(json.RawMessage)) (done bool, result json.RawMessage, err error) {
	cl.mu.Lock()
	reports := cl.progress
	cl.progress = nil
	done, result, err = cl.finished, cl.result, cl.err
	cl.mu.Unlock()
	if onProgress != nil {
		for _, p := range reports {
			onProgress(p)
		}
	}
	return done, result, err
}
