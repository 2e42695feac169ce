package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// listedTools is how many tools the server lists.
const listedTools = 1000

// maxLine bounds one request line of the server.
const maxLine = 1 << 20

// server answers MCP requests with lines prepared in advance, so that its own cost hides no client's. It is no
// parser: it finds the id, the method and the tool where every client under test writes them.
type server struct {
	out *bufio.Writer
	// delay is how long initialize takes, like a server that has to load something first.
	delay   time.Duration
	list    []byte
	results map[string][]byte // by tool
}

// serve runs the server: serve [-delay DURATION] [-tools N].
func serve(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("bench serve", flag.ContinueOnError)
	delay := flags.Duration("delay", 0, "how long initialize takes")
	count := flags.Int("tools", listedTools, "how many tools it lists")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := &server{out: bufio.NewWriterSize(out, 64<<10), delay: *delay, results: map[string][]byte{}}
	s.list = append(append([]byte(`{"tools":[`), tools(*count)...), `]}`...)
	r := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return s.out.Flush()
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := s.answer(line); err != nil {
			return err
		}
		// Requests that are already here are answered in one write, as a busy server would.
		if r.Buffered() == 0 {
			if err := s.out.Flush(); err != nil {
				return fmt.Errorf("write an answer: %w", err)
			}
		}
	}
}

// tools is the list's content: the tools that the works call, and others up to count, of about 250 bytes each.
func tools(count int) []byte {
	names := []string{
		fmt.Sprintf("text-%d", smallText), fmt.Sprintf("text-%d", middleText), fmt.Sprintf("text-%d", largeText),
		fmt.Sprintf("progress-%d", reports),
	}
	for i := len(names); i < count; i++ {
		names = append(names, fmt.Sprintf("tool-%04d", i))
	}
	var b bytes.Buffer
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"description":"Tool number %d of a long list, with a sentence that says what it does.",`+
			`"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say"},"count":{"type":"integer"}},`+
			`"required":["message"]}}`, name, i)
	}
	return b.Bytes()
}

func (s *server) answer(line []byte) error {
	id := after(line, `"id":`)
	if id == nil {
		return nil // a notification
	}
	var result []byte
	switch method := text(after(line, `"method":`)); method {
	case "tools/call":
		tool := text(after(line, `"name":`))
		if n, ok := strings.CutPrefix(tool, "progress-"); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				return fmt.Errorf("tool %q: %w", tool, err)
			}
			s.report(after(line, `"progressToken":`), count)
		}
		result = s.result(tool)
	case "initialize":
		time.Sleep(s.delay) //nolint:forbidigo // the delay is the behaviour that is asked for
		result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`)
	case "tools/list":
		result = s.list
	case "ping":
		result = []byte(`{}`)
	default:
		_, err := fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no method %s"}}`+"\n", id, method)
		return err
	}
	s.out.WriteString(`{"jsonrpc":"2.0","id":`)
	s.out.Write(id)
	s.out.WriteString(`,"result":`)
	s.out.Write(result)
	_, err := s.out.WriteString("}\n") // a bufio.Writer keeps its first error
	return err
}

// report sends count progress notifications.
func (s *server) report(token []byte, count int) {
	for i := range count {
		s.out.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`)
		s.out.Write(token)
		s.out.WriteString(`,"progress":`)
		s.out.Write(strconv.AppendInt(s.out.AvailableBuffer(), int64(i+1), 10))
		s.out.WriteString("}}\n")
	}
}

// result is what a tool returns: for text-N a text of N bytes, for progress-N a text of one byte.
func (s *server) result(tool string) []byte {
	if r, ok := s.results[tool]; ok {
		return r
	}
	n := 1
	if size, ok := strings.CutPrefix(tool, "text-"); ok {
		n, _ = strconv.Atoi(size) // 0 for a tool that no work asks for; the client's check of the length tells
	}
	r := fmt.Appendf(nil, `{"content":[{"type":"text","text":"%s"}]}`, strings.Repeat("x", n))
	s.results[tool] = r
	return r
}

// after is the JSON scalar that follows the first occurrence of key; nil when there is none.
func after(line []byte, key string) []byte {
	_, rest, ok := bytes.Cut(line, []byte(key))
	if !ok {
		return nil
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) > 0 && rest[0] == '"' {
		if end := bytes.IndexByte(rest[1:], '"'); end >= 0 {
			return rest[:end+2]
		}
	}
	if end := bytes.IndexAny(rest, ",}"); end >= 0 {
		return rest[:end]
	}
	return nil
}

// text is the value of a JSON string.
func text(scalar []byte) string {
	var s string
	if json.Unmarshal(scalar, &s) != nil {
		return ""
	}
	return s
}
