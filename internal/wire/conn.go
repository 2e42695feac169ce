package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The bounds of a connection.
const (
	// DefaultMaxFrame is the longest message that is read, in bytes.
	DefaultMaxFrame = 64 << 20
	// MaxDepth is how deep a message may nest, unless [Request.Deep] lifts the bound for its answer.
	MaxDepth = 512

	writeQueue   = 256
	controlQueue = 1024
	maxServing   = 16
	sdkQueue     = 64
	// maxRequestID is the longest id, in bytes, of a request of the server that is answered: the answer holds it.
	maxRequestID = 1 << 10
	maxSamples   = 8
	sampleLength = 200
)

// Config are the parts and options of a Conn. Reader and Writer are needed; the rest may be zero.
type Config struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
	// MaxFrame bounds a message in bytes; 0 means DefaultMaxFrame.
	MaxFrame int
	// Silent connections answer no request of the server: the rule of the modern era (BASE-05, BASE-06).
	Silent bool
	// Logger gets what was skipped, at debug level. nil discards.
	Logger *slog.Logger
	// Trace sees every message in both directions, in order per direction. It must be quick and keep nothing.
	Trace func(sent bool, frame []byte)
	// Notify gets the server's notifications, one at a time, from a bounded queue that merges repetitions; progress
	// goes to its request instead.
	Notify func(method string, params json.RawMessage)
	// Unattributed gets each error that the server sent without an id (BASE-10). It must be quick.
	Unattributed func(*RemoteError)
	// Serve answers the server's questions (elicitation/create, sampling/createMessage, roots/list); other requests
	// go to the SDK. Its ctx ends when the server withdraws the question or the connection ends.
	Serve func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *RemoteError)
	// HandshakeFailed gets the reason when the SDK's initialize request could not be delivered, or its answer is none.
	HandshakeFailed func(error)
	// Handshake sees the raw answer to the SDK's initialize request and returns what the SDK gets instead.
	Handshake func(result json.RawMessage) json.RawMessage
}

// Conn is one connection to a server. For the SDK it is an [mcp.Transport].
type Conn struct {
	cfg    Config
	framer framer
	logger *slog.Logger

	out     chan *outgoing
	control chan *outgoing
	sdk     chan jsonrpc.Message
	notes   notes

	nextID atomic.Int64
	silent atomic.Bool

	mu       sync.Mutex
	pending  map[string]*call
	sdkCalls map[int64]string              // id on the wire to method of the SDK's own requests
	sdkBase  int64                         // what the wire's ids are more than the SDK's
	sdkLast  int64                         // the highest id on the wire of a request of the SDK
	serving  map[string]context.CancelFunc // the server's questions, by raw id
	asked    int                           // the server's questions whose answer the writer does not have yet
	handed   int                           // the server's requests the SDK has not passed an answer for to the writer
	stats    Stats

	// life ends with the connection; its cause says why.
	life context.Context //nolint:containedctx // the lifetime of the connection itself, parent of what it serves
	end  context.CancelCauseFunc
	wg   sync.WaitGroup
	// flushed is closed when nothing more will be written.
	flushed chan struct{}
	noisy   int // bytes of noise since the last message; the reader's alone

	closeReader, closeWriter sync.Once
}

// Stats tells what a connection had to put up with.
type Stats struct {
	// Noise counts lines that were no message; Samples are the first of them, shortened.
	Noise   int
	Samples []string
	// Oversize counts messages beyond the bound.
	Oversize int
	// Stray counts answers and progress that belong to no request. Late and repeated ones do not count.
	Stray int
	// Refused counts requests and notifications of the server that were dropped.
	Refused int
	// Unattributed holds the last error the server sent without an id (BASE-10).
	Unattributed string
}

// New starts a connection. Close it. It has the values of ctx and outlives it.
func New(ctx context.Context, cfg Config) *Conn {
	if cfg.MaxFrame <= 0 {
		cfg.MaxFrame = DefaultMaxFrame
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		cfg:      cfg,
		logger:   cfg.Logger,
		out:      make(chan *outgoing, writeQueue),
		control:  make(chan *outgoing, controlQueue),
		sdk:      make(chan jsonrpc.Message, sdkQueue),
		pending:  make(map[string]*call),
		sdkCalls: make(map[int64]string),
		serving:  make(map[string]context.CancelFunc),
		flushed:  make(chan struct{}),
	}
	c.silent.Store(cfg.Silent)
	c.life, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	c.notes.wake = make(chan struct{}, 1)
	c.framer = framer{
		r:          bufio.NewReaderSize(cfg.Reader, readBuffer),
		maxFrame:   cfg.MaxFrame,
		onMessage:  c.receive,
		onNoise:    c.noise,
		onOversize: c.oversize,
	}
	c.wg.Go(c.read)
	c.wg.Go(c.write)
	c.wg.Go(c.notify)
	return c
}

// Silence makes the connection answer no more requests of the server, as Config.Silent does from the start.
func (c *Conn) Silence() { c.silent.Store(true) }

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.life.Done() }

// Err tells why the connection ended: ErrClosed, ErrEnded or a read or write error. It is nil before Done.
func (c *Conn) Err() error { return context.Cause(c.life) }

// Stats returns what was skipped so far.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Samples = append([]string(nil), s.Samples...)
	return s
}

// Stop ends the connection with ErrClosed: every waiting request fails at once, the server is told of those it may
// have (CAN-03), what is queued for it is still written, then the writer is closed. It does not wait; Flushed tells
// when the writer is done.
func (c *Conn) Stop() {
	c.mu.Lock()
	waiting := make(map[string]*call, len(c.pending))
	if c.life.Err() == nil {
		maps.Copy(waiting, c.pending)
	}
	c.mu.Unlock()
	for id, cl := range waiting {
		c.abandon(id, cl, "the client closes the session")
	}
	c.end(ErrClosed)
}

// Flushed is closed when nothing more will be written: the connection has ended and its writer with it. It stays open as
// long as a server that does not read holds up the last write.
func (c *Conn) Flushed() <-chan struct{} { return c.flushed }

// Close ends the connection, closes both streams and waits for its goroutines. Closing twice does no harm.
func (c *Conn) Close() {
	c.shut()
	c.wg.Wait()
}

func (c *Conn) shut() {
	c.Stop()
	c.closeWriter.Do(func() { _ = c.cfg.Writer.Close() })
	c.closeReader.Do(func() { _ = c.cfg.Reader.Close() })
}

// Wait blocks until the goroutines of a stopped connection are gone; the reader's goes with the stream.
func (c *Conn) Wait() { c.wg.Wait() }

func (c *Conn) read() {
	err := c.framer.run()
	if err == nil {
		err = ErrEnded
	}
	c.end(err)
}

// maxNoise bounds what a server may write between two messages that is none, in bytes. A program that is no MCP server
// and prints for ever would else be read for as long as somebody waits for it. One message that is cut short is noise too.
const maxNoise = DefaultMaxFrame

func (c *Conn) noise(line []byte) {
	if c.noisy += len(line) + 1; c.noisy > maxNoise {
		c.end(ErrNoise)
	}
	c.mu.Lock()
	c.stats.Noise++
	keep := len(c.stats.Samples) < maxSamples
	if keep {
		c.stats.Samples = append(c.stats.Samples, Sample(line))
	}
	c.mu.Unlock()
	if keep {
		c.logger.Debug("line on stdout that is no message", slog.String("line", Sample(line)))
	}
}

// Sample shortens what a server wrote for display: one line, at most 200 bytes, no control characters.
func Sample(b []byte) string {
	cut := len(b) > sampleLength
	if cut {
		b = b[:sampleLength]
	}
	b = bytes.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, bytes.ToValidUTF8(b, nil))
	if cut {
		return string(b) + "…"
	}
	return string(b)
}

func (c *Conn) oversize(id []byte, hasMethod bool) {
	c.mu.Lock()
	c.stats.Oversize++
	c.mu.Unlock()
	if hasMethod {
		return
	}
	c.fail(id, ErrFrameTooLong)
}

// fail ends the request with this id.
func (c *Conn) fail(id []byte, err error) {
	s, n, isString, ok := idOf(id)
	switch {
	case !ok:
	case isString:
		if cl := c.take(s); cl != nil {
			cl.finish(nil, err)
		}
	default:
		if c.takeSDK(n) != "" {
			c.failSDK(n, err)
		}
	}
}

// receive routes one message.
func (c *Conn) receive(m message, frame []byte, owned bool) {
	c.noisy = 0
	if c.cfg.Trace != nil {
		c.cfg.Trace(false, frame)
	}
	if c.life.Err() != nil {
		return
	}
	switch {
	case m.method == nil:
		c.response(m, owned)
	case m.depth > MaxDepth:
		c.refuse(Text(m.method), "it nests too deep")
	case m.id == nil || isNull(m.id):
		c.notification(Text(m.method), m.params)
	default:
		c.request(m)
	}
}

func (c *Conn) refuse(method, why string) {
	c.mu.Lock()
	c.stats.Refused++
	c.mu.Unlock()
	c.logger.Debug("message dropped", slog.String("method", Sample([]byte(method))), slog.String("reason", why))
}

func (c *Conn) response(m message, owned bool) {
	m.settle()
	if len(m.id) == 0 || isNull(m.id) {
		c.unattributed(m)
		return
	}
	s, n, isString, ok := idOf(m.id)
	if ok && isString {
		if cl := c.take(s); cl != nil {
			cl.answer(m, owned)
			return
		}
	} else if ok {
		if method := c.takeSDK(n); method != "" {
			c.answerSDK(n, method, m)
			return
		}
	}
	c.logger.Debug("answer nobody waits for", slog.String("id", Sample(m.id)))
	c.stray(s)
}

// settle takes out the null that some servers send beside a result or an error.
func (m *message) settle() {
	switch {
	case m.result == nil || m.err == nil:
	case isNull(m.err):
		m.err = nil
	case isNull(m.result):
		m.result = nil
	}
}

// malformed says why the message answers nothing, nil when it does.
func (m *message) malformed() error {
	switch {
	case m.result != nil && m.err != nil:
		return fmt.Errorf("%w: it has a result and an error", ErrMalformed)
	case m.result == nil && m.err == nil:
		return fmt.Errorf("%w: it has neither a result nor an error", ErrMalformed)
	case m.err != nil && m.err[0] != '{':
		return fmt.Errorf("%w: its error is no object but %s", ErrMalformed, Sample(m.err))
	}
	return nil
}

// stray counts what belongs to no request, unless it did once: answers race with cancellations, and that is nobody's
// fault (CAN-06).
func (c *Conn) stray(id string) {
	if n, err := strconv.ParseInt(strings.TrimPrefix(id, idPrefix), 10, 64); err == nil && n > 0 && n <= c.nextID.Load() {
		return
	}
	c.mu.Lock()
	c.stats.Stray++
	c.mu.Unlock()
}

// unattributed keeps an error without an id as a diagnostic of the connection and leaves all requests alone
// (BASE-10).
func (c *Conn) unattributed(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.err == nil {
		c.stats.Stray++
		return
	}
	e := remoteError(m.err)
	c.stats.Unattributed = Sample([]byte(e.Error()))
	if c.cfg.Unattributed != nil {
		c.cfg.Unattributed(e)
	}
}

// remoteError reads an error object as leniently as it can be.
func remoteError(raw []byte) *RemoteError {
	e := new(RemoteError)
	var typed struct {
		Code    json.Number     `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	fixed := raw
	err := json.Unmarshal(raw, &typed)
	if err != nil && !json.Valid(raw) {
		fixed = Repair(raw)
		err = json.Unmarshal(fixed, &typed)
	}
	if err != nil { // an error that is a string, a code that is none
		e.Message = Text(raw)
		Members(fixed, func(key, value []byte) bool {
			switch Text(key) {
			case "message":
				e.Message = Text(value)
			case "code":
				e.Code = integer(bytes.Trim(value, `"`))
			}
			return true
		})
	} else {
		e.Code, e.Message = integer([]byte(typed.Code)), Text(typed.Message)
		if len(typed.Data) > 0 && !isNull(typed.Data) {
			e.Data = bytes.Clone(typed.Data)
		}
	}
	if e.Message == "" {
		e.Message = "error without a message"
	}
	return e
}

func integer(raw []byte) int64 {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	if _, n, isString, ok := idOf(raw); ok && !isString {
		return n
	}
	return 0
}

func (c *Conn) take(id string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	delete(c.pending, id)
	return cl
}

func (c *Conn) lookup(id string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[id]
}

func (c *Conn) notification(method string, params []byte) {
	switch method {
	case "notifications/progress":
		token, _, isString, ok := idOf(Member(params, "progressToken"))
		if cl := c.lookup(token); cl != nil && ok && isString {
			cl.progressed(params)
			return
		}
		c.stray(token)
	case "notifications/cancelled":
		c.withdrawn(Member(params, "requestId"))
	default:
		if c.cfg.Notify != nil {
			c.notes.add(method, params)
		}
	}
}

// withdrawn ends a question the server takes back (CAN-08), or a request of ours that only the server ends (SUB-14).
// For any other request a server's cancellation means nothing (SUB-15).
func (c *Conn) withdrawn(id []byte) {
	c.mu.Lock()
	cancel := c.serving[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
		return
	}
	if s, _, isString, ok := idOf(id); ok && isString {
		if cl := c.lookup(s); cl != nil && cl.endless {
			c.take(s)
			cl.finish(nil, ErrWithdrawn)
		}
	}
}
