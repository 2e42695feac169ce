package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

func TestMain(m *testing.M) {
	ushertest.Main()
	if size, err := strconv.Atoi(os.Getenv(echoVar)); err == nil {
		echo(os.Stdin, os.Stdout, size)
		return
	}
	goleak.VerifyTestMain(m)
}

// dial opens a session that ends with the test.
func dial(t *testing.T, spec config.Server, opts client.Options) *client.Session {
	t.Helper()
	s, err := client.Dial(t.Context(), spec, opts)
	if err != nil {
		t.Fatalf("Dial: %v (%s)", err, detail(err))
	}
	t.Cleanup(func() { closeSession(t, s) })
	return s
}

func closeSession(t *testing.T, s *client.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func detail(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return fmt.Sprintf("hint %q, stderr %q", e.Hint, e.Stderr)
	}
	return ""
}

// wantError checks the code of an error and returns it.
func wantError(t *testing.T, err error, phase client.Phase, code client.Code) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Code != code || e.Phase != phase {
		t.Fatalf("error %v (%s), want code %s in phase %s", err, detail(err), code, phase)
	}
	return e
}

// auto lets spec be probed.
func auto(spec config.Server) config.Server {
	spec.VersionNegotiation = config.Auto
	return spec
}

// scripted is a server that the test speaks by hand, in place of a process.
type scripted struct {
	t   *testing.T
	in  *json.Decoder
	out io.WriteCloser
	// serve runs when the server is started.
	serve func(*scripted)

	reader *io.PipeReader // the server's stdin
	stdin  io.WriteCloser
	stdout io.ReadCloser
	once   sync.Once
	closed chan struct{} // the client closes the process
	done   chan struct{}
}

// message is a frame as the server received it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// launcher starts the scripts one after the other.
type launcher struct {
	t       *testing.T
	scripts []func(*scripted)
	started int
}

func script(t *testing.T, scripts ...func(*scripted)) *launcher {
	return &launcher{t: t, scripts: scripts}
}

func (l *launcher) Launch(context.Context, config.Server) (client.Process, error) {
	if l.started == len(l.scripts) {
		return nil, errors.New("no script for another process")
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	p := &scripted{
		t: l.t, in: json.NewDecoder(serverIn), out: serverOut, reader: serverIn,
		stdin: clientOut, stdout: clientIn, closed: make(chan struct{}), done: make(chan struct{}), serve: l.scripts[l.started],
	}
	l.started++
	go func() {
		p.serve(p)
		_ = p.out.Close()
		_ = p.reader.Close()
		close(p.done)
	}()
	return p, nil
}

func (p *scripted) Stdin() io.WriteCloser  { return p.stdin }
func (p *scripted) Stdout() io.ReadCloser  { return p.stdout }
func (p *scripted) PID() int               { return 4242 }
func (p *scripted) Stderr() (string, bool) { return "last words", false }
func (p *scripted) Done() <-chan struct{}  { return p.done }
func (p *scripted) ExitStatus() string {
	select {
	case <-p.done:
		return "exit status 9"
	default:
		return ""
	}
}

func (p *scripted) Close(context.Context) error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.stdin.Close()
		_ = p.stdout.Close()
	})
	<-p.done
	return nil
}

// receive returns the next frame; ok is false at the end of the input.
func (p *scripted) receive() (m message, ok bool) {
	return m, p.in.Decode(&m) == nil
}

// expect receives a frame of this method.
func (p *scripted) expect(method string) message {
	m, ok := p.receive()
	if !ok || m.Method != method {
		p.t.Errorf("the server received %q (%v), want %q", m.Method, ok, method)
	}
	return m
}

func (p *scripted) send(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...) // the client may be gone
}

func (p *scripted) answer(m message, result string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *scripted) refuse(m message, code int, data string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused","data":%s}}`, m.ID, code, data)
}

// handshake is the legacy one.
func (p *scripted) handshake() {
	p.answer(p.expect("initialize"), `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
	p.expect("notifications/initialized")
}

// drain reads until the client is gone.
func (p *scripted) drain() {
	for {
		if _, ok := p.receive(); !ok {
			return
		}
	}
}

// discoverable answers the probe of a modern server and leaves.
func discoverable(capabilities string) func(*scripted) {
	return func(p *scripted) {
		p.answer(p.expect("server/discover"), `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+capabilities+`}`)
		p.drain()
	}
}

// openEra opens a session of an era with a server that does as f says once the session is open.
func openEra(t *testing.T, era client.Era, f func(*scripted)) *client.Session {
	t.Helper()
	if era == client.Modern {
		return dial(t, auto(scriptedServer()), client.Options{Launcher: script(t, discoverable(`{"tools":{}}`), f)})
	}
	return dial(t, scriptedServer(), client.Options{Launcher: script(t, func(p *scripted) { p.handshake(); f(p) })})
}

// scriptedServer is the entry that goes with a launcher.
func scriptedServer() config.Server { return config.Server{Name: "script", Command: "none"} }

var errTest = errors.New("args: a list of strings is needed")
