package ushertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
)

// roleVar turns a test binary into fx ("serve") or into the process that --child starts ("child").
const roleVar = "USHERTEST_ROLE"

// Main makes the program fx if Command started it, and does not return then. Otherwise it does nothing. Call it first in
// TestMain, or in main of a program.
func Main() {
	switch os.Getenv(roleVar) {
	case "":
		return
	case "child":
		os.Exit(childMain()) //nolint:forbidigo // the process is fx's own
	default:
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // the process is fx's own
	}
}

// Command gives the configuration entry of an fx with these flags: a stdio server named "fx" that runs the test binary,
// which must call Main in TestMain. A log is kept in the test's directory unless the flags name one; see ReadLog. Wrong
// flags fail the test at once.
func Command(t testing.TB, flags ...string) config.Server {
	t.Helper()
	if _, err := parseFlags(flags); err != nil {
		t.Fatalf("fx: %v", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string(nil), flags...)
	if logFile(args) == "" {
		args = append(args, "--log", filepath.Join(t.TempDir(), "fx.log"))
	}
	return config.Server{
		Name: "fx", Type: "stdio", Command: program, Args: args,
		// A program built with -race sleeps a second before it exits, unless told otherwise.
		Env: map[string]config.Secret{roleVar: "serve", "GORACE": "atexit_sleep_ms=0"},
	}
}

// Run serves one client on stdin and stdout, as the flags in args say, and returns the exit status: 0 when stdin ended, 2
// when a flag is wrong, 75 when another fx holds the lock. With --http it serves HTTP until stdin ends. The end of ctx ends it
// as the end of stdin does.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fx:", err)
		return 2
	}
	log, err := openRecorder(opts.log)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fx:", err)
		return 2
	}
	defer log.close()
	dir, _ := os.Getwd() // only for the log
	log.add(Record{Event: "start", Args: args, Env: environment(), Dir: dir})
	status := run(ctx, opts, log, stdin, stdout, stderr)
	log.add(Record{Event: "exit", Status: status})
	return status
}

// lockedStatus is the exit status when another fx holds the lock; sysexits calls it a temporary failure.
const lockedStatus = 75

func run(ctx context.Context, opts *options, log *recorder, stdin io.Reader, stdout, stderr io.Writer) int {
	if opts.lock != "" {
		release, err := lock(opts.lock)
		if err != nil {
			log.add(Record{Event: "refused", Text: err.Error()})
			_, _ = fmt.Fprintf(stderr, "fx: %s is held by another server\n", opts.lock)
			return lockedStatus
		}
		defer release()
	}
	stopSignals := watchSignals(opts, log)
	defer stopSignals()
	if opts.child != "" {
		pid, err := startChild(opts.child == "setsid")
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "fx: child:", err)
			return 1
		}
		log.add(Record{Event: "child", Child: pid})
	}
	if err := fill(stderr, opts.noiseStderr); err != nil {
		return 1
	}
	if opts.http != "" {
		return serveHTTP(ctx, opts, log, stdin, stderr)
	}
	status, _ := serveStream(ctx, opts, log, stdin, stdout)
	return status
}

// serveStream speaks newline-delimited JSON-RPC until stdin ends or a flag says to leave. cleanup waits for what still
// runs; it needs both streams closed. A process has no use for it, since it ends.
func serveStream(ctx context.Context, opts *options, log *recorder, stdin io.Reader, stdout io.Writer) (status int, cleanup func()) {
	ctx, cancel := context.WithCancel(ctx)
	quit := make(chan int, 1)
	srv := newServer(ctx, opts, log, func(status int) {
		select {
		case quit <- status:
		default:
		}
	})
	w := &lineWriter{w: stdout, log: log, noisy: opts.noiseStdout}
	w.begin(opts.banner)
	p := srv.newPeer(w.send)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readLines(ctx, p, log, w, stdin, quit)
	}()
	cleanup = func() {
		cancel()
		<-ended
		p.drop()
	}
	select {
	case status := <-quit:
		return status, cleanup
	case <-ctx.Done():
		return 0, cleanup
	case <-ended:
	}
	if len(quit) > 0 {
		return <-quit, cleanup
	}
	log.add(Record{Event: "eof"})
	if opts.ignoreEOF {
		status = <-quit // which only a call still running could send
	}
	return status, cleanup
}

func readLines(ctx context.Context, p *peer, log *recorder, w *lineWriter, stdin io.Reader, quit <-chan int) {
	r := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			log.frame("received", line, Record{})
			p.receive(ctx, []byte(text), w.send, nil)
		}
		if err != nil || len(quit) > 0 { // what comes after a fatal message is not to be served
			return
		}
	}
}

// lineWriter writes whole lines, one at a time.
type lineWriter struct {
	mu    sync.Mutex
	w     io.Writer
	log   *recorder
	noisy bool
	lines int
}

// begin writes what a careless server prints before the first frame.
func (w *lineWriter) begin(banner string) {
	if banner != "" {
		w.write([]byte(banner + "\n"))
	}
	if w.noisy {
		w.write([]byte("\ufeff\x1b[32mfx 1.0.0\x1b[0m listening on stdio\r\n\r\n{\"level\":30,\"msg\":\"started\"}\n"))
	}
}

func (w *lineWriter) send(frame []byte) {
	w.log.frame("sent", frame, Record{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noisy {
		w.lines++
		w.write(fmt.Appendf(nil, "debug: about to send message %d\n", w.lines))
	}
	w.write(append(slices.Clip(frame), '\n'))
}

// write ignores errors: a client that is gone shows as the end of stdin.
func (w *lineWriter) write(b []byte) { _, _ = w.w.Write(b) }

// fill writes n bytes of log lines.
func fill(w io.Writer, n int) error {
	line := strings.Repeat("e", 126) + "\n"
	chunk := strings.Repeat(line, 256)
	for n > 0 {
		c := chunk[:min(n, len(chunk))]
		if _, err := io.WriteString(w, c); err != nil {
			return err
		}
		n -= len(c)
	}
	return nil
}

func environment() map[string]string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// childLimit ends a forgotten child of a failed test.
const childLimit = 10 * time.Minute

// Pipe is an fx in this process, at the other end of two pipes.
type Pipe struct {
	// Reader and Writer are the client's ends: stdout and stdin of the server.
	Reader io.ReadCloser
	Writer io.WriteCloser

	log  string
	once sync.Once
	done chan struct{}
}

// NewPipe starts an fx with these flags in memory. It ends with the test, which waits for it. Flags about processes and
// signals (--child, --ignore-eof, --ignore-term, --noise stderr, --http) are refused; --exit-on closes the pipes.
func NewPipe(t testing.TB, flags ...string) *Pipe {
	t.Helper()
	opts, err := parseFlags(flags)
	if err == nil && (opts.needsProcess() || opts.http != "") {
		err = errors.New("a flag needs a process of its own")
	}
	if err != nil {
		t.Fatalf("fx: %v", err)
	}
	if opts.log == "" {
		opts.log = filepath.Join(t.TempDir(), "fx.log")
	}
	log, err := openRecorder(opts.log)
	if err != nil {
		t.Fatal(err)
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx := context.WithoutCancel(t.Context()) // Close ends it, after the test's own cleanup
	p := &Pipe{Reader: clientIn, Writer: clientOut, log: opts.log, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer log.close()
		log.add(Record{Event: "start", Args: flags})
		status, cleanup := serveStream(ctx, opts, log, serverIn, serverOut)
		_ = serverOut.Close()
		_ = serverIn.Close()
		cleanup()
		log.add(Record{Event: "exit", Status: status})
	}()
	t.Cleanup(p.Close)
	return p
}

// Close closes the client's ends and waits for the server.
func (p *Pipe) Close() {
	p.once.Do(func() {
		_ = p.Writer.Close()
		_ = p.Reader.Close()
	})
	<-p.done
}

// Log reads what the server has logged so far.
func (p *Pipe) Log(t testing.TB) Log {
	t.Helper()
	log, err := ReadLogFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return log
}
