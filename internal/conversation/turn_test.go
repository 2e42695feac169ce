package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/model"
	"github.com/usher-mcp/usher/internal/model/modeltest"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

// chat opens sessions with a model that plays a script over HTTP.
func chat(t *testing.T, h conversation.Host, o conversation.Options, turns ...modeltest.Turn) (fixture, *modeltest.Server) {
	t.Helper()
	server := modeltest.NewServer(t, turns...)
	o.Model = modelAt(t, server)
	o.ModelInfo.Name = "m"
	return open(t, h, o), server
}

func modelAt(t *testing.T, server *modeltest.Server) conversation.Model {
	t.Helper()
	c, err := model.New(model.Config{BaseURL: server.URL, Name: "m", Vision: true}, model.Options{
		Wait: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// tools is a host with tools of server s, which answer as the function says.
func tools(answer func(ctx context.Context, c usher.Call) (*usher.Result, error), names ...string) *host {
	h := &host{catalog: usher.Catalog{Revision: 1}}
	for _, n := range names {
		h.catalog.Tools = append(h.catalog.Tools, usher.Tool{
			Server: "s", Label: "s__" + n, ForModel: true,
			Tool: client.Tool{Name: n, Title: "Tool " + n, Description: "Does " + n, InputSchema: json.RawMessage(`{"type":"object"}`)},
		})
	}
	h.call = func(ctx context.Context, c usher.Call) (*usher.Result, error) {
		if c.OnDecision != nil {
			c.OnDecision(permission.Decision{Verdict: permission.Allowed, Source: permission.ByMode, Reason: "ok"})
		}
		return answer(ctx, c)
	}
	return h
}

func (f fixture) say(session, text string) {
	f.t.Helper()
	if _, err := f.Message(f.t.Context(), session, text); err != nil {
		f.t.Fatal(err)
	}
}

// turnEnd reads until the n-th turn has ended.
func (f fixture) turnEnd(session string, n int) (string, api.TurnEnded, []conversation.Event) {
	f.t.Helper()
	log := f.until(session, func(e conversation.Event) bool {
		switch e.Type {
		case api.EventTurnFinished, api.EventTurnFailed, api.EventTurnCancelled:
			n--
		}
		return n == 0
	})
	e := log[len(log)-1]
	return e.Type, data[api.TurnEnded](f.t, e), log
}

// wireMessage is a message as the model's server receives it.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// received are the messages of the n-th request, from 1, as lines, without the system's.
func received(t *testing.T, server *modeltest.Server, n int) []string {
	t.Helper()
	var body struct{ Messages []wireMessage }
	server.Await(n).Decode(t, &body)
	if len(body.Messages) == 0 || body.Messages[0].Role != "system" {
		t.Fatalf("request %d does not begin with the system's message", n)
	}
	var lines []string
	for _, m := range body.Messages[1:] {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content)
		}
		line := m.Role
		if m.ToolCallID != "" {
			line += " " + m.ToolCallID
		}
		line += ": " + text
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" [%s %s %s]", c.ID, c.Function.Name, c.Function.Arguments)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAMessageIsAnswered(t *testing.T) {
	f, server := chat(t, text("x"), conversation.Options{ModelInfo: conversation.ModelInfo{ContextTokens: 9000}}, modeltest.Turn{
		Chunks: []modeltest.Chunk{{Reasoning: "hm"}, {Text: "Hello"}, {Text: ", Ada."}},
		Usage:  &modeltest.Usage{Prompt: 100, Completion: 7, Cached: 50, Reasoning: 2},
	})
	id := f.create()
	f.say(id, "Hi there")
	kind, end, log := f.turnEnd(id, 1)
	if kind != api.EventTurnFinished || end.Steps != 1 || end.Calls != 0 || end.Usage != (api.Usage{
		InputTokens: 100, OutputTokens: 7, CachedTokens: 50, ReasoningTokens: 2, ContextTokens: 107, ContextLimit: 9000,
	}) {
		t.Errorf("%s %+v", kind, end)
	}
	answer, reasoning := "", ""
	for _, e := range log {
		if e.Type == api.EventText {
			if d := data[api.TextAppended](t, e); d.Reasoning {
				reasoning += d.Text
			} else {
				answer += d.Text
			}
		}
	}
	if answer != "Hello, Ada." || reasoning != "hm" {
		t.Errorf("answer %q, reasoning %q", answer, reasoning)
	}
	if diff := cmp.Diff([]string{"user: Hi there"}, received(t, server, 1)); diff != "" {
		t.Error(diff)
	}
	// The next turn goes on from the log; what the model thought on the way is not sent back.
	server.Add(modeltest.Text("Fine."))
	f.say(id, "How are you?")
	f.turnEnd(id, 2)
	if diff := cmp.Diff([]string{"user: Hi there", "assistant: Hello, Ada.", "user: How are you?"}, received(t, server, 2)); diff != "" {
		t.Error(diff)
	}
	if work, err := f.store.Open(t.Context()); err != nil || len(work) != 0 {
		t.Errorf("open work is left: %v, %v", work, err)
	}
}

func TestCallsRunAtOnceAndTheirResultsComeInOrder(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	h := tools(func(_ context.Context, c usher.Call) (*usher.Result, error) {
		both.Done()
		both.Wait() // only calls that run at once get past here
		return result(c.Tool + " of " + string(c.Arguments)), nil
	}, "a", "b")
	f, server := chat(t, h, conversation.Options{},
		modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__b", Arguments: `{"n":12345678901234567890}`}, modeltest.Call{ID: "x2", Name: "s__a", Arguments: ``}),
		modeltest.Text("Done."))
	id := f.create()
	f.say(id, "Go")
	kind, end, log := f.turnEnd(id, 1)
	if kind != api.EventTurnFinished || end.Steps != 2 || end.Calls != 2 {
		t.Errorf("%s %+v", kind, end)
	}
	if diff := cmp.Diff([]string{
		"user: Go", `assistant:  [x1 s__b {"n":12345678901234567890}] [x2 s__a {}]`,
		`tool x1: b of {"n":12345678901234567890}`, `tool x2: a of {}`,
	}, normal(received(t, server, 2))); diff != "" {
		t.Error(diff)
	}
	for _, e := range log {
		if e.Type == api.EventCallRequested {
			if c := data[api.CallRequested](t, e); c.By != "model" || c.Server != "s" || c.TurnID != end.TurnID || c.Step != 1 || c.Title != "Tool "+c.Tool || c.Label != "s__"+c.Tool {
				t.Errorf("call.requested = %+v", c)
			}
		}
	}
	for _, want := range []string{api.EventCallApproved, api.EventCallStarted, api.EventTurnStepped} {
		if !strings.Contains(kinds(log), want) {
			t.Errorf("there is no %s in %s", want, kinds(log))
		}
	}
	// The block of tools is the same, byte for byte, in every request.
	if a, b := toolBlock(t, server, 1), toolBlock(t, server, 2); a != b || !strings.Contains(a, `"s__a"`) || !strings.Contains(a, "read_output") {
		t.Errorf("the tools are\n%s\nthen\n%s", a, b)
	}
}

// normal takes the content of messages without any for empty.
func normal(lines []string) []string {
	for i := range lines {
		lines[i] = strings.Replace(lines[i], "assistant: null [", "assistant:  [", 1)
	}
	return lines
}

func toolBlock(t *testing.T, server *modeltest.Server, n int) string {
	t.Helper()
	var body struct{ Tools json.RawMessage }
	server.Await(n).Decode(t, &body)
	return string(body.Tools)
}

func TestWhatTheModelGetsWrongItIsTold(t *testing.T) {
	ran := 0
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) { ran++; return result("x"), nil }, "echo")
	f, server := chat(t, h, conversation.Options{},
		modeltest.Calls(
			modeltest.Call{ID: "x1", Name: "s__ehco", Arguments: `{}`}, modeltest.Call{ID: "x2", Name: "s__echo", Arguments: `[1]`},
			modeltest.Call{ID: "x3", Name: "s__echo", Arguments: `{"a":`},
		),
		modeltest.Text("Sorry."))
	id := f.create()
	f.say(id, "Go")
	f.turnEnd(id, 1)
	got := strings.Join(received(t, server, 2), "\n")
	for _, want := range []string{`tool x1: This call failed`, `Did you mean \"s__echo\"?`, `tool x2: This call failed`, `not a JSON object: [1]`, `not a JSON object: {"a":`, `[x3 s__echo {}]`} {
		if !strings.Contains(got, strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if ran != 0 {
		t.Errorf("%d calls ran", ran)
	}
}

func TestOutcomesAreToldPlainly(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"denied":  {&client.Error{Server: "s", Code: client.CodeDenied, Message: "The person said no."}, "not allowed, so nothing ran. The person said no."},
		"unknown": {&client.Error{Server: "s", Code: client.CodeUnknown, Message: "lost"}, "OUTCOME UNKNOWN"},
		"failed":  {&client.Error{Server: "s", Code: client.CodeTimeout, Message: "too slow", Hint: "Wait."}, "failed; there is no result. too slow Wait."},
	} {
		t.Run(name, func(t *testing.T) {
			h := tools(func(context.Context, usher.Call) (*usher.Result, error) { return nil, test.err }, "a")
			f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("Oh."))
			id := f.create()
			f.say(id, "Go")
			if kind, _, _ := f.turnEnd(id, 1); kind != api.EventTurnFinished {
				t.Errorf("the turn ended with %s", kind)
			}
			if got := received(t, server, 2); !strings.Contains(got[2], "tool x1: ") || !strings.Contains(got[2], test.want) {
				t.Errorf("the model was told %q", got)
			}
		})
	}
}

// Cancelled while it speaks or while a tool runs: the turn ends at once, and the conversation that the model sees next
// has a result for every call.
func TestACancelledTurnLeavesNothingDangling(t *testing.T) {
	t.Run("while it speaks", func(t *testing.T) {
		wait := make(chan struct{})
		defer close(wait)
		f, server := chat(t, text("x"), conversation.Options{}, modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "Once upon"}, {Wait: wait}}})
		id := f.create()
		f.say(id, "Tell me")
		f.until(id, func(e conversation.Event) bool { return e.Type == api.EventText })
		if err := f.Cancel(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		if kind, _, _ := f.turnEnd(id, 1); kind != api.EventTurnCancelled {
			t.Errorf("the turn ended with %s", kind)
		}
		<-server.Await(1).Gone
		server.Add(modeltest.Text("Yes."))
		f.say(id, "Go on")
		f.turnEnd(id, 2)
		got := received(t, server, 2)
		if len(got) != 3 || !strings.HasPrefix(got[1], "assistant: Once upon\n\n[Usher: the person stopped") {
			t.Errorf("the model was told %q", got)
		}
	})
	t.Run("while tools run", func(t *testing.T) {
		running := make(chan struct{}, 20)
		h := tools(func(ctx context.Context, c usher.Call) (*usher.Result, error) {
			running <- struct{}{}
			<-ctx.Done()
			return nil, &client.Error{Server: "s", Code: client.CodeCancelled, Message: "gone", Err: ctx.Err()}
		}, "a")
		var calls []modeltest.Call
		for i := range 10 {
			calls = append(calls, modeltest.Call{ID: fmt.Sprint("x", i), Name: "s__a", Arguments: `{}`})
		}
		f, server := chat(t, h, conversation.Options{}, modeltest.Calls(calls...))
		id := f.create()
		f.say(id, "Go")
		for range 8 {
			<-running
		}
		if err := f.Cancel(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		kind, _, log := f.turnEnd(id, 1)
		if kind != api.EventTurnCancelled {
			t.Errorf("the turn ended with %s", kind)
		}
		if got := strings.Count(kinds(log), api.EventCallFinished); got != 10 {
			t.Errorf("%d of 10 calls have an end", got)
		}
		server.Add(modeltest.Text("OK."))
		f.say(id, "Never mind")
		f.turnEnd(id, 2)
		got := strings.Join(received(t, server, 2), "\n")
		for i := range 10 {
			if strings.Count(got, fmt.Sprintf("tool x%d: This call was cancelled", i)) != 1 {
				t.Errorf("call %d has no result in\n%s", i, got)
			}
		}
	})
}

// One call of a turn is cancelled by itself: the model is told, and goes on.
func TestOneCallOfATurnIsCancelled(t *testing.T) {
	h := tools(func(ctx context.Context, _ usher.Call) (*usher.Result, error) {
		<-ctx.Done()
		return nil, &client.Error{Server: "s", Code: client.CodeCancelled, Message: "gone", Err: ctx.Err()}
	}, "a")
	f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("Then not."))
	id := f.create()
	f.say(id, "Go")
	log := f.until(id, func(e conversation.Event) bool { return e.Type == api.EventCallStarted })
	call := data[api.CallStarted](t, log[len(log)-1]).CallID
	if err := f.Cancel(t.Context(), id, call); err != nil {
		t.Fatal(err)
	}
	if kind, _, _ := f.turnEnd(id, 1); kind != api.EventTurnFinished {
		t.Errorf("the turn ended with %s", kind)
	}
	if got := received(t, server, 2); !strings.Contains(got[2], "It was cancelled.") {
		t.Errorf("the model was told %q", got)
	}
}

// A message that comes while the model works is told to it with its next step, after the results that it waits for.
func TestAMessageInTheMiddleIsHeard(t *testing.T) {
	said := make(chan struct{})
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) { <-said; return result("ok"), nil }, "a")
	f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("In English."))
	id := f.create()
	f.say(id, "Translate")
	f.until(id, func(e conversation.Event) bool { return e.Type == api.EventCallStarted })
	f.say(id, "to English")
	close(said)
	f.turnEnd(id, 1)
	if diff := cmp.Diff([]string{"user: Translate", "assistant:  [x1 s__a {}]", "tool x1: ok", "user: to English"}, normal(received(t, server, 2))); diff != "" {
		t.Error(diff)
	}
	// One that comes while it speaks its last word gets an answer of its own.
	wait := make(chan struct{})
	server.Add(modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "A"}, {Wait: wait}, {Text: "B"}}}, modeltest.Text("Also that."))
	f.say(id, "first")
	server.Await(3)
	f.say(id, "second")
	close(wait)
	f.turnEnd(id, 2)
	got := received(t, server, 4)
	if diff := cmp.Diff([]string{"user: first", "assistant: AB", "user: second"}, got[len(got)-3:]); diff != "" {
		t.Error(diff)
	}
	if err := f.Idle(t.Context(), id); err != nil || f.Turns() != 0 {
		t.Errorf("%v, %d turns", err, f.Turns())
	}
}

func TestTheModelIsToldOfNewTools(t *testing.T) {
	var h *host
	var mu sync.Mutex
	first := tools(nil, "a", "b").catalog
	next := tools(nil, "0", "b").catalog
	next.Revision = 2
	current := &first
	h = tools(func(context.Context, usher.Call) (*usher.Result, error) {
		mu.Lock()
		current = &next
		mu.Unlock()
		return result("ok"), nil
	})
	changing := &changingHost{host: h, now: func() *usher.Catalog { mu.Lock(); defer mu.Unlock(); return current }}
	f, server := chat(t, changing, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("I see."))
	id := f.create()
	f.say(id, "Go")
	f.turnEnd(id, 1)
	got := received(t, server, 2)
	if last := got[len(got)-1]; last != "user: [Usher: the tools have changed. New: s__0. Gone: s__a.]" {
		t.Errorf("the model was told %q", last)
	}
	// The tool that stayed keeps its place, the new one comes last.
	block := toolBlock(t, server, 2)
	if b, zero := strings.Index(block, `"s__b"`), strings.Index(block, `"s__0"`); b < 0 || zero < b || strings.Contains(block, `"s__a"`) {
		t.Errorf("the tools are %s", block)
	}
}

type changingHost struct {
	*host
	now func() *usher.Catalog
}

func (h *changingHost) Catalog() *usher.Catalog { return h.now() }

func TestATurnEndsSomeTime(t *testing.T) {
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) { return result("again"), nil }, "a")
	again := modeltest.Calls(modeltest.Call{Name: "s__a", Arguments: `{}`})
	f, _ := chat(t, h, conversation.Options{MaxSteps: 3}, again, again, again)
	id := f.create()
	f.say(id, "Go")
	kind, end, _ := f.turnEnd(id, 1)
	if kind != api.EventTurnFailed || end.Error == nil || end.Error.Code != "step_limit" || end.Steps != 3 {
		t.Errorf("%s %+v", kind, end)
	}
}

func TestAModelThatFailsSaysWhy(t *testing.T) {
	f, server := chat(t, text("x"), conversation.Options{}, modeltest.Error(401, "invalid_api_key", "Incorrect API key provided"))
	id := f.create()
	f.say(id, "Hi")
	kind, end, _ := f.turnEnd(id, 1)
	if kind != api.EventTurnFailed || end.Error == nil || end.Error.Code != "model_key" || end.Error.Hint == "" {
		t.Errorf("%s %+v", kind, end.Error)
	}
	// The session goes on.
	server.Add(modeltest.Text("Now."))
	f.say(id, "And now?")
	if kind, _, _ := f.turnEnd(id, 2); kind != api.EventTurnFinished {
		t.Errorf("then %s", kind)
	}
	if diff := cmp.Diff([]string{"user: Hi\nAnd now?"}, received(t, server, 2)); diff != "" {
		t.Error(diff)
	}
}

// The process dies while a tool runs. The next one says so, plainly, and the model sees the same conversation.
func TestAConversationGoesOnAfterACrash(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.NewServer(t, modeltest.Turn{Chunks: []modeltest.Chunk{
		{Text: "I try."}, {Calls: []modeltest.Call{{ID: "x1", Name: "s__a", Arguments: `{"k":1}`}}},
	}})
	release := make(chan struct{})
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) {
		<-release
		return nil, errors.New("too late")
	}, "a")
	s, err := conversation.Open(t.Context(), conversation.Options{Store: store, Host: h, Model: modelAt(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Create(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{s, t, store}
	f.say(made.ID, "Go")
	f.until(made.ID, func(e conversation.Event) bool { return e.Type == api.EventCallStarted })
	// As after kill -9: nothing is written any more.
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	if store, err = sqlite.Open(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	again, err := conversation.Open(t.Context(), conversation.Options{Store: store, Host: h, Model: modelAt(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	f = fixture{again, t, store}
	server.Add(modeltest.Text("I look first."))
	f.say(made.ID, "And?")
	if kind, _, log := f.turnEnd(made.ID, 2); kind != api.EventTurnFinished {
		t.Errorf("the turn ended with %s\n%s", kind, dump(log))
	}
	got := received(t, server, 2)
	if len(got) != 4 || got[0] != "user: Go" || !strings.HasPrefix(got[1], `assistant: I try.`) || !strings.HasSuffix(got[1], `[x1 s__a {"k":1}]`) ||
		!strings.HasPrefix(got[2], "tool x1: OUTCOME UNKNOWN") || got[3] != "user: And?" {
		t.Errorf("the model was told %q", got)
	}
}

func TestTheModelSeesWhatThePersonRan(t *testing.T) {
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) { return result("42 birds"), nil }, "count")
	f, server := chat(t, h, conversation.Options{}, modeltest.Text("Many."))
	id := f.create()
	f.finished(id, f.begin(id, "count", `{"of":"birds"}`))
	f.say(id, "Is that many?")
	f.turnEnd(id, 1)
	got := strings.Join(received(t, server, 1), "\n")
	for _, want := range []string{`the person ran the tool "count" of server "s"`, `{"of":"birds"}`, "42 birds", "Is that many?"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

func TestDeletingASessionEndsItsTurn(t *testing.T) {
	wait := make(chan struct{})
	defer close(wait)
	f, server := chat(t, text("x"), conversation.Options{}, modeltest.Turn{Chunks: []modeltest.Chunk{{Wait: wait}}})
	id := f.create()
	f.say(id, "Hi")
	request := server.Await(1)
	if err := f.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	<-request.Gone
	if f.Turns() != 0 {
		t.Errorf("%d turns run", f.Turns())
	}
}
