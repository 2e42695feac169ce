package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// templates are well-formed frames of every kind a server can send; {{id}} is the id of the request they answer. Those
// with an id of a request are sent in answer to it, the others at once.
var templates = []struct{ method, frame string }{
	{"initialize", `{"jsonrpc":"2.0","id":"{{id}}","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i"}}`},
	{"server/discover", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":1,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}`},
	{"tools/list", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resultType":"complete","ttlMs":5,"tools":[{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://x"}}},{"name":"u","inputSchema":{"type":"object"}}]}}`},
	{"prompts/list", `{"jsonrpc":"2.0","id":"{{id}}","result":{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}]}}`},
	{"resources/list", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resources":[{"uri":"a://b","name":"b","size":7,"mimeType":"m"}]}}`},
	{"resources/templates/list", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resourceTemplates":[{"uriTemplate":"a://{b}","name":"b"}]}}`},
	{"resources/read", `{"jsonrpc":"2.0","id":"{{id}}","result":{"ttlMs":5,"contents":[{"uri":"a://b","text":"t"},{"uri":"a://c","blob":"AA=="}]}}`},
	{"prompts/get", `{"jsonrpc":"2.0","id":"{{id}}","result":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}}`},
	{"completion/complete", `{"jsonrpc":"2.0","id":"{{id}}","result":{"completion":{"values":["a"],"total":1,"hasMore":false}}}`},
	{"tools/call", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resultType":"complete","isError":false,"structuredContent":{"a":1},"content":[{"type":"text","text":"t","annotations":{"priority":1}},{"type":"image","data":"AA==","mimeType":"m"},{"type":"resource","resource":{"uri":"a://b","text":"t"}},{"type":"resource_link","uri":"a://b","name":"n"}]}}`},
	{"tools/call", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x"}]}}}}}},"l":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":1}},"m":{"method":"roots/list"}}}}`},
	{"tools/call", `{"jsonrpc":"2.0","id":"{{id}}","error":{"code":-32602,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}}`},
	{"subscriptions/listen", `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"{{id}}"},"notifications":{"toolsListChanged":true}}}`},
	{"subscriptions/listen", `{"jsonrpc":"2.0","id":"{{id}}","result":{"resultType":"complete"}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u1","progress":1,"total":2,"message":"m"}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"a":1}}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"u2"}}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"u1","reason":"r"}}`},
	{"", `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}`},
	{"", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`},
	{"", `{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x"}]}}}}}}`},
	{"", `{"jsonrpc":"2.0","id":"e2","method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x","elicitationId":"e"}}`},
	{"", `{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":1,"modelPreferences":{"hints":[{"name":"n"}]}}}`},
	{"", `{"jsonrpc":"2.0","id":4,"method":"roots/list","params":{}}`},
	{"", `{"jsonrpc":"2.0","id":"u1","result":{}}`},
	{"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`},
}

// replacements are what a part of a frame can turn into.
var replacements = []string{
	`null`, `true`, `0`, `-1`, `1.5`, `9007199254740993`, `1e400`, `""`, `"x"`, `"2026-07-28"`, `"u1"`, `[]`, `[null]`, `{}`,
	`{"x":null}`, `[[]]`, `"\ud800"`,
}

// program is a mutation program read from the fuzzer's bytes; a program that is over gives zeros.
type program struct{ code []byte }

func (p *program) next(n int) int {
	if len(p.code) == 0 || n <= 0 {
		return 0
	}
	b := p.code[0]
	p.code = p.code[1:]
	return int(b) % n
}

// mutate changes parts of a frame: replaced, removed, doubled, wrapped.
func (p *program) mutate(frame string) string {
	var tree any
	if json.Unmarshal([]byte(frame), &tree) != nil {
		return frame
	}
	for range 1 + p.next(3) {
		tree = p.change(tree)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return frame
	}
	return string(out)
}

func (p *program) change(v any) any {
	switch t := v.(type) {
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(t)); len(keys) > 0 && p.next(4) > 0 {
			key := keys[p.next(len(keys))]
			if p.next(6) == 5 {
				delete(t, key)
			} else {
				t[key] = p.change(t[key])
			}
			return t
		}
	case []any:
		if len(t) > 0 && p.next(4) > 0 {
			i := p.next(len(t))
			if t[i] = p.change(t[i]); p.next(4) == 3 {
				t = append(t, t[i])
			}
			return t
		}
	}
	return json.RawMessage(replacements[p.next(len(replacements))])
}

// FuzzSession runs a session of either era, with an SDK client inside where it is legacy, against a server whose frames
// are mutated. Nothing may panic or hang, and a session that is still there must answer a well-formed call.
func FuzzSession(f *testing.F) {
	for i := range templates {
		for era := range byte(2) {
			for _, tail := range [][]byte{{0, 0}, {0, 3, 0, 0}, {2, 3, 1, 1, 3, 0, 5, 3, 2, 2}, {1, 3, 2, 0, 3, 0, 3, 1, 2, 0, 0}} {
				f.Add(append([]byte{era, byte(i), 1}, tail...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		p := &program{code}
		l := &fuzzLauncher{t: t}
		spec := scriptedServer()
		if p.next(2) == 1 {
			spec = auto(spec)
		}
		chosen := p.next(len(templates))
		l.method = templates[chosen].method
		for range 1 + p.next(3) {
			l.mutants = append(l.mutants, p.mutate(templates[chosen].frame))
		}
		spec.DiscoveryTimeout = 5500 * time.Millisecond
		var a answering
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		s, err := client.Dial(ctx, spec, client.Options{
			Launcher: l, Handler: a.handler(), OnListChanged: func(string) {}, OnResourceUpdated: func(string) {},
			OnLog: func(string, string, json.RawMessage) {},
		})
		if err != nil {
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Message == "" {
				t.Errorf("%v is no *Error", err)
			}
			return
		}
		exercise(ctx, t, s)
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

func exercise(ctx context.Context, t *testing.T, s *client.Session) {
	check := func(err error) {
		if _, ok := errors.AsType[*client.Error](err); err != nil && !ok {
			t.Errorf("%v is no *Error", err)
		}
	}
	opts := client.CallOptions{Idle: 200 * time.Millisecond, OnProgress: func(client.Progress) {}, OutputSchema: json.RawMessage(`{"type":"object"}`)}
	tools, err := s.Tools(ctx)
	check(err)
	for _, tool := range tools.Items {
		if !json.Valid(tool.Raw) || !json.Valid(tool.InputSchema) {
			t.Errorf("tool %s is not JSON", tool.Raw)
		}
	}
	_, err = s.Prompts(ctx)
	check(err)
	_, err = s.Resources(ctx)
	check(err)
	_, err = s.ResourceTemplates(ctx)
	check(err)
	_, err = s.ReadResource(ctx, "a://b")
	check(err)
	_, err = s.Prompt(ctx, "p", nil)
	check(err)
	_, err = s.Complete(ctx, client.CompletionRef{Prompt: "p"}, "a", "", nil)
	check(err)
	r, err := s.Call(ctx, "t", nil, opts)
	check(err)
	if err == nil && !json.Valid(r.Raw) {
		t.Errorf("result %s is not JSON", r.Raw)
	}
	select {
	case <-s.Done():
	default:
		if _, err := s.Call(ctx, "healthy", nil, client.CallOptions{Idle: 10 * time.Second}); err != nil {
			t.Errorf("the session no longer answers: %v", err)
		}
	}
	_ = s.Warnings()
}

func replaceID(frame string, id json.RawMessage) string {
	return strings.ReplaceAll(frame, `"{{id}}"`, string(id))
}

// fuzzLauncher serves well-formed answers, except for the method whose answers are mutants. Mutants that answer nothing
// come before the first answer after the handshake.
type fuzzLauncher struct {
	t       *testing.T
	method  string
	mutants []string
	once    sync.Once
}

func (l *fuzzLauncher) Launch(context.Context, config.Server) (client.Process, error) {
	p := &scripted{t: l.t, closed: make(chan struct{}), done: make(chan struct{}), serve: l.serve}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	p.in, p.out, p.reader, p.stdin, p.stdout = json.NewDecoder(serverIn), serverOut, serverIn, clientOut, clientIn
	go func() {
		p.serve(p)
		_ = p.out.Close()
		_ = p.reader.Close()
		close(p.done)
	}()
	return p, nil
}

func (l *fuzzLauncher) serve(p *scripted) {
	out := make(chan string, 1000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for line := range out {
			p.send("%s", line)
		}
	})
	defer wg.Wait()
	defer close(out)
	answered := 0 // a mutant that asks for input is not asked for ever
	for {
		m, ok := p.receive()
		if !ok {
			_ = p.stdout.Close() // nobody reads any more
			return
		}
		if m.Method == "" || len(m.ID) == 0 {
			continue
		}
		if l.method == "" && m.Method != "initialize" && m.Method != "server/discover" {
			l.once.Do(func() {
				for _, mutant := range l.mutants {
					out <- mutant
				}
			})
		}
		healthy := m.Method == "tools/call" && member(m.Params, "name") == `"healthy"`
		if m.Method == l.method && !healthy && answered < 3 {
			answered++
			for _, mutant := range l.mutants {
				out <- replaceID(mutant, m.ID)
			}
			// Whatever the mutants are, the request is answered in the end.
			if m.Method == "initialize" || m.Method == "server/discover" {
				out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
				continue
			}
			out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			continue
		}
		for _, t := range templates {
			if t.method == m.Method {
				out <- replaceID(t.frame, m.ID)
				break
			}
		}
		if m.Method == "logging/setLevel" {
			out <- replaceID(`{"jsonrpc":"2.0","id":"{{id}}","result":{}}`, m.ID)
		}
	}
}
