package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
)

// floor is the least that a client of lines can do: one writer under a lock, one reader, one map of waiting calls.
// No validation, no bounds, no recovery. Nothing that does its work can be much cheaper.
type floor struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed when the reader is done

	mu      sync.Mutex
	next    int64
	waiting map[int64]waiter
}

type waiter struct {
	answer   chan json.RawMessage
	progress func()
}

func dialFloor(ctx context.Context, command string, args []string) (session, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	f := &floor{cmd: cmd, stdin: stdin, ended: make(chan struct{}), waiting: map[int64]waiter{}}
	go f.read(stdout)
	if _, err := f.request(ctx, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}`, nil); err != nil {
		return nil, errors.Join(err, f.close())
	}
	if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *floor) read(stdout io.Reader) {
	defer close(f.ended)
	r := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var message struct {
			ID     int64           `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Params struct {
				Token int64 `json:"progressToken"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &message) != nil {
			return
		}
		f.mu.Lock()
		if message.Method != "" {
			w := f.waiting[message.Params.Token]
			f.mu.Unlock()
			if w.progress != nil {
				w.progress()
			}
			continue
		}
		w := f.waiting[message.ID]
		delete(f.waiting, message.ID)
		f.mu.Unlock()
		if w.answer != nil {
			w.answer <- message.Result
		}
	}
}

func (f *floor) request(ctx context.Context, method, params string, progress func()) (json.RawMessage, error) {
	w := waiter{answer: make(chan json.RawMessage, 1), progress: progress}
	f.mu.Lock()
	f.next++
	id := f.next
	f.waiting[id] = w
	line := make([]byte, 0, len(params)+96)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, id, 10)
	line = append(line, `,"method":"`...)
	line = append(line, method...)
	line = append(line, `","params":`...)
	line = append(line, params...)
	if progress != nil {
		line = append(line[:len(line)-1], `,"_meta":{"progressToken":`...)
		line = strconv.AppendInt(line, id, 10)
		line = append(line, "}}"...)
	}
	line = append(line, "}\n"...)
	_, err := f.stdin.Write(line)
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case result := <-w.answer:
		return result, nil
	case <-f.ended:
		return nil, errors.New("the server ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *floor) call(ctx context.Context, tool string, progress func()) (int, error) {
	raw, err := f.request(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"message":%q}}`, tool, message), progress)
	if err != nil {
		return 0, err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return 0, err
	}
	if len(result.Content) != 1 {
		return 0, fmt.Errorf("%d content blocks", len(result.Content))
	}
	return len(result.Content[0].Text), nil
}

func (f *floor) list(ctx context.Context) (int, error) {
	raw, err := f.request(ctx, "tools/list", `{}`, nil)
	if err != nil {
		return 0, err
	}
	var result struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

func (f *floor) close() error {
	err := f.stdin.Close()
	<-f.ended
	return errors.Join(err, f.cmd.Wait())
}
