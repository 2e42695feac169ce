package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	_ mcp.Connection = sdkConnection{}
	_ mcp.Transport  = (*Conn)(nil)
)

// sdkConnection is what the SDK sees of a Conn.
type sdkConnection struct {
	*Conn
	// base is what the ids of this connection's requests are raised by on the wire.
	base   int64
	closed chan struct{}
	once   *sync.Once
}

// Connect implements [mcp.Transport]. When a handshake failed it may be called again, and no id of the requests before
// is used again (BASE-03). There is one at a time.
func (c *Conn) Connect(context.Context) (mcp.Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sdkBase = c.sdkLast
	return sdkConnection{c, c.sdkBase, make(chan struct{}), new(sync.Once)}, nil
}

// SessionID implements [mcp.Connection]; byte streams have none.
func (sdkConnection) SessionID() string { return "" }

// Close implements [mcp.Connection]. It ends what the SDK reads; the Conn itself belongs to its owner, and a handshake
// that failed for the SDK need not be the end of it.
func (s sdkConnection) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Read implements [mcp.Connection]: the next message that is the SDK's business.
func (s sdkConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-s.sdk:
		return m, nil
	default:
	}
	select {
	case m := <-s.sdk:
		return m, nil
	case <-s.life.Done():
		return nil, io.EOF
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write implements [mcp.Connection].
func (s sdkConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Request:
		if n, ok := m.ID.Raw().(int64); ok {
			n += s.base
			raised := *m
			raised.ID = sdkID(n)
			s.mu.Lock()
			s.sdkCalls[n] = m.Method
			s.sdkLast = max(s.sdkLast, n)
			s.mu.Unlock()
			return s.encode(ctx, &raised)
		}
	case *jsonrpc.Response:
		// A server that does not read its answers gets no more of them: until this one is queued, it counts.
		defer func() {
			s.mu.Lock()
			s.handed--
			s.mu.Unlock()
		}()
		if s.silent.Load() {
			return nil
		}
	}
	return s.encode(ctx, m)
}

func (s sdkConnection) encode(ctx context.Context, m jsonrpc.Message) error {
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message of the SDK: %w", err)
	}
	return s.enqueue(ctx, append(frame, '\n'))
}

func sdkID(n int64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return jsonrpc.ID{} // a number is always an id
	}
	return id
}

func (c *Conn) takeSDK(n int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	method := c.sdkCalls[n]
	delete(c.sdkCalls, n)
	return method
}

// sdkAnswer is an answer to request n, under the id the SDK gave it.
func (c *Conn) sdkAnswer(n int64) *jsonrpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &jsonrpc.Response{ID: sdkID(n - c.sdkBase)}
}

func (c *Conn) toSDK(m jsonrpc.Message) {
	select {
	case c.sdk <- m:
	case <-c.life.Done():
	}
}

// failSDK answers a request of the SDK that the server did not answer.
func (c *Conn) failSDK(n int64, err error) {
	if c.cfg.HandshakeFailed != nil {
		c.cfg.HandshakeFailed(err)
	}
	r := c.sdkAnswer(n)
	r.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	c.toSDK(r)
}

func (c *Conn) answerSDK(n int64, method string, m message) {
	if err := m.malformed(); err != nil {
		c.failSDK(n, err)
		return
	}
	r := c.sdkAnswer(n)
	switch {
	case m.err != nil:
		e := remoteError(m.err)
		r.Error = &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
	case m.depth > MaxDepth:
		c.failSDK(n, ErrTooDeep)
		return
	default:
		r.Result = bytes.Clone(m.result)
		if !json.Valid(r.Result) {
			r.Result = Repair(r.Result)
		}
		if method == "initialize" && c.cfg.Handshake != nil {
			r.Result = c.cfg.Handshake(r.Result)
		}
	}
	c.toSDK(r)
}

// request deals with a request of the server.
func (c *Conn) request(m message) {
	method := Text(m.method)
	if c.silent.Load() {
		c.refuse(method, "servers of this protocol version send no requests")
		return
	}
	if len(m.id) > maxRequestID {
		c.refuse(method, "its id is too long")
		return
	}
	id, ok := sdkRequestID(m.id)
	if !ok {
		c.refuse(method, "its id is neither a string nor an integer")
		return
	}
	switch method {
	case "elicitation/create", "sampling/createMessage", "roots/list":
		if c.cfg.Serve != nil {
			c.serve(method, m)
			return
		}
	}
	c.mu.Lock()
	full := c.handed >= sdkQueue/2
	if !full {
		c.handed++
	}
	c.mu.Unlock()
	if full {
		c.refuse(method, "too many requests wait for an answer")
		return
	}
	switch method {
	case "elicitation/create", "sampling/createMessage", "roots/list":
		method = "unsupported/" + method // never to a handler of the SDK
	}
	// What is left are ping and methods the SDK does not know: it need not see their params.
	c.toSDK(&jsonrpc.Request{ID: id, Method: method})
}

func sdkRequestID(raw []byte) (jsonrpc.ID, bool) {
	s, n, isString, ok := idOf(raw)
	if !ok {
		return jsonrpc.ID{}, false
	}
	var v any = float64(n)
	if isString {
		v = s
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}

// serve answers a question of the server on a goroutine of its own, so that a person who thinks holds up nothing.
func (c *Conn) serve(method string, m message) {
	id, params := string(m.id), json.RawMessage(bytes.Clone(m.params))
	ctx, cancel := context.WithCancel(c.life)
	c.mu.Lock()
	_, repeated := c.serving[id]
	busy := c.asked >= maxServing
	if !repeated && !busy {
		c.serving[id] = cancel
		c.asked++
	}
	c.mu.Unlock()
	switch {
	case repeated:
		cancel()
		c.refuse(method, "its id is in use")
		return
	case busy:
		cancel()
		c.refuse(method, "too many questions are open")
		if len(c.control) >= controlQueue/2 {
			return // the rest of the queue is for cancellations
		}
		frame := response(id, nil, &RemoteError{Code: jsonrpc.CodeInternalError, Message: "too many questions are open"})
		select {
		case c.control <- &outgoing{data: frame}: // the reader must not wait for the writer
		default:
		}
		return
	}
	c.wg.Go(func() {
		defer cancel()
		result, remote := c.cfg.Serve(ctx, method, params)
		c.mu.Lock()
		delete(c.serving, id)
		c.mu.Unlock()
		if ctx.Err() == nil {
			_ = c.enqueue(ctx, response(id, result, remote)) // an error means that nobody is left to answer
		}
		c.mu.Lock()
		c.asked--
		c.mu.Unlock()
	})
}

// response encodes an answer to a request of the server.
func response(id string, result json.RawMessage, remote *RemoteError) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if remote != nil {
		e, err := json.Marshal(struct {
			Code    int64           `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data,omitempty"`
		}{remote.Code, remote.Message, remote.Data})
		if err != nil {
			e = []byte(`{"code":-32603,"message":"the answer cannot be encoded"}`)
		}
		b = append(append(b, `,"error":`...), e...)
	} else {
		b = append(append(b, `,"result":`...), result...)
	}
	return append(b, "}\n"...)
}
