package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/model/modeltest"
)

// raw is a result as a server sent it.
func raw(result string) *usher.Result {
	var sent struct {
		IsError bool `json:"isError"`
	}
	_ = json.Unmarshal([]byte(result), &sent) // tests write JSON
	return &usher.Result{Result: &client.Result{Raw: json.RawMessage(result), IsError: sent.IsError}, Display: usher.Display{Type: usher.DisplayText}}
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Content and structured content are neither lost nor doubled, and what is no text is named.
func TestWhatAModelSeesOfAResult(t *testing.T) {
	for name, test := range map[string]struct{ result, want string }{
		"text only":        {`{"content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]}`, "A\n\nB"},
		"structured only":  {`{"structuredContent":{"b":12345678901234567890,"a":1}}`, `{"b":12345678901234567890,"a":1}`},
		"the same twice":   {`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, `{"a":1}`},
		"complementary":    {`{"content":[{"type":"text","text":"sunny"}],"structuredContent":{"t":21}}`, "sunny"},
		"empty content":    {`{"content":[],"structuredContent":{"a":1}}`, `{"a":1}`},
		"blank text":       {`{"content":[{"type":"text","text":" "}],"structuredContent":{"a":1}}`, " \n\n" + `{"a":1}`},
		"nothing":          {`{"content":[]}`, "[an empty result]"},
		"an error":         {`{"content":[{"type":"text","text":"no such file"}],"isError":true}`, "The tool reported an error:\n\nno such file"},
		"a link":           {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain"}]}`, "[a resource: a, text/plain, file:///a]"},
		"embedded text":    {`{"content":[{"type":"resource","resource":{"uri":"x://y","text":"inside"}}]}`, "[the resource x://y]\ninside"},
		"embedded bytes":   {`{"content":[{"type":"resource","resource":{"uri":"x://y","mimeType":"application/pdf","blob":"AAAA"}}]}`, "[the resource x://y, application/pdf, 3 bytes]"},
		"sound":            {`{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`, "[a sound, audio/wav, 3 bytes]"},
		"an unknown kind":  {`{"content":[{"type":"hologram"}]}`, `[content of the type "hologram"]`},
		"a damaged image":  {`{"content":[{"type":"image","data":"!!","mimeType":"image/png"}]}`, "[an image, image/png, 0 bytes: it is damaged]"},
		"an odd image":     {`{"content":[{"type":"image","data":"AAAA","mimeType":"image/tiff"}]}`, "[an image, image/tiff, 3 bytes: models do not take this kind]"},
		"content not read": {`{"content":[7]}`, "[content that cannot be read]"},
	} {
		t.Run(name, func(t *testing.T) {
			h := tools(func(context.Context, usher.Call) (*usher.Result, error) { return raw(test.result), nil }, "a")
			f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("ok"))
			id := f.create()
			f.say(id, "Go")
			f.turnEnd(id, 1)
			if got := received(t, server, 2)[2]; got != "tool x1: "+test.want {
				t.Errorf("the model saw %q, want %q", got, test.want)
			}
		})
	}
}

// An image arrives as one, byte for byte, beside text that is shortened.
func TestImagesAreNeverCut(t *testing.T) {
	long := strings.Repeat("word ", 40_000)
	answer := encoded(t, map[string]any{"content": []any{
		map[string]string{"type": "text", "text": long}, map[string]string{"type": "image", "mimeType": "image/png", "data": pixel},
	}})
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) { return raw(answer), nil }, "a")
	f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("ok"))
	id := f.create()
	f.say(id, "Go")
	f.turnEnd(id, 1)
	body := string(server.Await(2).Body)
	if !strings.Contains(body, "data:image/png;base64,"+pixel) || len(body) > 80<<10 {
		t.Errorf("the request has %d bytes", len(body))
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A long result reaches the model as head and tail, and read_output gives all the rest: the pieces are the whole.
func TestALongResultIsReadOn(t *testing.T) {
	for name, bytes := range map[string]int{"in the log": 200_000, "beyond what the log holds of one": conversation.MaxEvent + 100_000} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := 0; b.Len() < bytes; i++ {
				fmt.Fprintf(&b, "line %d é\n", i)
			}
			whole := b.String()
			h := tools(func(context.Context, usher.Call) (*usher.Result, error) {
				r := result(whole)
				return r, nil
			}, "a")
			f, server := chat(t, h, conversation.Options{}, modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`}), modeltest.Text("ok"))
			id := f.create()
			f.say(id, "Go")
			f.turnEnd(id, 1)
			seen := strings.TrimPrefix(received(t, server, 2)[2], "tool x1: ")
			m := regexp.MustCompile(`(?s)^(.*?)\n\n\[… (\d+) of (\d+) bytes are left out here\. All of it is kept: read_output with \{"name":"(call-1)","offset":(\d+)\} reads on\. …\]`).FindStringSubmatch(seen)
			if m == nil || len(seen) > 66<<10 || m[3] != fmt.Sprint(len(whole)) || m[5] != fmt.Sprint(len(m[1])) || !strings.HasPrefix(whole, m[1]) {
				t.Fatalf("the model saw %d bytes: %.300s … %.300s", len(seen), seen, seen[max(0, len(seen)-300):])
			}
			// Read on a little, and at the end.
			next := len(m[1])
			tail := len(whole) - 1000
			server.Add(
				modeltest.Calls(
					modeltest.Call{ID: "y1", Name: "read_output", Arguments: fmt.Sprintf(`{"name":"call-1","offset":%d}`, next)},
					modeltest.Call{ID: "y2", Name: "read_output", Arguments: fmt.Sprintf(`{"name":"call-1","offset":%d,"limit":100000}`, tail)},
					modeltest.Call{ID: "y3", Name: "read_output", Arguments: `{"name":"call-9"}`},
				), modeltest.Text("ok"))
			f.say(id, "More")
			_, _, log := f.turnEnd(id, 2)
			got := received(t, server, 4)
			got = got[len(got)-3:]
			piece := regexp.MustCompile(`(?s)^tool y\d: \[call-1, bytes (\d+) to (\d+) of \d+; (go on at offset \d+|this is the end)\]\n(.*)$`)
			for i, want := range []struct {
				from, to int
				end      bool
			}{{next, next + 32<<10, false}, {tail, len(whole), true}} {
				p := piece.FindStringSubmatch(got[i])
				if p == nil {
					t.Fatalf("read_output answered %.200s", got[i])
				}
				from, err1 := strconv.Atoi(p[1])
				to, err2 := strconv.Atoi(p[2])
				if err1 != nil || err2 != nil {
					t.Fatal(p[1], p[2])
				}
				if p[4] != whole[from:to] || from > want.from || from < want.from-3 || to > want.to || to < want.to-3 || (p[3] == "this is the end") != want.end {
					t.Errorf("read_output answered with bytes %d to %d (%s), want %+v", from, to, p[3], want)
				}
			}
			if !strings.Contains(got[2], `no result "call-9"`) {
				t.Errorf("a result that is none: %s", got[2])
			}
			if text := dump(log); strings.Contains(text, `"server":"s","tool":"read_output"`) {
				t.Error("read_output is told as a tool of a server")
			}
		})
	}
}

// Many long results in one step share one bound.
func TestResultsOfAStepShareABound(t *testing.T) {
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) {
		return result(strings.Repeat("x", 100<<10)), nil
	}, "a")
	var calls []modeltest.Call
	for i := range 20 {
		calls = append(calls, modeltest.Call{ID: fmt.Sprint("x", i), Name: "s__a", Arguments: `{}`})
	}
	f, server := chat(t, h, conversation.Options{}, modeltest.Calls(calls...), modeltest.Text("ok"))
	id := f.create()
	f.say(id, "Go")
	f.turnEnd(id, 1)
	if n := len(server.Await(2).Body); n > 300<<10 {
		t.Errorf("the request has %d bytes", n)
	}
}

// The conversation is compacted before it is too long for the model; steps stay whole, and the log keeps everything.
func TestTheConversationIsCompactedInTime(t *testing.T) {
	h := tools(func(context.Context, usher.Call) (*usher.Result, error) {
		return result(strings.Repeat("long words ", 500)), nil
	}, "a")
	o := conversation.Options{ModelInfo: conversation.ModelInfo{ContextTokens: 8000}}
	f, server := chat(t, h, o)
	id := f.create()
	server.Add(endless(t, server, func(r modeltest.Request) modeltest.Turn {
		switch {
		case strings.Contains(string(r.Body), "Write the summary now."):
			return modeltest.Text("The person counts rounds; the key is K-4711.")
		case strings.Contains(lastMessage(t, r), `"role":"tool"`):
			return modeltest.Text("Done.")
		}
		return modeltest.Calls(modeltest.Call{ID: "x1", Name: "s__a", Arguments: `{}`})
	}))
	summarized := 0
	for round := 1; summarized < 2; round++ {
		if round > 15 {
			t.Fatal("it was never compacted")
		}
		f.say(id, fmt.Sprintf("Round %d", round))
		kind, _, log := f.turnEnd(id, round)
		if kind != api.EventTurnFinished {
			t.Fatalf("round %d ended with %s\n%s", round, kind, dump(log))
		}
		summarized = strings.Count(kinds(log), api.EventSessionCompacted)
	}
	for n, r := range server.Requests() {
		if strings.Contains(string(r.Body), "Write the summary now.") {
			continue
		}
		if len(r.Body) > 4*8000 {
			t.Errorf("request %d has %d bytes", n+1, len(r.Body))
		}
		whole(t, r)
	}
	last := received(t, server, len(server.Requests()))
	if !strings.Contains(last[0], "replaced by this summary") || !strings.Contains(last[0], "K-4711") || !strings.Contains(last[0], "call-") {
		t.Errorf("the conversation begins with %q", last[0])
	}
	// A process that starts anew sees the same conversation.
	again, err := conversation.Open(t.Context(), conversation.Options{Store: f.store, Host: h, Model: modelAt(t, server), ModelInfo: o.ModelInfo})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	n := len(server.Requests())
	if _, err := again.Message(t.Context(), id, "Last round"); err != nil {
		t.Fatal(err)
	}
	if err := again.Idle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	next := received(t, server, n+1)
	if len(next) >= len(last) {
		if diff := cmp.Diff(last[:len(last)-1], next[:len(last)-1]); diff != "" {
			t.Errorf("after a restart:\n%s", diff)
		}
	}
}

// endless is a turn that answers every request until the test ends.
func endless(t *testing.T, server *modeltest.Server, answer func(modeltest.Request) modeltest.Turn) modeltest.Turn {
	var (
		ended atomic.Bool
		turn  modeltest.Turn
	)
	turn.From = func(r modeltest.Request) modeltest.Turn {
		if ended.Load() {
			return modeltest.Text("The end.")
		}
		server.Add(turn)
		return answer(r)
	}
	t.Cleanup(func() { // plays the last one, which the script would miss
		ended.Store(true)
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the request counts
	})
	return turn
}

func lastMessage(t *testing.T, r modeltest.Request) string {
	t.Helper()
	var body struct{ Messages []json.RawMessage }
	r.Decode(t, &body)
	return string(body.Messages[len(body.Messages)-1])
}

// whole checks that each call has one result right after it, and each result its call.
func whole(t *testing.T, r modeltest.Request) {
	t.Helper()
	var body struct{ Messages []wireMessage }
	r.Decode(t, &body)
	open := map[string]bool{}
	for _, m := range body.Messages {
		switch {
		case m.Role == "tool" && !open[m.ToolCallID]:
			t.Errorf("a result of %s without its call", m.ToolCallID)
		case m.Role == "tool":
			delete(open, m.ToolCallID)
		case len(open) > 0:
			t.Errorf("calls without a result: %v", open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

// A model that says itself that the conversation is too long gets a shorter one.
func TestAModelThatRefusesTheLengthGetsASummary(t *testing.T) {
	f, server := chat(t, text("x"), conversation.Options{}, modeltest.Text("One."), modeltest.Text("Two."),
		modeltest.Error(400, "context_length_exceeded", "This model's maximum context length is 10 tokens"),
		modeltest.Text("They counted."), modeltest.Text("Three."))
	id := f.create()
	for i, words := range []string{"first", "second", "third"} {
		f.say(id, words)
		if kind, end, _ := f.turnEnd(id, i+1); kind != api.EventTurnFinished {
			t.Fatalf("turn %d ended with %s %+v", i+1, kind, end.Error)
		}
	}
	got := received(t, server, 5)
	if !strings.Contains(got[0], "They counted.") || !strings.HasSuffix(got[len(got)-1], "third") {
		t.Errorf("the model was told %q", got)
	}
}

func TestCompactionOnDemand(t *testing.T) {
	f, server := chat(t, text("x"), conversation.Options{}, modeltest.Text(strings.Repeat("long answer ", 2000)), modeltest.Text("Short."))
	id := f.create()
	if done, err := f.Summarize(t.Context(), id); done || err != nil {
		t.Errorf("an empty session: %v, %v", done, err)
	}
	f.say(id, "first")
	f.turnEnd(id, 1)
	f.say(id, "second")
	f.turnEnd(id, 2)
	if err := f.Idle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	server.Add(modeltest.Error(500, "", "broken"), modeltest.Error(500, "", "broken"), modeltest.Error(500, "", "broken"), modeltest.Error(500, "", "broken"))
	if done, err := f.Summarize(t.Context(), id); !done || err != nil {
		t.Fatalf("Summarize = %v, %v", done, err)
	}
	server.Add(modeltest.Text("OK."))
	f.say(id, "third")
	f.turnEnd(id, 3)
	got := strings.Join(received(t, server, len(server.Requests())), "\n")
	if strings.Contains(got, "long answer") || !strings.Contains(got, "No summary could be written") || !strings.Contains(got, "- first") || !strings.Contains(got, "third") {
		t.Errorf("the model was told %.3000s", got)
	}
	log := f.until(id, func(e conversation.Event) bool { return e.Type == api.EventTurnFinished && e.ID > 12 })
	if !strings.Contains(dump(log), "long answer") {
		t.Error("the log has lost what was compacted")
	}
}
