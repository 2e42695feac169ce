package ushertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
)

// Record is one line of fx's log. Which fields are set depends on Event.
type Record struct {
	Time time.Time `json:"time"`
	PID  int       `json:"pid"`
	// Event is what happened:
	//
	//	start      the process runs: Args, Env, Dir
	//	listen     HTTP: Text is the URL
	//	received   a frame came in: Text, Size, Method, ID; HTTP: HTTP and Header
	//	sent       a frame went out: Text, Size, Method, ID
	//	request    HTTP: a request without a frame, e.g. GET or DELETE: HTTP and Header
	//	violation  the client broke a rule of the protocol: Text
	//	child      --child started a process: Child
	//	refused    --lock: another fx holds the file
	//	signal     Text is its name
	//	eof        stdin ended
	//	exit       the process leaves by itself: Status
	Event string `json:"event"`

	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
	Dir  string            `json:"dir,omitempty"`

	// Text is the frame as it crossed the wire, byte for byte; it is left out beyond 1 MiB.
	Text string `json:"text,omitempty"`
	// Frame is Text where that is JSON. It is not in the file but set on reading.
	Frame  json.RawMessage `json:"-"`
	Size   int             `json:"size,omitempty"` // bytes, without the line end
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`

	HTTP   string              `json:"http,omitempty"` // "POST /mcp"
	Header map[string][]string `json:"header,omitempty"`

	Child  int `json:"child,omitempty"`
	Status int `json:"status,omitempty"`
}

// Params returns the params of a frame as a generic value; nil when it has none.
func (r Record) Params() map[string]any {
	var m struct {
		Params map[string]any `json:"params"`
	}
	d := json.NewDecoder(bytes.NewReader(r.Frame))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return nil
	}
	return m.Params
}

// Log is what one or more runs of fx saw, in order.
type Log []Record

// Events returns the records of one event.
func (l Log) Events(event string) Log {
	return slices.DeleteFunc(slices.Clone(l), func(r Record) bool { return r.Event != event })
}

// Received returns the frames with this method that came in.
func (l Log) Received(method string) Log {
	return slices.DeleteFunc(l.Events("received"), func(r Record) bool { return r.Method != method })
}

// Methods lists the methods that came in, in order. Responses of the client have none and are left out.
func (l Log) Methods() []string {
	var out []string
	for _, r := range l.Events("received") {
		if r.Method != "" {
			out = append(out, r.Method)
		}
	}
	return out
}

// Violations lists the rules the client broke, as far as fx watches them.
func (l Log) Violations() []string {
	var out []string
	for _, r := range l.Events("violation") {
		out = append(out, r.Text)
	}
	return out
}

// PIDs lists the processes that wrote the log, in order of their first record.
func (l Log) PIDs() []int {
	var out []int
	for _, r := range l {
		if !slices.Contains(out, r.PID) {
			out = append(out, r.PID)
		}
	}
	return out
}

// Of returns the records of one process.
func (l Log) Of(pid int) Log {
	return slices.DeleteFunc(slices.Clone(l), func(r Record) bool { return r.PID != pid })
}

// ReadLog reads what the server made by Command has logged so far. A server that never started has an empty log.
func ReadLog(t testing.TB, server config.Server) Log {
	t.Helper()
	log, err := ReadLogFile(logFile(server.Args))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// ReadLogFile reads the file given with --log. A file that does not exist is an empty log. A last line still being written
// is left out.
func ReadLogFile(path string) (Log, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var log Log
	r := bufio.NewReader(file)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(log)+1, err)
		}
		if frame := []byte(rec.Text); (rec.Event == "received" || rec.Event == "sent") && json.Valid(frame) {
			rec.Frame = frame
		}
		log = append(log, rec)
	}
}

func logFile(args []string) string {
	for i := len(args) - 2; i >= 0; i-- {
		if args[i] == "--log" || args[i] == "-log" {
			return args[i+1]
		}
	}
	return ""
}

// frameLimit is the longest frame that is logged whole.
const frameLimit = 1 << 20

// recorder appends records to the log file, each with one write, so that several processes can share a file.
type recorder struct {
	mu   sync.Mutex
	file *os.File // nil: no log is wanted
}

func openRecorder(path string) (*recorder, error) {
	if path == "" {
		return &recorder{}, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &recorder{file: file}, err
}

func (l *recorder) add(r Record) {
	if l.file == nil {
		return
	}
	r.Time, r.PID = time.Now(), os.Getpid()
	line, err := json.Marshal(r)
	if err != nil {
		line = fmt.Appendf(nil, `{"time":%q,"pid":%d,"event":"violation","text":%q}`, r.Time.Format(time.RFC3339Nano), r.PID, err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.Write(append(line, '\n')) // a log that cannot be written shows as an empty one
}

// frame records one frame, with what r holds already.
func (l *recorder) frame(event string, data []byte, r Record) {
	if l.file == nil {
		return
	}
	data = bytes.TrimRight(data, "\r\n")
	r.Event, r.Size = event, len(data)
	if len(data) <= frameLimit {
		r.Text = string(data)
	}
	var m message
	if json.Unmarshal(data, &m) == nil {
		r.Method, r.ID = m.Method, m.ID
	}
	l.add(r)
}

func (l *recorder) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
