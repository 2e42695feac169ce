package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/internal/wire"
)

// TestServerThatAsksAndDoesNotRead floods requests and reads none of the answers: few of them may pile up, the session
// stays, and a person is told that requests were dropped.
func TestServerThatAsksAndDoesNotRead(t *testing.T) {
	const flood = 20_000
	long := strings.Repeat("i", 2000)
	for _, c := range []struct {
		name, request string
		answers       int // at most
	}{
		{"ping", `{"jsonrpc":"2.0","id":"s%d","method":"ping"}`, 400},
		{"ping with a huge id", `{"jsonrpc":"2.0","id":"` + long + `%d","method":"ping"}`, 0},
		{"unknown method", `{"jsonrpc":"2.0","id":%d,"method":"nobody/knows"}`, 400},
		{"question", `{"jsonrpc":"2.0","id":"s%d","method":"sampling/createMessage","params":{"messages":[]}}`, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			through := make(chan struct{})
			conn, p := connect(t, wire.Config{
				Notify: func(method string, _ json.RawMessage) {
					if method == "notifications/through" {
						close(through)
					}
				},
				Serve: func(context.Context, string, json.RawMessage) (json.RawMessage, *wire.RemoteError) {
					return json.RawMessage(`{"role":"assistant"}`), nil
				},
			})
			handshake(t, conn, p)
			for i := range flood {
				p.send(fmt.Sprintf(c.request, i))
			}
			p.send(`{"jsonrpc":"2.0","method":"notifications/through"}`)
			<-through
			wait := do(t, conn, wire.Request{Method: "tools/call"})
			answers := 0
			for {
				f := p.receive()
				if f.Method == "tools/call" {
					p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, f.ID))
					break
				}
				answers++
			}
			if _, err := wait(); err != nil {
				t.Error(err)
			}
			if answers > c.answers {
				t.Errorf("%d of %d answers were kept for a server that does not read; want at most %d", answers, flood, c.answers)
			}
			if got := conn.Stats().Refused; got < flood-c.answers-1 {
				t.Errorf("refused = %d of %d", got, flood)
			}
		})
	}
}

// handshake opens an SDK session over conn, which answers pings and what nobody knows.
func handshake(t *testing.T, conn *wire.Conn, p *peer) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		_, err := c.Connect(t.Context(), conn, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		done <- err
	}()
	p.receive()
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	p.receive()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
