// Package modeltest is a model for tests that plays a script: a real HTTP server of the chat completions API. It
// keeps every request byte for byte, so that a test can say what the model saw.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// Turn is the answer to one request. Use the functions of this package for the usual ones.
type Turn struct {
	// Status and Body are an answer that is no stream; Body is sent as it is. A zero Status is 200.
	Status int
	Body   string
	// Header is added to the answer's.
	Header http.Header
	// Chunks are streamed one by one, when there is no Body.
	Chunks []Chunk
	// Finish is the reason for the end; empty means tool_calls after calls, else stop.
	Finish string
	// Usage is sent when the request asks for it.
	Usage *Usage
	// Cut ends the connection after the chunks: no finish reason, no [DONE].
	Cut bool
	// From, if set, makes the turn from the request; the other fields are not used then.
	From func(Request) Turn
}

// Chunk is one event of a stream. One of its fields is set.
type Chunk struct {
	Text      string
	Reasoning string
	// Calls are fragments of calls.
	Calls []Call
	// Raw is sent as the event's data, as it is.
	Raw string
	// Wait is waited for before going on, or until the client is gone.
	Wait <-chan struct{}
}

// Call is a tool call, or a fragment of one: the first of an index has the ID and Name.
type Call struct {
	Index     int
	ID        string
	Name      string
	Arguments string
}

// Usage counts tokens.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int
	Reasoning  int
}

// Text streams a text in pieces.
func Text(pieces ...string) Turn {
	var t Turn
	for _, p := range pieces {
		t.Chunks = append(t.Chunks, Chunk{Text: p})
	}
	return t
}

// Calls streams tool calls, all at once, each with its arguments in fragments. Index and a missing ID are filled in.
func Calls(calls ...Call) Turn {
	var (
		t     Turn
		rests []string
	)
	for i := range calls {
		calls[i].Index = i
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d", i+1)
		}
		head := calls[i]
		half := len(head.Arguments) / 2
		rests = append(rests, head.Arguments[half:])
		head.Arguments = head.Arguments[:half]
		t.Chunks = append(t.Chunks, Chunk{Calls: []Call{head}})
	}
	var tails []Call
	for i, rest := range rests {
		tails = append(tails, Call{Index: i, Arguments: rest})
	}
	t.Chunks = append(t.Chunks, Chunk{Calls: tails})
	return t
}

// Error is an answer with a status and an error in the usual form.
func Error(status int, code, message string) Turn {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "code": code, "type": "error", "param": nil}})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return Turn{Status: status, Body: string(body), Header: http.Header{"Content-Type": {"application/json"}}}
}

// With returns the turn with the header set.
func (t Turn) With(key, value string) Turn {
	t.Header = t.Header.Clone()
	if t.Header == nil {
		t.Header = http.Header{}
	}
	t.Header.Set(key, value)
	return t
}

// Request is one request that came.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte // byte for byte
	// Gone is closed when the client has left before the answer's end, or the answer has ended.
	Gone <-chan struct{}
}

// Decode reads the body into v.
func (r Request) Decode(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		tb.Fatalf("request to the model: %v\n%s", err, r.Body)
	}
}

// Server plays a script. It is safe for concurrent use; each request takes the next turn.
type Server struct {
	// URL is the base URL for a client, ending in /v1.
	URL string

	tb       testing.TB
	mu       sync.Mutex
	turns    []Turn
	requests []Request
	arrived  chan struct{}
}

// NewServer starts a server that ends with the test. A request without a turn left, and turns left at the end, fail
// the test.
func NewServer(tb testing.TB, turns ...Turn) *Server {
	tb.Helper()
	s := &Server{tb: tb, turns: slices.Clone(turns), arrived: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = server.URL + "/v1"
	tb.Cleanup(func() {
		server.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.turns) > 0 && !tb.Failed() {
			tb.Errorf("modeltest: %d turns of the script were not played", len(s.turns))
		}
	})
	return s
}

// Add appends turns to the script.
func (s *Server) Add(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Requests are those that came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await waits until n requests came, and returns the last of them. The test's own end is its bound.
func (s *Server) Await(n int) Request {
	s.tb.Helper()
	for {
		if all := s.Requests(); len(all) >= n {
			return all[n-1]
		}
		select {
		case <-s.arrived:
		case <-s.tb.Context().Done():
			s.tb.Fatalf("modeltest: %d requests came, and %d were waited for", len(s.Requests()), n)
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	request := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Gone: r.Context().Done()}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	var turn Turn
	played := len(s.turns) > 0
	if played {
		turn, s.turns = s.turns[0], s.turns[1:]
	}
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	if !played {
		s.tb.Errorf("modeltest: a request for which the script has no turn:\n%.2000s", body)
		http.Error(w, `{"error":{"message":"the script has no turn left","code":"script"}}`, http.StatusTeapot)
		return
	}
	if turn.From != nil {
		turn = turn.From(request)
	}
	s.play(w, r, turn, body)
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, t Turn, body []byte) {
	streamed := t.Body == "" && t.Status == 0
	if streamed {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	maps.Copy(w.Header(), t.Header)
	if t.Status != 0 {
		w.WriteHeader(t.Status)
	}
	if !streamed {
		_, _ = io.WriteString(w, t.Body) // the client may be gone
		return
	}
	send := func(data string) {
		_, _ = io.WriteString(w, "data: "+data+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	calls := false
	for _, c := range t.Chunks {
		switch {
		case c.Wait != nil:
			select {
			case <-c.Wait:
			case <-r.Context().Done():
				return
			}
		case c.Raw != "":
			send(c.Raw)
		default:
			calls = calls || len(c.Calls) > 0
			send(event(delta(c), nil))
		}
	}
	if t.Cut {
		panic(http.ErrAbortHandler)
	}
	finish := t.Finish
	if finish == "" {
		finish = "stop"
		if calls {
			finish = "tool_calls"
		}
	}
	send(event(map[string]any{}, finish))
	var asked struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if json.Unmarshal(body, &asked) == nil && asked.StreamOptions.IncludeUsage && t.Usage != nil {
		send(encode(map[string]any{"object": "chat.completion.chunk", "model": "scripted", "choices": []any{}, "usage": map[string]any{
			"prompt_tokens": t.Usage.Prompt, "completion_tokens": t.Usage.Completion, "total_tokens": t.Usage.Prompt + t.Usage.Completion,
			"prompt_tokens_details":     map[string]any{"cached_tokens": t.Usage.Cached},
			"completion_tokens_details": map[string]any{"reasoning_tokens": t.Usage.Reasoning},
		}}))
	}
	send("[DONE]")
}

func delta(c Chunk) map[string]any {
	d := map[string]any{}
	switch {
	case c.Text != "":
		d["content"] = c.Text
	case c.Reasoning != "":
		d["reasoning_content"] = c.Reasoning
	case len(c.Calls) > 0:
		var list []any
		for _, call := range c.Calls {
			entry := map[string]any{"index": call.Index, "function": map[string]any{"arguments": call.Arguments}}
			if call.ID != "" {
				entry["id"], entry["type"] = call.ID, "function"
			}
			if call.Name != "" {
				entry["function"] = map[string]any{"name": call.Name, "arguments": call.Arguments}
			}
			list = append(list, entry)
		}
		d["tool_calls"] = list
	}
	return d
}

func event(delta map[string]any, finish any) string {
	return encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of plain values can be encoded
	}
	return string(data)
}
