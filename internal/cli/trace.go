package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// tracer appends frames to a file as JSON lines, with secrets masked. A nil tracer does nothing.
type tracer struct {
	redactor *config.Redactor

	mu   sync.Mutex
	file *os.File
	err  error // the first failure; after it nothing more is written
}

// traceLine is one line of a trace file; docs/cli.md documents it.
type traceLine struct {
	Time    time.Time       `json:"t"`
	Server  string          `json:"server"`
	Process string          `json:"process"`
	Dir     string          `json:"dir"`
	Frame   json.RawMessage `json:"frame"`
}

// openTrace opens the file of --trace, readable by its owner only; nil without one.
func (a *app) openTrace() (*tracer, error) {
	if a.traceFile == "" {
		return nil, nil
	}
	file, err := os.OpenFile(a.traceFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		// One that is there already keeps its mode, and others must not read what is added.
		var info os.FileInfo
		if info, err = file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			err = file.Chmod(info.Mode().Perm() &^ 0o077)
		}
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if err != nil {
		return nil, &client.Error{Code: client.CodeInvalid, Message: fmt.Sprintf("--trace: %v", err), Err: err}
	}
	return &tracer{redactor: a.redactor, file: file}, nil
}

// frame writes one frame. It is safe for concurrent use.
func (t *tracer) frame(f client.Frame) {
	if t == nil {
		return
	}
	dir := "recv"
	if f.Sent {
		dir = "send"
	}
	data := json.RawMessage(t.redactor.Bytes(f.Data))
	if !json.Valid(data) { // a server's noise, or a number that was masked
		quoted, err := json.Marshal(string(data))
		if err != nil {
			return
		}
		data = quoted
	}
	text, err := jsonLine(traceLine{Time: f.Time, Server: f.Server, Process: f.Process, Dir: dir, Frame: data})

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || t.file == nil {
		return
	}
	if err == nil {
		_, err = t.file.Write(text)
	}
	t.err = err
}

// hook is what a host is given: nil without a trace file, so that frames are not copied for nothing.
func (t *tracer) hook() func(client.Frame) {
	if t == nil {
		return nil
	}
	return t.frame
}

// close ends the trace and returns the first failure to write it.
func (t *tracer) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := errors.Join(t.err, t.file.Close())
	t.file = nil
	if err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}
