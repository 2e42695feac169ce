package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/wire"
	"github.com/usher-mcp/usher/ushertest"
)

func member(raw json.RawMessage, name string) string { return string(wire.Member(raw, name)) }

// eras runs a test against fx in both.
func eras(t *testing.T, f func(t *testing.T, open func(opts client.Options, flags ...string) (*client.Session, func() ushertest.Log))) {
	t.Helper()
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			f(t, func(opts client.Options, flags ...string) (*client.Session, func() ushertest.Log) {
				t.Helper()
				spec := ushertest.Command(t, append([]string{"--era", era}, flags...)...)
				if era == "modern" {
					spec = auto(spec)
				}
				s := dial(t, spec, opts)
				if string(s.Era()) != era {
					t.Fatalf("era %s", s.Era())
				}
				return s, func() ushertest.Log { return ushertest.ReadLog(t, spec) }
			})
		})
	}
}

func TestProgressOfACall(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{})
		var got []float64
		r, err := s.Call(t.Context(), "slow", json.RawMessage(`{"ms":50,"steps":5}`), client.CallOptions{OnProgress: func(p client.Progress) {
			got = append(got, p.Progress)
		}})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		if len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("progress %v", got)
		}
		meta, _ := log().Received("tools/call")[0].Params()["_meta"].(map[string]any)
		if token, _ := meta["progressToken"].(string); token == "" {
			t.Errorf("metadata %v has no progress token", meta)
		}
	})
}

// TestCancelledCall: the caller is free at once, the server is told, the session goes on (CAN-03).
func TestCancelledCall(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{}, "--answer-cancelled")
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Call(ctx, "slow", json.RawMessage(`{"ms":60000,"steps":6000}`), client.CallOptions{OnProgress: func(client.Progress) { cancel() }})
		e := wantError(t, err, client.PhaseCall, client.CodeCancelled)
		if !errors.Is(e, context.Canceled) {
			t.Error("the cause is lost")
		}
		if _, err := s.Call(t.Context(), "echo", nil, client.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		cancelled, called := log().Received("notifications/cancelled"), log().Received("tools/call")
		if len(cancelled) != 1 || fmt.Sprintf("%q", cancelled[0].Params()["requestId"]) != string(called[0].ID) {
			t.Errorf("cancellations %v for %s", cancelled, called[0].ID)
		}
	})
}

func TestCallThatRunsOutOfTime(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{}, "--silent", "tools/call")
		_, err := s.Call(t.Context(), "echo", nil, client.CallOptions{Idle: 50 * time.Millisecond})
		e := wantError(t, err, client.PhaseCall, client.CodeTimeout)
		if !strings.Contains(e.Hint, "timeout") || e.RPC != nil {
			t.Errorf("%+v", e)
		}
		_, err = s.Call(t.Context(), "echo", nil, client.CallOptions{Total: 50 * time.Millisecond})
		if e := wantError(t, err, client.PhaseCall, client.CodeTimeout); !strings.Contains(e.Hint, "maxCallTime") {
			t.Errorf("%+v", e)
		}
		must(s.Prompts(t.Context())) // a round trip: what was sent before has arrived
		if got := log().Received("notifications/cancelled"); len(got) != 2 {
			t.Errorf("%d cancellations", len(got))
		}
	})
}

// TestThreeOutcomes keeps a result, a tool's error and a refusal apart.
func TestThreeOutcomes(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, _ := open(client.Options{})
		if r, err := s.Call(t.Context(), "fail", nil, client.CallOptions{}); err != nil || !r.IsError {
			t.Errorf("fail: %+v, %v", r, err)
		}
		_, err := s.Call(t.Context(), "no such tool", nil, client.CallOptions{})
		if e := wantError(t, err, client.PhaseCall, client.CodeRPC); e.RPC == nil || !errors.As(err, new(*client.RPCError)) {
			t.Errorf("%+v", e)
		}
		for _, args := range []string{`[1]`, `{`, `"x"`, `null`} {
			_, err := s.Call(t.Context(), "echo", json.RawMessage(args), client.CallOptions{})
			wantError(t, err, client.PhaseCall, client.CodeInvalid)
		}
	})
}

// TestNothingIsLost sends odd results; what was sent must be in Raw and the known parts in the fields.
func TestNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		check      func(*client.Result) bool
		warnings   int
	}{
		{"big integers and order", `{"structuredContent":{"z":9007199254740993,"a":1.0},"content":[],"x":1e400}`, func(r *client.Result) bool {
			return string(r.StructuredContent) == `{"z":9007199254740993,"a":1.0}`
		}, 0},
		{"null structured content", `{"content":[],"structuredContent":null}`, func(r *client.Result) bool { return string(r.StructuredContent) == "null" }, 0},
		{"no structured content", `{"content":[]}`, func(r *client.Result) bool { return r.StructuredContent == nil }, 0},
		{"unknown content type", `{"content":[{"type":"video","fps":60},{"type":"text","text":"t"}]}`, func(r *client.Result) bool {
			return len(r.Content) == 2 && r.Content[0].Type == "video" && string(r.Content[0].Raw) == `{"type":"video","fps":60}` && r.Content[1].Text == "t"
		}, 0},
		{"null block", `{"content":[null,{"type":"text","text":"t"}]}`, func(r *client.Result) bool { return len(r.Content) == 1 }, 1},
		{"content is a string", `{"content":"t"}`, func(r *client.Result) bool { return r.Content[0].Text == "t" }, 1},
		{"content is a block", `{"content":{"type":"text","text":"t"}}`, func(r *client.Result) bool { return r.Content[0].Text == "t" }, 1},
		{"text is a number", `{"content":[{"type":"text","text":42}]}`, func(r *client.Result) bool { return r.Content[0].Text == "42" }, 0},
		{"bad base64 stays", `{"content":[{"type":"image","data":"!!","mimeType":"image/png"}]}`, func(r *client.Result) bool { return r.Content[0].Data == "!!" }, 0},
		{"isError as text", `{"content":[],"isError":"true"}`, func(r *client.Result) bool { return r.IsError }, 1},
		{"isError as a word", `{"content":[],"isError":"yes"}`, func(r *client.Result) bool { return r.IsError }, 1},
		{"isError as a number", `{"content":[],"isError":0}`, func(r *client.Result) bool { return r.IsError }, 1},
		{"isError as an object", `{"content":[],"isError":{}}`, func(r *client.Result) bool { return r.IsError }, 1},
		{"isError null says nothing", `{"content":[],"isError":null}`, func(r *client.Result) bool { return !r.IsError }, 0},
		{"odd _meta", `{"content":[],"_meta":[]}`, func(r *client.Result) bool { return r.Meta == nil }, 0},
		{"no content", `{}`, func(r *client.Result) bool { return len(r.Content) == 0 }, 0},
		{"embedded", `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"t","mimeType":"m"}}]}`, func(r *client.Result) bool {
			return r.Content[0].Resource.URI == "a://b" && *r.Content[0].Resource.Text == "t" && r.Content[0].Resource.Blob == nil
		}, 0},
		{"escapes", `{"content":[{"type":"text","text":"a\n\"\u00e9\ud83d\ude00"}]}`, func(r *client.Result) bool { return r.Content[0].Text == "a\n\"é😀" }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := script(t, func(p *scripted) {
				p.handshake()
				p.answer(p.expect("tools/call"), c.sent)
				p.drain()
			})
			s := dial(t, scriptedServer(), client.Options{Launcher: l})
			r, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
			if err != nil || !c.check(r) || string(r.Raw) != c.sent || len(r.Warnings) != c.warnings {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestResultsThatAreNone(t *testing.T) {
	for _, sent := range []string{`null`, `[]`, `"x"`, `7`, `{"resultType":"task"}`, `{"resultType":"input_required"}`, `{"resultType":7}`, `{"resultType":null}`, `{"a":}`} {
		t.Run(sent, func(t *testing.T) {
			l := script(t, func(p *scripted) {
				p.handshake()
				p.answer(p.expect("tools/call"), sent)
				p.answer(p.expect("tools/call"), `{"content":[]}`)
				p.drain()
			})
			s := dial(t, scriptedServer(), client.Options{Launcher: l})
			_, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
			wantError(t, err, client.PhaseCall, client.CodeProtocol)
			if _, err := s.Call(t.Context(), "t", nil, client.CallOptions{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestAnswerThatIsNone: what is no JSON-RPC response is an error of its request at once, and of no other.
func TestAnswerThatIsNone(t *testing.T) {
	for _, members := range []string{``, `,"result":{"content":[]},"error":{"code":1,"message":"m"}`, `,"error":"text"`, `,"error":null`} {
		t.Run(members, func(t *testing.T) {
			s := openEra(t, client.Legacy, func(p *scripted) {
				p.send(`{"jsonrpc":"2.0","id":%s%s}`, p.expect("tools/call").ID, members)
				p.answer(p.expect("tools/call"), `{"content":[]}`)
				p.drain()
			})
			_, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
			wantError(t, err, client.PhaseCall, client.CodeProtocol)
			if _, err := s.Call(t.Context(), "t", nil, client.CallOptions{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
		t.Run("initialize "+members, func(t *testing.T) {
			_, err := client.Dial(t.Context(), scriptedServer(), client.Options{Launcher: script(t, func(p *scripted) {
				p.send(`{"jsonrpc":"2.0","id":%s%s}`, p.expect("initialize").ID, members)
				p.drain()
			})})
			wantError(t, err, client.PhaseHandshake, client.CodeProtocol)
		})
	}
}

func TestControlCharactersInAResultAreRepaired(t *testing.T) {
	l := script(t, func(p *scripted) {
		p.handshake()
		p.answer(p.expect("tools/call"), "{\"content\":[{\"type\":\"text\",\"text\":\"a\tb\"}]}")
		p.drain()
	})
	s := dial(t, scriptedServer(), client.Options{Launcher: l})
	r, err := s.Call(t.Context(), "t", nil, client.CallOptions{})
	if err != nil || r.Content[0].Text != "a\tb" || !json.Valid(r.Raw) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestArgumentsGoOutAsGiven, on one line.
func TestArgumentsGoOutAsGiven(t *testing.T) {
	spec := ushertest.Command(t)
	s := dial(t, spec, client.Options{})
	if _, err := s.Call(t.Context(), "image", json.RawMessage("{\n \"y\": 9007199254740993,\r\n \"x\": \"<&>\\n\"}"), client.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	got := wire.Member(wire.Member(ushertest.ReadLog(t, spec).Received("tools/call")[0].Frame, "params"), "arguments")
	if want := `{ "y": 9007199254740993, "x": "<&>\n"}`; string(got) != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestOutputSchema(t *testing.T) {
	const tree = `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`
	doubling := `{"$ref":"#/$defs/d0","$defs":{"d40":true`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	doubling += "}}"
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for _, c := range []struct {
		schema, sent string
		warning      string
	}{
		{schema, `{"content":[],"structuredContent":{"n":1}}`, ""},
		{schema, `{"content":[],"structuredContent":{"n":"x"}}`, "breaks outputSchema"},
		{schema, `{"content":[]}`, "no structuredContent"},
		{schema, `{"content":[],"isError":true}`, ""},
		{`{"$ref":"https://example.invalid/x"}`, `{"content":[],"structuredContent":{}}`, "not checked"},
		{`{"type":7}`, `{"content":[],"structuredContent":{}}`, "not checked"},
		{`{"$ref":"#"}`, `{"content":[],"structuredContent":{}}`, "not checked"},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, `{"content":[],"structuredContent":{}}`, "not checked"},
		{doubling, `{"content":[],"structuredContent":{}}`, "not checked"},
		{`{"$ref":"#there"}`, `{"content":[],"structuredContent":{}}`, "leads nowhere"},
		{tree, `{"content":[],"structuredContent":{"children":[{"children":[]}]}}`, ""},
		{tree, `{"content":[],"structuredContent":{"children":[{"children":[7]}]}}`, "breaks outputSchema"},
		{tree, `{"content":[],"structuredContent":{"children":` + strings.Repeat(`[{"children":`, 100) + "[]" + strings.Repeat("}]", 100) + `}}`, ""},
		{tree, `{"content":[],"structuredContent":{"children":` + strings.Repeat(`[{"children":`, 20) + "[7]" + strings.Repeat("}]", 20) + `}}`, "breaks outputSchema"},
	} {
		l := script(t, func(p *scripted) {
			p.handshake()
			p.answer(p.expect("tools/call"), c.sent)
			p.drain()
		})
		s := dial(t, scriptedServer(), client.Options{Launcher: l})
		r, err := s.Call(t.Context(), "t", nil, client.CallOptions{OutputSchema: json.RawMessage(c.schema)})
		if err != nil {
			t.Errorf("%s against %s: %v", c.sent, c.schema, err)
			continue
		}
		if string(r.Raw) != c.sent || (c.warning == "") != (len(r.Warnings) == 0) || !strings.Contains(strings.Join(r.Warnings, ";"), c.warning) {
			t.Errorf("%s against %s: %q", c.sent, c.schema, r.Warnings)
		}
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{})
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				text := fmt.Sprintf("call %d\n\u2028", i)
				args, _ := json.Marshal(map[string]string{"message": text})
				r, err := s.Call(t.Context(), "echo", args, client.CallOptions{})
				if err != nil || !strings.Contains(r.Content[0].Text, text) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if v := log().Violations(); len(v) != 0 {
			t.Error(v)
		}
	})
}

func TestBigResults(t *testing.T) {
	s := dial(t, ushertest.Command(t), client.Options{})
	for _, size := range []int{100, 64 << 10, 3 << 20} {
		r, err := s.Call(t.Context(), "big", json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, size)), client.CallOptions{})
		if err != nil || len(r.Content[0].Text) != size {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
}

func TestReadsPromptsCompletions(t *testing.T) {
	eras(t, func(t *testing.T, open func(client.Options, ...string) (*client.Session, func() ushertest.Log)) {
		s, log := open(client.Options{}, "--ttl", "60000")
		r, err := s.ReadResource(t.Context(), "fx://readme")
		if err != nil || len(r.Contents) != 1 || r.Contents[0].Text == nil || r.FromCache {
			t.Fatalf("%+v, %v", r, err)
		}
		again, err := s.ReadResource(t.Context(), "fx://readme")
		if err != nil || again.FromCache != (s.Era() == client.Modern) || !bytes.Equal(again.Raw, r.Raw) && again.FromCache {
			t.Errorf("again: %+v, %v", again, err)
		}
		if r, err := s.ReadResource(t.Context(), "fx://pixel"); err != nil || r.Contents[0].Blob == nil || r.FromCache {
			t.Errorf("%+v, %v", r, err)
		}
		_, err = s.ReadResource(t.Context(), "fx://nowhere")
		wantError(t, err, client.PhaseRead, client.CodeNotFound)
		for range 2 {
			p, err := s.Prompt(t.Context(), "greet", map[string]string{"name": "Ada"})
			if err != nil || len(p.Messages) == 0 || !strings.Contains(p.Messages[0].Content.Text, "Ada") {
				t.Fatalf("%+v, %v", p, err)
			}
		}
		if n := len(log().Received("prompts/get")); n != 2 {
			t.Errorf("%d prompts/get, want 2 (CACHE-01)", n)
		}
		c, err := s.Complete(t.Context(), client.CompletionRef{Prompt: "greet"}, "name", "A", map[string]string{"x": "y"})
		if err != nil || len(c.Values) == 0 {
			t.Errorf("%+v, %v", c, err)
		}
		_, err = s.Complete(t.Context(), client.CompletionRef{}, "name", "A", nil)
		wantError(t, err, client.PhaseRead, client.CodeInvalid)
		if v := log().Violations(); len(v) != 0 {
			t.Error(v)
		}
	})
}

// TestTrace must show every frame of both processes in order.
func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := dial(t, auto(ushertest.Command(t, "--era", "legacy")), client.Options{Trace: func(f client.Frame) {
		mu.Lock()
		defer mu.Unlock()
		if !f.Sent {
			return
		}
		got = append(got, f.Process+" "+f.Server+" "+wire.Text(wire.Member(f.Data, "method")))
	}})
	use(t, s)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"probe fx server/discover", "session fx initialize", "session fx notifications/initialized", "session fx tools/list", "session fx tools/call"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
