package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/model"
	"github.com/usher-mcp/usher/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-canary-0123456789abcdef"

// client is one whose waits between attempts are recorded and not waited for.
func client(t *testing.T, s *modeltest.Server, change ...func(*model.Config, *model.Options)) (*model.Client, *[]time.Duration) {
	t.Helper()
	waits := &[]time.Duration{}
	c := model.Config{BaseURL: s.URL, Name: "scripted", APIKey: key}
	o := model.Options{Wait: func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}}
	for _, f := range change {
		f(&c, &o)
	}
	client, err := model.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, waits
}

func ask() model.Request {
	return model.Request{Messages: []model.Message{model.Text(model.User, "Hi")}}
}

func TestTextReasoningAndUsageAreStreamed(t *testing.T) {
	t.Parallel()
	turn := modeltest.Text("Hel", "lo")
	turn.Chunks = append([]modeltest.Chunk{{Reasoning: "Hm"}, {Raw: `{"choices":[{"index":0,"delta":{"reasoning":"m."}}]}`}}, turn.Chunks...)
	turn.Usage = &modeltest.Usage{Prompt: 10, Completion: 5, Cached: 4, Reasoning: 2}
	s := modeltest.NewServer(t, turn)
	c, _ := client(t, s)
	var deltas []string
	got, err := c.Stream(t.Context(), ask(), func(d model.Delta) { deltas = append(deltas, "r:"+d.Reasoning+" t:"+d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	want := model.Response{
		Text: "Hello", Reasoning: "Hmm.", Finish: model.FinishStop, Model: "scripted",
		Usage: model.Usage{Prompt: 10, Completion: 5, Cached: 4, Reasoning: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"r:Hm t:", "r:m. t:", "r: t:Hel", "r: t:lo"}, deltas); diff != "" {
		t.Error(diff)
	}
	r := s.Requests()[0]
	const body = `{"model":"scripted","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}`
	if r.Method != "POST" || r.Path != "/v1/chat/completions" || string(r.Body) != body || r.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("%s %s %s", r.Method, r.Path, r.Body)
	}
}

func TestCallsArePutTogetherFromFragments(t *testing.T) {
	t.Parallel()
	raw := func(events ...string) modeltest.Turn {
		var turn modeltest.Turn
		for _, e := range events {
			turn.Chunks = append(turn.Chunks, modeltest.Chunk{Raw: `{"choices":[{"index":0,"delta":{"tool_calls":[` + e + `]}}]}`})
		}
		return turn
	}
	for name, c := range map[string]struct {
		turn modeltest.Turn
		want []model.ToolCall
	}{
		"parallel": {
			modeltest.Calls(modeltest.Call{Name: "a", Arguments: `{"x":"é"}`}, modeltest.Call{Name: "b", Arguments: `{"y":2}`}),
			[]model.ToolCall{{"call_1", "a", `{"x":"é"}`}, {"call_2", "b", `{"y":2}`}},
		},
		"without an index": {
			raw(`{"id":"1","function":{"name":"a","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"id":"2","function":{"name":"b","arguments":""}}`),
			[]model.ToolCall{{"1", "a", "{}"}, {"2", "b", "{}"}},
		},
		"all with one index": {
			raw(`{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}`, `{"index":0,"id":"2","function":{"name":"b","arguments":"{\"k\":1}"}}`),
			[]model.ToolCall{{"1", "a", "{}"}, {"2", "b", `{"k":1}`}},
		},
		"arguments as an object": {
			raw(`{"index":0,"id":"1","function":{"name":"a","arguments":{"k":9007199254740993}}}`),
			[]model.ToolCall{{"1", "a", `{"k":9007199254740993}`}},
		},
		"the id again with each fragment": {
			raw(`{"index":0,"id":"1","function":{"name":"a","arguments":"{\"k\":"}}`, `{"index":0,"id":"1","function":{"name":"a","arguments":"1}"}}`),
			[]model.ToolCall{{"1", "a", `{"k":1}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t, c.turn)
			cl, _ := client(t, s)
			got, err := cl.Stream(t.Context(), ask(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Calls); diff != "" {
				t.Error(diff)
			}
			if got.Finish != model.FinishCalls {
				t.Errorf("finish %q", got.Finish)
			}
		})
	}
	s := modeltest.NewServer(t, raw(`{"index":0,"function":{"name":"a","arguments":"{}"}},{"index":1,"function":{"name":"a"}}`))
	cl, _ := client(t, s)
	got, err := cl.Stream(t.Context(), ask(), nil)
	if err != nil || len(got.Calls) != 2 || got.Calls[0].ID == "" || got.Calls[0].ID == got.Calls[1].ID {
		t.Errorf("calls without an id: %+v, %v", got.Calls, err)
	}
}

func TestConversationsAreWrittenForEveryServer(t *testing.T) {
	t.Parallel()
	image := &model.Image{MIMEType: "image/png", Data: "AAAA"}
	request := model.Request{
		MaxTokens: 100,
		Messages: []model.Message{
			model.Text(model.System, "Be good."),
			{Role: model.User, Parts: []model.Part{{Text: "What is it?"}, {Image: image}}},
			{Role: model.Assistant, Calls: []model.ToolCall{{"1", "a", "{}"}, {"2", "b", "{}"}}},
			{Role: model.ToolRole, CallID: "1", Parts: []model.Part{{Text: "one"}, {Image: image}}},
			{Role: model.ToolRole, CallID: "2"},
			model.Text(model.Assistant, "Done."),
		},
		Tools: []model.Tool{{Name: "a", Description: "A.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`), Strict: true}, {Name: "b"}},
	}
	for vision, want := range map[bool][]string{
		true: {
			`"content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"b","arguments":"{}"}}]}`,
			`{"role":"tool","content":"one\n[image 1 of this result follows]","tool_call_id":"1"},{"role":"tool","content":"","tool_call_id":"2"},` +
				`{"role":"user","content":[{"type":"text","text":"Image 1, of the result of call 1:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},{"role":"assistant"`,
			`"tools":[{"type":"function","function":{"name":"a","description":"A.","parameters":{"type":"object","properties":{"z":{},"a":{}}},"strict":true}},{"type":"function","function":{"name":"b"}}],"max_tokens":100`,
		},
		false: {
			`"content":"What is it?\n[an image, image/png, 3 bytes, which this model cannot see]"`,
			`"content":"one\n[an image, image/png, 3 bytes, which this model cannot see]","tool_call_id":"1"},{"role":"tool","content":"","tool_call_id":"2"},{"role":"assistant","content":"Done."}`,
		},
	} {
		s := modeltest.NewServer(t, modeltest.Text("ok"), modeltest.Text("ok"))
		c, _ := client(t, s, func(c *model.Config, _ *model.Options) { c.Vision = vision })
		for range 2 {
			if _, err := c.Stream(t.Context(), request, nil); err != nil {
				t.Fatal(err)
			}
		}
		sent := s.Requests()
		for _, w := range want {
			if !strings.Contains(string(sent[0].Body), w) {
				t.Errorf("vision %v: %s\nlacks %s", vision, sent[0].Body, w)
			}
		}
		if !bytes.Equal(sent[0].Body, sent[1].Body) {
			t.Error("equal requests are not equal bytes")
		}
	}
}

func TestThinkTagsAreReasoning(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"<think>why|</think>\n\n|So.":        {"So.", "why"},
		"|<|th|ink>a</|b</th|ink>|x</think>": {"x</think>", "a</b"},
		"\n<think>never closed </thi":        {"", "never closed </thi"},
		"<thing>|no":                         {"<thing>no", ""},
		"text <think>x</think>":              {"text <think>x</think>", ""},
		"<thi":                               {"<thi", ""},
	} {
		s := modeltest.NewServer(t, modeltest.Text(strings.Split(strings.TrimPrefix(in, "|"), "|")...))
		c, _ := client(t, s)
		got, err := c.Stream(t.Context(), ask(), nil)
		if err != nil || got.Text != want[0] || got.Reasoning != want[1] {
			t.Errorf("%q: text %q, reasoning %q, %v", in, got.Text, got.Reasoning, err)
		}
	}
}

func TestRetriesObeyTheServer(t *testing.T) {
	t.Parallel()
	busy := func(status int) modeltest.Turn { return modeltest.Error(status, "", "busy") }
	for name, c := range map[string]struct {
		turns []modeltest.Turn
		kind  model.Kind // "" for success
		waits int
		exact time.Duration // of the first wait, when the server gave it
	}{
		"seconds":              {[]modeltest.Turn{busy(429).With("Retry-After", "7"), modeltest.Text("ok")}, "", 1, 7 * time.Second},
		"milliseconds":         {[]modeltest.Turn{busy(503).With("Retry-After-Ms", "1500"), modeltest.Text("ok")}, "", 1, 1500 * time.Millisecond},
		"a date gone by":       {[]modeltest.Turn{busy(429).With("Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), modeltest.Text("ok")}, "", 1, 0},
		"too long":             {[]modeltest.Turn{busy(429).With("Retry-After", "3600")}, model.KindRateLimit, 0, 0},
		"three times":          {[]modeltest.Turn{busy(500), busy(502), busy(529), modeltest.Text("ok")}, "", 3, 0},
		"for ever":             {[]modeltest.Turn{busy(500), busy(500), busy(500), busy(500)}, model.KindServer, 3, 0},
		"cut at the beginning": {[]modeltest.Turn{{Cut: true}, modeltest.Text("ok")}, "", 1, 0},
		"an error in a stream": {[]modeltest.Turn{{Chunks: []modeltest.Chunk{{Raw: `{ "error":{"message":"overloaded"}}`}}}, modeltest.Text("ok")}, "", 1, 0},
		"no quota":             {[]modeltest.Turn{modeltest.Error(429, "insufficient_quota", "You exceeded your current quota.")}, model.KindQuota, 0, 0},
		"a wrong request":      {[]modeltest.Turn{modeltest.Error(400, "", "no")}, model.KindRequest, 0, 0},
		"cut in the middle":    {[]modeltest.Turn{{Chunks: []modeltest.Chunk{{Text: "half"}}, Cut: true}}, model.KindStream, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t, c.turns...)
			cl, waits := client(t, s)
			told := 0
			got, err := cl.Stream(t.Context(), ask(), func(d model.Delta) {
				if d.Retry != nil {
					told++
				}
			})
			var e *model.Error
			switch {
			case c.kind == "" && (err != nil || got.Text != "ok"):
				t.Errorf("%+v, %v", got, err)
			case c.kind != "" && (!errors.As(err, &e) || e.Kind != c.kind):
				t.Errorf("%v, want %s", err, c.kind)
			}
			if len(*waits) != c.waits || told != c.waits {
				t.Fatalf("waits %v, told %d times", *waits, told)
			}
			if c.exact > 0 && (*waits)[0] != c.exact {
				t.Errorf("waited %v, want %v", (*waits)[0], c.exact)
			}
			for i, w := range *waits {
				if most := 500 * time.Millisecond << i; c.exact == 0 && (w > most || w < most*3/4) {
					t.Errorf("wait %d is %v", i, w)
				}
			}
			if name == "cut in the middle" && got.Text != "half" {
				t.Errorf("what had come is lost: %+v", got)
			}
		})
	}
}

func TestFieldsThatAServerRefusesAreLeftOut(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t,
		modeltest.Error(400, "", "Unrecognized request argument supplied: stream_options"),
		modeltest.Error(400, "", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
		modeltest.Text("ok"), modeltest.Text("ok"))
	c, waits := client(t, s)
	r := ask()
	r.MaxTokens = 5
	for range 2 {
		if _, err := c.Stream(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	last := string(s.Requests()[3].Body)
	if len(*waits) > 0 || strings.Contains(last, "stream_options") || !strings.Contains(last, `"max_completion_tokens":5`) || strings.Contains(last, `"max_tokens"`) {
		t.Errorf("%v %s", *waits, last)
	}
}

func TestErrorsSayTheNextStepAndNoSecret(t *testing.T) {
	t.Parallel()
	body := func(status int, contentType, text string) modeltest.Turn {
		return modeltest.Turn{Status: status, Body: text}.With("Content-Type", contentType)
	}
	const html, js = "text/html; charset=utf-8", "application/json"
	for name, c := range map[string]struct {
		turn modeltest.Turn
		kind model.Kind
		want string
	}{
		"wrong path":         {body(404, js, `{"detail":"Not Found"}`), model.KindAddress, "/v1"},
		"wrong path, plain":  {body(404, "text/plain", `404 page not found`), model.KindAddress, "/v1"},
		"a page":             {body(404, html, `<!doctype html><title>Not here</title>`), model.KindAddress, "web page"},
		"a page with 200":    {body(200, html, `<html>welcome</html>`), model.KindAddress, "web page"},
		"other JSON":         {body(200, js, `{"hello":"world"}`), model.KindAddress, "/v1"},
		"redirect":           {modeltest.Turn{Status: 307, Body: "x"}.With("Location", "https://user:pw@elsewhere.example/v1?token=abc"), model.KindAddress, "elsewhere.example"},
		"wrong key":          {modeltest.Error(401, "invalid_api_key", "Incorrect API key provided: "+key+" and sk-canar*****cdef."), model.KindKey, "OPENAI_API_KEY"},
		"key not allowed":    {body(403, js, `{"error":"forbidden for `+key+`"}`), model.KindKey, "Check the key"},
		"wrong key, Gemini":  {body(400, js, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`), model.KindKey, "Check the key"},
		"no model":           {modeltest.Error(404, "model_not_found", "The model `x` does not exist or you do not have access to it."), model.KindModel, "model.name"},
		"no model, Ollama":   {body(404, js, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`), model.KindModel, "try pulling it"},
		"context":            {modeltest.Error(400, "context_length_exceeded", "This model's maximum context length is 10 tokens."), model.KindContext, "Compact"},
		"context, llama.cpp": {body(400, js, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it"}}`), model.KindContext, "Compact"},
		"too large":          {body(413, "text/plain", "no"), model.KindContext, "Compact"},
		"payment":            {body(402, js, `{"error":{"message":"Insufficient Balance"}}`), model.KindQuota, "credit"},
		"refused":            {body(422, js, `{"message":"tools: bad\u0007\nthing"}`), model.KindRequest, "tools: bad thing"},
		"context, streamed":  {modeltest.Turn{Chunks: []modeltest.Chunk{{Raw: `{"error":{"code":"context_length_exceeded","message":"too long"}}`}}}, model.KindContext, "Compact"},
		"garbage, streamed":  {modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "x"}, {Raw: `{"choices":`}}}, model.KindStream, "cannot be read"},
		"broken off":         {modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "x"}}, Cut: true}, model.KindStream, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := modeltest.NewServer(t, c.turn)
			cl, _ := client(t, s, func(_ *model.Config, o *model.Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				o.Attempts = 1
			})
			_, err := cl.Stream(t.Context(), ask(), nil)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) || e.Model != "scripted" {
				t.Fatalf("%v (%+v), want %s with %q", err, e, c.kind, c.want)
			}
			for _, secret := range []string{"canar", "cdef", "pw@", "token=abc"} {
				if strings.Contains(fmt.Sprintf("%v %+v %s", err, e, log.String()), secret) {
					t.Errorf("%q is in the error: %v", secret, err)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\a") {
				t.Errorf("%q", err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	c, err := model.New(model.Config{BaseURL: "http://127.0.0.1:1/v1?key=hidden", Name: "m"}, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	_, err = c.Stream(t.Context(), ask(), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindNetwork || !strings.Contains(err.Error(), "start the model's server") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
}

func TestCancellingReachesTheServer(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "begun"}, {Wait: make(chan struct{})}}})
	c, waits := client(t, s)
	why := errors.New("the person pressed Esc")
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := c.Stream(ctx, ask(), func(model.Delta) { cancel(why) })
	if !errors.Is(err, why) || got.Text != "begun" || len(*waits) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	<-s.Await(1).Gone
}

func TestCancellingEndsTheWaitBetweenAttempts(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.Error(429, "", "busy").With("Retry-After", "30"))
	c, _ := client(t, s, func(_ *model.Config, o *model.Options) { o.Wait = nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.Stream(ctx, ask(), func(d model.Delta) {
		if d.Retry != nil {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	s := modeltest.NewServer(t, modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "x"}, {Wait: never}}})
	c, _ := client(t, s, func(_ *model.Config, o *model.Options) { o.Idle = 50 * time.Millisecond })
	got, err := c.Stream(t.Context(), ask(), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindTimeout || !strings.Contains(err.Error(), "nothing came for") {
		t.Errorf("%+v %v", got, err)
	}
	<-s.Await(1).Gone
}

func TestServersThatDoNotStreamAndOtherOddities(t *testing.T) {
	t.Parallel()
	whole := `{"model":"m","choices":[{"index":0,"message":{"content":"Hi","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	pings := strings.Repeat(": ping\n\n", 2000)
	for name, turn := range map[string]modeltest.Turn{
		"whole":      modeltest.Turn{Status: 200, Body: whole}.With("Content-Type", "application/json"),
		"keep-alive": modeltest.Turn{Status: 200, Body: pings + "data:" + strings.Replace(whole, "message", "delta", 1) + "\r\n\r\n" + pings}.With("Content-Type", "text/event-stream"),
		"parts": {Chunks: []modeltest.Chunk{
			{Raw: `{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":""}]},{"type":"text","text":"Hi"}]}},{"index":1,"delta":{"content":"another"}}]}`},
			{Calls: []modeltest.Call{{ID: "1", Name: "a", Arguments: "{}"}}},
		}},
	} {
		s := modeltest.NewServer(t, turn)
		c, _ := client(t, s)
		got, err := c.Stream(t.Context(), ask(), nil)
		if err != nil || got.Text != "Hi" || got.Finish != model.FinishCalls || len(got.Calls) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 4<<20)
	var many modeltest.Turn
	for range 9 {
		many.Chunks = append(many.Chunks, modeltest.Chunk{Text: big})
	}
	var calls modeltest.Turn
	for i := range 200 {
		calls.Chunks = append(calls.Chunks, modeltest.Chunk{Calls: []modeltest.Call{{Index: i, ID: fmt.Sprint(i), Name: "a"}}})
	}
	for name, turn := range map[string]modeltest.Turn{
		"text": many, "calls": calls, "event": {Chunks: []modeltest.Chunk{{Raw: strings.Repeat("x", 9<<20)}}},
	} {
		s := modeltest.NewServer(t, turn)
		c, _ := client(t, s)
		_, err := c.Stream(t.Context(), ask(), nil)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]model.Config{
		"no name": {}, "no scheme": {Name: "m", BaseURL: "localhost:11434/v1"}, "file": {Name: "m", BaseURL: "file:///v1"},
		"line end": {Name: "m", APIKey: "a\nb"},
	} {
		_, err := model.New(c, model.Options{})
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindConfig || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		given model.Config
		env   map[string]string
		want  model.Config
		wrong int
	}{
		"nothing":           {},
		"the usual names":   {env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a/v1", "OPENAI_MODEL": "m"}, want: model.Config{BaseURL: "http://a/v1", Name: "m", APIKey: "k"}},
		"own names win":     {env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a/v1", "OPENAI_MODEL": "m", "USHER_MODEL_BASE_URL": "http://b/v1", "USHER_MODEL_NAME": "n", "USHER_MODEL_API_KEY": "l"}, want: model.Config{BaseURL: "http://b/v1", Name: "n", APIKey: "l"}},
		"the file wins":     {given: model.Config{Name: "f", APIKey: "fk"}, env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}, want: model.Config{Name: "f", APIKey: "fk"}},
		"no key for others": {given: model.Config{Name: "f", BaseURL: "http://evil.example/v1"}, env: map[string]string{"OPENAI_API_KEY": "k"}, want: model.Config{Name: "f", BaseURL: "http://evil.example/v1"}},
		"the same address":  {given: model.Config{BaseURL: "http://a/v1/"}, env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a/v1"}, want: model.Config{BaseURL: "http://a/v1/", APIKey: "k"}},
		"numbers":           {env: map[string]string{"USHER_MODEL_CONTEXT_TOKENS": "1000", "USHER_MODEL_VISION": "true"}, want: model.Config{ContextTokens: 1000, Vision: true}},
		"no numbers":        {env: map[string]string{"USHER_MODEL_CONTEXT_TOKENS": "lots", "USHER_MODEL_VISION": "perhaps"}, wrong: 2},
	} {
		got, problems := model.FromEnvironment(c.given, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		if got != c.want || len(problems) != c.wrong {
			t.Errorf("%s: %#v (key right: %v), %v", name, got, got.APIKey == c.want.APIKey, problems)
		}
	}
	// Whichever part of the address a person copies.
	for _, suffix := range []string{"", "/", "/chat/completions", "?api-version=1"} {
		s := modeltest.NewServer(t, modeltest.Text("ok"))
		c, _ := client(t, s, func(c *model.Config, _ *model.Options) { c.BaseURL += suffix })
		if _, err := c.Stream(t.Context(), ask(), nil); err != nil || s.Requests()[0].Path != "/v1/chat/completions" {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}

func TestNoRequestFollowsARedirect(t *testing.T) {
	t.Parallel()
	other := modeltest.NewServer(t)
	s := modeltest.NewServer(t, modeltest.Turn{Status: http.StatusTemporaryRedirect, Body: "x"}.With("Location", other.URL))
	c, _ := client(t, s, func(_ *model.Config, o *model.Options) {
		o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	})
	if _, err := c.Stream(t.Context(), ask(), nil); err == nil || len(other.Requests()) > 0 {
		t.Errorf("%v, %d requests elsewhere", err, len(other.Requests()))
	}
}
