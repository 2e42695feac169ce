package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// The benchmarks compare a session with a minimal line client (the floor) and a bare session of the SDK, over a server
// too cheap to hide any of them. Read them as ratios of one run.

// echoVar makes the test binary an echo server; its value is the size of a result.
const echoVar = "USHER_BENCH_ECHO"

// echo answers initialize and calls by cutting the id out of the line: no JSON library on this side.
func echo(in io.Reader, out io.Writer, size int) {
	text := strings.Repeat("x", size)
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		start := bytes.Index(line, []byte(`"id":`))
		if start < 0 {
			continue
		}
		start += len(`"id":`)
		id := line[start : start+bytes.IndexAny(line[start:], ",}")]
		if bytes.Contains(line, []byte(`"initialize"`)) {
			_, err = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}}`+"\n", id)
		} else {
			_, err = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", id, text)
		}
		if err != nil {
			return
		}
	}
}

// caller makes one call.
type caller func(ctx context.Context) error

// floor is a line client that does what it must and nothing else.
type floor struct {
	writing sync.Mutex
	w       io.Writer
	mu      sync.Mutex
	next    int
	pending map[int]chan json.RawMessage
}

func newFloor(r io.Reader, w io.Writer) *floor {
	f := &floor{w: w, pending: make(map[int]chan json.RawMessage)}
	go func() {
		lines := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m struct {
				ID     int             `json:"id"`
				Result json.RawMessage `json:"result"`
			}
			if json.Unmarshal(line, &m) != nil {
				return
			}
			f.mu.Lock()
			ch := f.pending[m.ID]
			delete(f.pending, m.ID)
			f.mu.Unlock()
			ch <- m.Result
		}
	}()
	return f
}

func (f *floor) call(context.Context) error {
	ch := make(chan json.RawMessage, 1)
	f.mu.Lock()
	f.next++
	id := f.next
	f.pending[id] = ch
	f.mu.Unlock()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": "echo", "arguments": map[string]any{"message": benchText}},
	})
	if err == nil {
		f.writing.Lock()
		_, err = f.w.Write(append(line, '\n'))
		f.writing.Unlock()
	}
	if err != nil {
		return err
	}
	var r struct {
		Content []struct{ Type, Text string }
	}
	return json.Unmarshal(<-ch, &r)
}

var (
	benchText = strings.Repeat("a", 100)
	benchArgs = json.RawMessage(`{"message":"` + benchText + `"}`)
)

func sessionCaller(s *client.Session) caller {
	return func(ctx context.Context) error {
		_, err := s.Call(ctx, "echo", benchArgs, client.CallOptions{})
		return err
	}
}

func sdkCaller(b *testing.B, r io.ReadCloser, w io.WriteCloser) caller {
	b.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "b", Version: "1"}, nil)
	s, err := c.Connect(b.Context(), &mcp.IOTransport{Reader: r, Writer: w}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return func(ctx context.Context) error {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: benchArgs})
		return err
	}
}

// echoLauncher serves echo in memory.
type echoLauncher struct{ size int }

func (l echoLauncher) Launch(context.Context, config.Server) (client.Process, error) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	p := &scripted{reader: serverIn, out: serverOut, stdin: clientOut, stdout: clientIn, closed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		echo(serverIn, serverOut, l.size)
		close(p.done)
	}()
	return p, nil
}

func openSession(b *testing.B, spec config.Server, opts client.Options) caller {
	b.Helper()
	s, err := client.Dial(b.Context(), spec, opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return sessionCaller(s)
}

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 100 << 10, 5 << 20} {
		pipes := func(b *testing.B) (io.ReadCloser, io.WriteCloser) {
			serverIn, clientOut := io.Pipe()
			clientIn, serverOut := io.Pipe()
			go echo(serverIn, serverOut, size)
			b.Cleanup(func() {
				_ = clientOut.Close()
				_ = clientIn.Close()
			})
			return clientIn, clientOut
		}
		process := func(b *testing.B) (io.ReadCloser, io.WriteCloser) {
			cmd := exec.Command(os.Args[0]) //nolint:noctx // ended by its input
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", echoVar, size))
			w, err := cmd.StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			r, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				_ = w.Close()
				_ = cmd.Wait()
			})
			return r, w
		}
		spec := config.Server{
			Name: "echo", Command: os.Args[0],
			Env: map[string]config.Secret{echoVar: config.Secret(fmt.Sprint(size)), "GORACE": "atexit_sleep_ms=0"},
		}
		for _, c := range []struct {
			name string
			open func(*testing.B) caller
		}{
			{"memory/floor", func(b *testing.B) caller { return newFloor(pipes(b)).call }},
			{"memory/session", func(b *testing.B) caller { return openSession(b, spec, client.Options{Launcher: echoLauncher{size}}) }},
			{"memory/sdk", func(b *testing.B) caller { r, w := pipes(b); return sdkCaller(b, r, w) }},
			{"process/floor", func(b *testing.B) caller { return newFloor(process(b)).call }},
			{"process/session", func(b *testing.B) caller { return openSession(b, spec, client.Options{}) }},
			{"process/sdk", func(b *testing.B) caller { r, w := process(b); return sdkCaller(b, r, w) }},
		} {
			for _, parallel := range []int{1, 64} {
				if parallel > 1 && size > 100 {
					continue
				}
				b.Run(fmt.Sprintf("%dB/%d/%s", size, parallel, c.name), func(b *testing.B) {
					call := c.open(b)
					b.ReportAllocs()
					b.SetParallelism(parallel)
					if parallel == 1 {
						for b.Loop() {
							if err := call(b.Context()); err != nil {
								b.Fatal(err)
							}
						}
						return
					}
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := call(b.Context()); err != nil {
								b.Error(err)
								return
							}
						}
					})
				})
			}
		}
	}
}
