package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

// FuzzFramer lets a server write anything, and then an answer on a line of its own: the answer must arrive.
func FuzzFramer(f *testing.F) {
	for _, seed := range []string{
		"", "{", "[", "[\n{}", "{\"a\":\n", "{\"id\":\"u1\"", "\x1b[", "\xef\xbb\xbf{", "[{},", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}{",
		"{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"u1\"}}", "{\"id\":null,\"error\":[]}", "{\"id\":\"u1\",\"error\":7}",
		"{\"id\":1,\"method\":\"ping\"}", "{\"id\":\"\\ud800\",\"result\":1}", "[[[[", "{\"a\":[\n[\n]", "{\"\\u0069d\":3,\"result\":{}}",
	} {
		f.Add([]byte(seed))
	}
	for _, line := range crashLines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, written []byte) {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		conn := wire.New(t.Context(), wire.Config{
			Reader: clientIn, Writer: clientOut, MaxFrame: 1 << 16,
			Notify: func(string, json.RawMessage) {},
			Serve: func(context.Context, string, json.RawMessage) (json.RawMessage, *wire.RemoteError) {
				return json.RawMessage(`{}`), nil
			},
		})
		go func() {
			_, _ = serverIn.Read(make([]byte, 1<<10)) // the request
			go func() { _, _ = io.Copy(io.Discard, serverIn) }()
			_, _ = serverOut.Write(written)
			_, _ = io.WriteString(serverOut, "\n{\"jsonrpc\":\"2.0\",\"id\":\"u2\",\"result\":{\"ok\":true}}\n")
		}()
		_ = conn.NextID() // what the fuzzer writes may name u1
		_, err := conn.Do(context.Background(), wire.Request{ID: conn.NextID(), Method: "x", Total: 3 * time.Second})
		if _, timeout := errors.AsType[*wire.TimeoutError](err); timeout {
			t.Errorf("the answer got lost: %v", err)
		}
		_ = serverOut.Close()
		_ = serverIn.Close()
		conn.Close()
	})
}
