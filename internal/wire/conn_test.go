package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/internal/wire"
)

func TestRequestOnTheWire(t *testing.T) {
	var mu sync.Mutex
	var traced []string
	conn, p := connect(t, wire.Config{Trace: func(sent bool, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		traced = append(traced, fmt.Sprint(sent, " ", string(frame)))
	}})
	wait := do(t, conn, wire.Request{Method: "tools/call", Params: json.RawMessage(`{"b":1,"a":9007199254740993,"c":"<&>"}`)})
	got := p.receive()
	if string(got.ID) != `"u1"` || string(got.Params) != `{"b":1,"a":9007199254740993,"c":"<&>"}` {
		t.Errorf("sent %+v", got)
	}
	p.send(`{"jsonrpc":"2.0","id":"u1","result":{"z":9007199254740993,"a":[]}}`)
	raw, err := wait()
	if err != nil || string(raw) != `{"z":9007199254740993,"a":[]}` {
		t.Errorf("got %s, %v", raw, err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		`true {"jsonrpc":"2.0","id":"u1","method":"tools/call","params":{"b":1,"a":9007199254740993,"c":"<&>"}}`,
		`false {"jsonrpc":"2.0","id":"u1","result":{"z":9007199254740993,"a":[]}}`,
	}
	if diff := cmp.Diff(want, traced); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentRequestsAnsweredInReverse(t *testing.T) {
	const n = 100
	conn, p := connect(t, wire.Config{})
	waits := make(map[string]func() (json.RawMessage, error), n)
	var ids []string
	for range n {
		id := conn.NextID()
		ids = append(ids, id)
		waits[id] = do(t, conn, wire.Request{ID: id})
	}
	var seen []string
	for range n {
		var id string
		if err := json.Unmarshal(p.receive().ID, &id); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, id)
	}
	slices.Reverse(seen)
	for _, id := range seen {
		p.send(fmt.Sprintf(`{"id":%q,"result":{"for":%q}}`, id, id))
	}
	for _, id := range ids {
		raw, err := waits[id]()
		if want := fmt.Sprintf(`{"for":%q}`, id); err != nil || string(raw) != want {
			t.Errorf("%s: %s, %v", id, raw, err)
		}
	}
}

// TestProgressComesInOrderAndBeforeTheResult also sends progress for nobody, which nobody must see (PRG-02, PRG-04).
func TestProgressComesInOrderAndBeforeTheResult(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	var got []string
	wait := do(t, conn, wire.Request{OnProgress: func(params json.RawMessage) {
		got = append(got, string(wire.Member(params, "progress")))
	}})
	p.receive()
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`
	p.send(
		fmt.Sprintf(progress, `"u1"`, 1), fmt.Sprintf(progress, `"other"`, 7), fmt.Sprintf(progress, `1`, 8),
		fmt.Sprintf(progress, `"u1"`, 2), fmt.Sprintf(progress, `"u1"`, 3), `{"id":"u1","result":{}}`,
		fmt.Sprintf(progress, `"u1"`, 4),
	)
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Error(diff)
	}
	wait = do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u2","result":{}}`)
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	if got := conn.Stats().Stray; got != 2 {
		t.Errorf("stray = %d; late progress must not count, that for others must", got)
	}
}

// TestSlowProgressDoesNotPileUp holds the callback while 100 000 reports come in: the last one and the result must
// arrive, and few of the others.
func TestSlowProgressDoesNotPileUp(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	hold, first := make(chan struct{}), make(chan struct{})
	var once sync.Once
	count, last := 0, ""
	wait := do(t, conn, wire.Request{OnProgress: func(params json.RawMessage) {
		once.Do(func() { close(first) })
		<-hold
		count++
		last = string(wire.Member(params, "progress"))
	}})
	p.receive()
	const n = 100_000
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u1","progress":%d}}`+"\n", i)
	}
	p.send(b.String() + `{"id":"u1","result":{}}`)
	<-first
	// Another request is answered meanwhile: the reader does not wait for the callback (STD-19).
	other := do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u2","result":{}}`)
	if _, err := other(); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	if last != fmt.Sprint(n) || count > 200 {
		t.Errorf("%d reports, the last %s; want at most 200 and the last %d", count, last, n)
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := conn.Do(ctx, wire.Request{ID: conn.NextID(), Method: "tools/call"})
		done <- err
	}()
	p.receive()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	got := p.receive()
	if want := `{"requestId":"u1","reason":"cancelled by the client"}`; got.Method != "notifications/cancelled" || string(got.Params) != want {
		t.Errorf("the server got %+v", got)
	}
	p.send(`{"id":"u1","result":{"late":true}}`) // dropped without a trace
	wait := do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u2","result":{}}`)
	if _, err := wait(); err != nil {
		t.Error(err)
	}
	if got := conn.Stats().Stray; got != 0 {
		t.Errorf("stray = %d for a late answer", got)
	}
}

// TestServerThatDoesNotRead never reads its input: every request must still obey its ctx, and closing must not wait.
func TestServerThatDoesNotRead(t *testing.T) {
	conn, _ := connect(t, wire.Config{})
	const n = 400 // more than the queue holds
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := conn.Do(ctx, wire.Request{ID: conn.NextID(), Method: "tools/call", Params: json.RawMessage(`{}`)})
			errs <- err
		}()
	}
	cancel()
	for range n {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	conn.Close()
}

// TestRequestTakenBackBeforeItWasSent must leave no trace on the wire: there is nothing to cancel then (CAN-01).
func TestRequestTakenBackBeforeItWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		conn := wire.New(t.Context(), wire.Config{Reader: clientIn, Writer: clientOut})
		p := &peer{t, json.NewDecoder(serverIn), serverOut}
		first := do(t, conn, wire.Request{})
		synctest.Wait() // the writer is stuck in the first request
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = conn.Do(ctx, wire.Request{ID: conn.NextID(), Method: "second"}) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		third := do(t, conn, wire.Request{Method: "third"})
		var methods []string
		for range 2 {
			f := p.receive()
			methods = append(methods, f.Method)
			p.send(fmt.Sprintf(`{"id":%s,"result":{}}`, f.ID))
		}
		for _, wait := range []func() (json.RawMessage, error){first, third} {
			if _, err := wait(); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]string{"tools/call", "third"}, methods); diff != "" {
			t.Error(diff)
		}
		_ = serverOut.Close()
		conn.Close()
	})
}

func TestClocks(t *testing.T) {
	for _, c := range []struct {
		name     string
		request  wire.Request
		progress time.Duration // how often the server reports
		clock    string
		after    time.Duration
	}{
		{"idle", wire.Request{Idle: time.Minute, Total: time.Hour}, 0, "idle", time.Minute},
		{"progress restarts idle, not total", wire.Request{Idle: time.Minute, Total: 10 * time.Minute}, 50 * time.Second, "total", 10 * time.Minute},
		{"total alone", wire.Request{Total: time.Minute}, 0, "total", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serverIn, clientOut := io.Pipe()
				clientIn, serverOut := io.Pipe()
				conn := wire.New(t.Context(), wire.Config{Reader: clientIn, Writer: clientOut})
				p := &peer{t, json.NewDecoder(serverIn), serverOut}
				began := time.Now()
				wait := do(t, conn, c.request)
				p.receive()
				stop := make(chan struct{})
				if c.progress > 0 {
					go func() {
						for {
							select {
							case <-stop:
								return
							case <-time.After(c.progress):
								p.send(`{"method":"notifications/progress","params":{"progressToken":"u1","progress":1}}`)
							}
						}
					}()
				}
				_, err := wait()
				close(stop)
				timeout, ok := errors.AsType[*wire.TimeoutError](err)
				if !ok || timeout.Clock != c.clock || time.Since(began) != c.after {
					t.Errorf("got %v after %s, want %s after %s", err, time.Since(began), c.clock, c.after)
				}
				if got := p.receive(); got.Method != "notifications/cancelled" {
					t.Errorf("the server was not told: %+v", got)
				}
				_ = serverOut.Close()
				conn.Close()
			})
		})
	}
}

// crashLines are what makes a default client of the SDK panic, besides results, which never reach it here.
var crashLines = []string{
	`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`,
	`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":null}`,
	`{"jsonrpc":"2.0","id":"s1","method":"elicitation/create"}`,
	`{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[null]}}}}}}`,
	`{"jsonrpc":"2.0","id":"s3","method":"sampling/createMessage","params":{"messages":[null],"maxTokens":1}}`,
	`{"jsonrpc":"2.0","id":"s4","method":"roots/list"}`,
}

// TestTheSDKIsShielded lets a real SDK client make the handshake over a Conn, with every handler set that has a way
// to panic, and sends it the lines that do it.
func TestTheSDKIsShielded(t *testing.T) {
	conn, p := connect(t, wire.Config{Notify: func(string, json.RawMessage) {}})
	session := make(chan *mcp.ClientSession, 1)
	go func() {
		c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return nil, errors.New("reached")
			},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return nil, errors.New("reached")
			},
		})
		s, err := c.Connect(t.Context(), conn, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Error(err)
		}
		session <- s
	}()
	if got := p.receive(); got.Method != "initialize" {
		t.Fatalf("first %+v", got)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	if got := p.receive(); got.Method != "notifications/initialized" {
		t.Fatalf("second %+v", got)
	}
	s := <-session
	go p.send(crashLines...)
	for range 4 {
		got := p.receive()
		if string(wire.Member(got.Error, "code")) != "-32601" {
			t.Errorf("answered %+v, want method not found", got)
		}
	}
	go p.send(`{"jsonrpc":"2.0","id":77,"method":"ping"}`)
	if got := p.receive(); string(got.ID) != "77" || string(got.Result) != "{}" {
		t.Errorf("ping answered %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestServersQuestions(t *testing.T) {
	asked := make(chan context.Context, 20)
	conn, p := connect(t, wire.Config{Serve: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *wire.RemoteError) {
		if string(wire.Member(params, "wait")) == "true" {
			asked <- ctx
			<-ctx.Done()
			return json.RawMessage(`{}`), nil
		}
		if method == "roots/list" {
			return nil, &wire.RemoteError{Code: -32601, Message: "none"}
		}
		return json.RawMessage(`{"action":"decline"}`), nil
	}})
	go p.send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`)
	if got := p.receive(); string(got.ID) != "7" || string(got.Result) != `{"action":"decline"}` {
		t.Errorf("answered %+v", got)
	}
	go p.send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
	if got := p.receive(); string(got.ID) != `"r"` || string(got.Error) != `{"code":-32601,"message":"none"}` {
		t.Errorf("answered %+v", got)
	}
	// Withdrawn: the handler's ctx ends and nothing is answered (CAN-08).
	p.send(`{"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{"wait":true}}`)
	ctx := <-asked
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	<-ctx.Done()
	// A server's cancellation of our request means nothing (SUB-15), malformed ones neither (CAN-07).
	wait := do(t, conn, wire.Request{})
	if got := p.receive(); got.Method != "tools/call" {
		t.Errorf("received %+v", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"u1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"id":"u1","result":{}}`)
	if _, err := wait(); err != nil {
		t.Error(err)
	}
	// More questions than are answered at once are refused, not queued.
	for i := range 20 {
		go p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"wait":true}}`, i))
	}
	for range 4 {
		if got := p.receive(); got.Error == nil {
			t.Errorf("answered %+v", got)
		}
	}
}

func TestSilentConnectionAnswersNothing(t *testing.T) {
	conn, p := connect(t, wire.Config{Silent: true, Serve: func(context.Context, string, json.RawMessage) (json.RawMessage, *wire.RemoteError) {
		t.Error("a question reached the handler")
		return nil, nil
	}})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	wait := do(t, conn, wire.Request{})
	if got := p.receive(); got.Method != "tools/call" { // the first thing that was written
		t.Errorf("received %+v", got)
	}
	p.send(`{"id":"u1","result":{}}`)
	if _, err := wait(); err != nil {
		t.Error(err)
	}
	if got := conn.Stats().Refused; got != 2 {
		t.Errorf("refused = %d", got)
	}
}

// TestNotificationFlood holds the handler: repetitions are merged, the rest is bounded, and answers go through.
func TestNotificationFlood(t *testing.T) {
	hold, end := make(chan struct{}), make(chan struct{})
	counts := make(map[string]int) // read when end is closed
	conn, p := connect(t, wire.Config{Notify: func(method string, _ json.RawMessage) {
		<-hold
		if counts[method]++; method == "notifications/end" {
			close(end)
		}
	}})
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`+"\n", i)
	}
	for range 1000 {
		b.WriteString(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
	}
	p.send(b.String())
	wait := do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u1","result":{}}`)
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	close(hold)
	p.send(`{"jsonrpc":"2.0","method":"notifications/end"}`)
	<-end
	if changed, logs := counts["notifications/tools/list_changed"], counts["notifications/message"]; changed != 1 || logs == 0 || logs > 300 {
		t.Errorf("%d changes, %d logs; want 1 and at most 300", changed, logs)
	}
}

func TestRequestThatTheServerEnds(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	wait := do(t, conn, wire.Request{Method: "subscriptions/listen", Endless: true})
	p.receive()
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"u1"}}`)
	if _, err := wait(); !errors.Is(err, wire.ErrWithdrawn) {
		t.Errorf("got %v", err)
	}
}
