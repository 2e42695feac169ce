package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the server's end of a connection, spoken by hand.
type peer struct {
	t   *testing.T
	in  *json.Decoder // what the client sent
	out io.WriteCloser
}

// frame is one message as the peer received it.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// connect joins a Conn and a peer. Both end with the test.
func connect(t *testing.T, cfg wire.Config) (*wire.Conn, *peer) {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	cfg.Reader, cfg.Writer = clientIn, clientOut
	c := wire.New(t.Context(), cfg)
	t.Cleanup(func() {
		_ = serverOut.Close()
		_ = serverIn.Close()
		c.Close()
	})
	return c, &peer{t, json.NewDecoder(serverIn), serverOut}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.out, line+"\n"); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *peer) receive() frame {
	p.t.Helper()
	var f frame
	if err := p.in.Decode(&f); err != nil {
		p.t.Error(err)
	}
	return f
}

// do starts a request and returns a function that waits for its answer.
func do(t *testing.T, c *wire.Conn, r wire.Request) func() (json.RawMessage, error) {
	t.Helper()
	if r.ID == "" {
		r.ID = c.NextID()
	}
	if r.Method == "" {
		r.Method = "tools/call"
	}
	type answer struct {
		raw json.RawMessage
		err error
	}
	ch := make(chan answer, 1)
	ctx := t.Context()
	go func() {
		raw, err := c.Do(ctx, r)
		ch <- answer{raw, err}
	}()
	return func() (json.RawMessage, error) {
		a := <-ch
		return a.raw, a.err
	}
}

// TestWhatServersDoOnStdout sends each piece of sloppy output before and around an answer: the answer must arrive
// and so must the next one.
func TestWhatServersDoOnStdout(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":"u1","result":{"ok":true}}`
	for _, c := range []struct {
		name, sent string
		noise      int
	}{
		{"plain", answer, 0},
		{"CRLF", answer + "\r", 0},
		{"trailing blank and tab", answer + " \t", 0},
		{"blank lines", "\n\r\n  \n" + answer + "\n\n", 0},
		{"byte order mark", "\xef\xbb\xbf" + answer, 0},
		{"banner", "Server listening on stdio\n" + answer, 1},
		{"log in brackets", "[INFO] ready\n" + answer, 1},
		{"log in braces", "{ starting }\n" + answer, 1},
		{"structured log", `{"level":30,"msg":"ready"}` + "\n" + answer, 1},
		{"JSON string and number", "\"hello\"\n42\n" + answer, 2},
		{"colours around", "\x1b[32m" + answer + "\x1b[0m", 0},
		{"coloured banner", "\x1b[1mhello\x1b[0m\n" + answer, 1},
		{"two on a line", `{"jsonrpc":"2.0","method":"notifications/x"}` + answer, 0},
		{"message then noise on a line", answer + " bye", 1},
		{"batch", "[" + `{"jsonrpc":"2.0","method":"notifications/x"},` + answer + "]", 0},
		{"empty batch", "[]\n" + answer, 1},
		{"batch with rubbish", "[1,2]\n" + answer, 1},
		{"pretty printed", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"u1\",\n  \"result\": {\n    \"ok\": true\n  }\n}", 0},
		{"pretty batch", "[\n  {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},\n " + answer + "\n]", 2},
		{"begun and not ended", "{\"a\":\n" + answer, 1},
		{"lone brace", "{\n" + answer, 1},
		{"lone bracket", "[\n" + answer, 1},
		{"no jsonrpc", `{"id":"u1","result":{"ok":true}}`, 0},
		{"wrong jsonrpc", `{"jsonrpc":2,"id":"u1","result":{"ok":true}}`, 0},
		{"id last, escaped", `{"result":{"ok":true},"id":"\u0075\u0031"}`, 0},
		{"escaped key", `{"\u0069d":"u1","result":{"ok":true}}`, 0},
		{"error null beside result", `{"id":"u1","error":null,"result":{"ok":true}}`, 0},
		{"error without id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}` + "\n" + answer, 0},
		{"invalid UTF-8 in a log", "caf\xe9\n" + answer, 1},
		{"unknown id", `{"jsonrpc":"2.0","id":"zzz","result":{}}` + "\n" + answer, 0},
		{"id of another type", `{"jsonrpc":"2.0","id":1,"result":{"wrong":1}}` + "\n" + answer, 0},
		{"fractional id", `{"jsonrpc":"2.0","id":1.5,"result":{"wrong":1}}` + "\n" + answer, 0},
		{"object id", `{"jsonrpc":"2.0","id":{},"result":{"wrong":1}}` + "\n" + answer, 0},
		{"deep notification", `{"jsonrpc":"2.0","method":"notifications/x","params":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "}\n" + answer, 0},
		{"NUL bytes", "\x00\x00" + answer, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, p := connect(t, wire.Config{})
			for i, id := range []string{"u1", "u2"} {
				wait := do(t, conn, wire.Request{})
				if got := p.receive(); string(got.ID) != `"`+id+`"` {
					t.Fatalf("request %d has id %s", i+1, got.ID)
				}
				sent := c.sent
				if i == 1 {
					sent = `{"jsonrpc":"2.0","id":"u2","result":{"ok":true}}`
				}
				p.send(sent)
				raw, err := wait()
				if err != nil || !cmp.Equal(compact(t, raw), `{"ok":true}`) {
					t.Fatalf("answer %d = %s, %v", i+1, raw, err)
				}
			}
			if got := conn.Stats().Noise; got != c.noise {
				t.Errorf("noise = %d, want %d; samples %q", got, c.noise, conn.Stats().Samples)
			}
		})
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return b.String()
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	wait := do(t, conn, wire.Request{})
	p.receive()
	p.send("{\"id\":\"u1\",\"result\":{\"a\":\"caf\xe9\"}}")
	raw, err := wait()
	if want := `{"a":"caf` + "\uFFFD" + `"}`; err != nil || string(raw) != want {
		t.Errorf("got %q, %v; want %q", raw, err, want)
	}
}

func TestRepairEscapesControlCharacters(t *testing.T) {
	got := wire.Repair([]byte("{\"a\":\"x\ty\x01\\\"z\"}"))
	if want := `{"a":"x\u0009y\u0001\"z"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOverlongFrame cuts off only the request it answers, wherever its id stands.
func TestOverlongFrame(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct{ name, sent string }{
		{"id first", `{"jsonrpc":"2.0","id":"u1","result":{"id":"no","t":"` + long + `"}}`},
		{"id last", `{"result":{"id":"u2","t":"` + long + `\"}"},"jsonrpc":"2.0","id":"u1"}`},
		{"over many lines", "{\n\"id\":\"u1\",\n\"result\":[\n\"" + strings.Repeat(long[:1000]+"\",\n\"", 300) + "\"]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, p := connect(t, wire.Config{MaxFrame: 100 << 10})
			first := do(t, conn, wire.Request{})
			p.receive()
			second := do(t, conn, wire.Request{})
			p.receive()
			p.send(c.sent)
			if _, err := first(); !errors.Is(err, wire.ErrFrameTooLong) {
				t.Errorf("first: %v, want %v", err, wire.ErrFrameTooLong)
			}
			p.send(`{"id":"u2","result":{}}`)
			if _, err := second(); err != nil {
				t.Errorf("second: %v", err)
			}
			if got := conn.Stats().Oversize; got != 1 {
				t.Errorf("oversize = %d", got)
			}
		})
	}
}

func TestDeepAnswerFailsItsRequestOnly(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	wait := do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u1","result":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`)
	if _, err := wait(); !errors.Is(err, wire.ErrTooDeep) {
		t.Errorf("got %v, want %v", err, wire.ErrTooDeep)
	}
	wait = do(t, conn, wire.Request{})
	p.receive()
	p.send(`{"id":"u2","result":{}}`)
	if _, err := wait(); err != nil {
		t.Error(err)
	}
}

func TestBigFramesArriveWhole(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	for i, size := range []int{60 << 10, 64 << 10, 65<<10 + 1, 5 << 20} {
		wait := do(t, conn, wire.Request{})
		p.receive()
		want := fmt.Sprintf(`{"t":"%s"}`, strings.Repeat("é", size/2))
		go p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"u%d","result":%s}`, i+1, want))
		raw, err := wait()
		if err != nil || string(raw) != want {
			t.Errorf("%d bytes: got %d bytes, %v", len(want), len(raw), err)
		}
	}
}

func TestErrorsAreReadLeniently(t *testing.T) {
	for _, c := range []struct {
		sent string
		want wire.RemoteError
	}{
		{`{"code":-32601,"message":"no","data":{"n":9007199254740993}}`, wire.RemoteError{Code: -32601, Message: "no", Data: json.RawMessage(`{"n":9007199254740993}`)}},
		{`{"code":"-32000","message":"text code"}`, wire.RemoteError{Code: -32000, Message: "text code"}},
		{`{"code":-32000.0,"message":"float code"}`, wire.RemoteError{Code: -32000, Message: "float code"}},
		{`{"code":-1}`, wire.RemoteError{Code: -1, Message: "error without a message"}},
		{`{"code":-1,"message":{"odd":true}}`, wire.RemoteError{Code: -1, Message: "error without a message"}},
		{"{\"code\":-1,\"message\":\"a\tb\"}", wire.RemoteError{Code: -1, Message: "a\tb"}},
	} {
		conn, p := connect(t, wire.Config{})
		wait := do(t, conn, wire.Request{})
		p.receive()
		p.send(`{"jsonrpc":"2.0","id":"u1","error":` + c.sent + `}`)
		_, err := wait()
		got, ok := errors.AsType[*wire.RemoteError](err)
		if !ok {
			t.Errorf("%s: %v", c.sent, err)
			continue
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.sent, diff)
		}
	}
}

// TestAnswerThatAnswersNothing fails its request at once and no other.
func TestAnswerThatAnswersNothing(t *testing.T) {
	for _, c := range []struct{ members, reason string }{
		{``, "neither a result nor an error"},
		{`,"results":{}`, "neither a result nor an error"},
		{`,"result":{},"error":{"code":1,"message":"m"}`, "a result and an error"},
		{`,"error":"just text"`, `no object but "just text"`},
		{`,"error":[1]`, "no object but [1]"},
		{`,"error":null`, "no object but null"},
	} {
		t.Run(c.members, func(t *testing.T) {
			conn, p := connect(t, wire.Config{})
			first := do(t, conn, wire.Request{})
			p.receive()
			second := do(t, conn, wire.Request{})
			p.receive()
			p.send(`{"jsonrpc":"2.0","id":"u1"` + c.members + `}`)
			if _, err := first(); !errors.Is(err, wire.ErrMalformed) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
			p.send(`{"jsonrpc":"2.0","id":"u2","result":{}}`)
			if _, err := second(); err != nil {
				t.Errorf("the other request: %v", err)
			}
			if s := conn.Stats(); s.Noise != 0 || s.Stray != 0 {
				t.Errorf("counted as %+v", s)
			}
		})
	}
}

func TestEndOfStreamFailsWaitingRequests(t *testing.T) {
	conn, p := connect(t, wire.Config{})
	wait := do(t, conn, wire.Request{})
	p.receive()
	_ = p.out.Close()
	_, err := wait()
	lost, ok := errors.AsType[*wire.LostError](err)
	if !ok || !lost.Sent || !errors.Is(err, wire.ErrEnded) {
		t.Errorf("got %v, want a loss after sending", err)
	}
	if _, err := conn.Do(context.WithoutCancel(t.Context()), wire.Request{ID: conn.NextID(), Method: "x"}); err == nil {
		t.Error("a request on an ended connection succeeds")
	}
}
