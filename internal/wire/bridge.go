package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	notifyLimit = 10 * time.Second
	// maxPosts bounds the messages under way at once.
	maxPosts = 256
	// lastPosts is how long the messages under way have, when one of them has shown that inner is at its end, to learn
	// what became of them.
	lastPosts = time.Second
)

// Bridge makes the two byte streams that a Conn needs out of a connection of the SDK that carries one message per HTTP
// request. Requests go out side by side, because each of them may take as long as its answer; notifications go out one
// after the other, each before what follows it.
type Bridge struct {
	inner mcp.Connection
	fatal func(error) bool
	in    *io.PipeReader
	feed  *io.PipeWriter

	life context.Context //nolint:containedctx // the lifetime of the connection itself
	stop context.CancelFunc
	wg   sync.WaitGroup
	once sync.Once
	slot chan struct{}

	mu    sync.Mutex
	bound *Conn
	posts map[string]context.CancelFunc // by raw id
	// writing counts the messages that are being sent; settled is set when inner is at its end, and closed when
	// they are through.
	writing int
	settled chan struct{}
}

// NewBridge takes inner over. Give Reader and Writer to New, and the Conn to Bind before anything is sent. fatal tells
// which failures to send are the end of inner, because inner itself does not. The bridge outlives ctx.
func NewBridge(ctx context.Context, inner mcp.Connection, fatal func(error) bool) *Bridge {
	b := &Bridge{inner: inner, fatal: fatal, slot: make(chan struct{}, maxPosts), posts: make(map[string]context.CancelFunc)}
	b.in, b.feed = io.Pipe()
	b.life, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.wg.Go(b.pump)
	return b
}

// Bind tells which connection's requests fail when one cannot be sent.
func (b *Bridge) Bind(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bound = c
}

// Reader is what the server sends, one message a line.
func (b *Bridge) Reader() io.ReadCloser { return b.in }

// Writer takes whole lines.
func (b *Bridge) Writer() io.WriteCloser { return bridgeWriter{b} }

type bridgeWriter struct{ *Bridge }

func (w bridgeWriter) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if err := w.send(bytes.TrimSuffix(line, newline)); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

// Close of the writer ends nothing: HTTP has no end of input.
func (w bridgeWriter) Close() error { return nil }

// Deliver feeds a message that came by another way, such as the standing stream of a session.
func (b *Bridge) Deliver(message []byte) {
	_, _ = b.feed.Write(append(bytes.Clone(message), '\n')) // an error means that the connection has ended
}

// Close ends the connection and waits for its goroutines.
func (b *Bridge) Close() error {
	var err error
	b.once.Do(func() {
		err = b.inner.Close() // tells the server, in bounded time
		b.stop()
		_ = b.in.Close()
		_ = b.feed.Close()
	})
	b.wg.Wait()
	return err
}

func (b *Bridge) pump() {
	for {
		m, err := b.inner.Read(b.life)
		if err != nil {
			if b.fatal(err) {
				b.wind(err) // inner ends with the first refusal, and others may be under way
			} else {
				_ = b.feed.CloseWithError(err)
			}
			return
		}
		if r, ok := m.(*jsonrpc.Response); ok && madeUp(r) {
			id := rawID(r.ID)
			b.finished(id)
			b.fail(id, ErrCut)
			continue
		}
		line, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			continue // a message of the SDK always encodes
		}
		if _, err := b.feed.Write(append(line, '\n')); err != nil {
			return
		}
		if r, ok := m.(*jsonrpc.Response); ok {
			b.finished(rawID(r.ID))
		}
	}
}

// madeUp tells an error that the SDK puts in the place of an answer that did not come from one that the server sent.
func madeUp(r *jsonrpc.Response) bool {
	if r.Error == nil {
		return false
	}
	_, sent := errors.AsType[*jsonrpc.Error](r.Error)
	return !sent
}

func rawID(id jsonrpc.ID) string {
	r, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id})
	if err != nil {
		return ""
	}
	return string(Member(r, "id"))
}

// finished forgets a request, which ends its HTTP exchange.
func (b *Bridge) finished(id string) {
	b.mu.Lock()
	cancel := b.posts[id]
	delete(b.posts, id)
	b.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (b *Bridge) send(line []byte) error {
	m, err := jsonrpc.DecodeMessage(bytes.Clone(line))
	if err != nil {
		return err
	}
	r, ok := m.(*jsonrpc.Request)
	if ok && !r.IsCall() {
		b.notify(r)
		return nil
	}
	select {
	case b.slot <- struct{}{}:
	case <-b.life.Done():
		return ErrClosed
	}
	id := string(Member(line, "id"))
	ctx, cancel := context.WithCancel(b.life)
	b.mu.Lock()
	b.writing++
	if ok {
		b.posts[id] = cancel
	}
	b.mu.Unlock()
	b.wg.Go(func() {
		defer b.sent()
		err := b.inner.Write(ctx, m)
		if !ok {
			cancel()
			return // an answer that cannot be delivered helps nobody
		}
		if err != nil {
			b.finished(id)
			b.fail(id, err)
		}
	})
	return nil
}

func (b *Bridge) notify(r *jsonrpc.Request) {
	ctx, cancel := context.WithTimeout(b.life, notifyLimit)
	defer cancel()
	_ = b.inner.Write(ctx, r) // a lost notification is not to be noticed by anybody
	if r.Method == "notifications/cancelled" {
		b.finished(string(Member(r.Params, "requestId")))
	}
}

func (b *Bridge) fail(id string, err error) {
	b.mu.Lock()
	c := b.bound
	b.mu.Unlock()
	if c != nil {
		c.fail([]byte(id), &SendError{Err: err})
	}
	if b.fatal(err) {
		b.wind(err)
	}
}

// wind ends the connection for its reader when the messages under way have been answered or refused, each for itself:
// a request that the server refused too was not carried out, and its sender may know that.
func (b *Bridge) wind(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.settled != nil {
		return
	}
	settled := make(chan struct{})
	b.settled = settled
	b.wg.Go(func() {
		limit := time.NewTimer(lastPosts)
		defer limit.Stop()
		select {
		case <-settled:
		case <-limit.C:
		case <-b.life.Done():
		}
		_ = b.feed.CloseWithError(&SendError{Err: cause})
	})
}

// sent gives back what a message under way took.
func (b *Bridge) sent() {
	<-b.slot
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writing--; b.writing == 0 && b.settled != nil {
		select {
		case <-b.settled:
		default:
			close(b.settled)
		}
	}
}
