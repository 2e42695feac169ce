package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/model/modeltest"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/ushertest"
)

// world is sessions over a real host, with a model that plays a script.
func world(t *testing.T, host usher.Options, turns ...modeltest.Turn) (fixture, *modeltest.Server) {
	t.Helper()
	server := modeltest.NewServer(t, turns...)
	store, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	desk := conversation.NewDesk()
	host.Ask, host.Sample = desk.Ask, desk.Sample
	h, err := usher.Open(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conversation.Open(t.Context(), conversation.Options{
		Store: store, Host: h, Desk: desk, Servers: h.Servers, Model: modelAt(t, server),
		Await: func(ctx context.Context) { _ = h.Wait(ctx) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		for _, err := range []error{s.Close(ctx), h.Close(ctx), store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return fixture{s, t, store}, server
}

func fx(t *testing.T, flags ...string) config.Server {
	t.Helper()
	s := ushertest.Command(t, flags...)
	s.Name = "fx"
	return s
}

// answerAll answers the questions of a session as they come, until the turn ends.
func (f fixture) answerAll(session string, answer func(api.QuestionAsked) usher.Answer) []conversation.Event {
	f.t.Helper()
	return f.until(session, func(e conversation.Event) bool {
		if e.Type == api.EventQuestionAsked {
			q := data[api.QuestionAsked](f.t, e)
			if err := f.Answer(f.t.Context(), q.QuestionID, answer(q)); err != nil {
				f.t.Error(err)
			}
		}
		return e.Type == api.EventTurnFinished || e.Type == api.EventTurnFailed
	})
}

// The model sees the same bytes whether apps are shown or not, and never an app's HTML.
func TestTheModelNeverSeesAnApp(t *testing.T) {
	var bodies [2][]string
	for i, off := range []bool{false, true} {
		f, server := world(t, usher.Options{Servers: []config.Server{fx(t, "--app", "--instructions", "Be kind.")}, Apps: usher.AppOptions{Disabled: off}},
			modeltest.Calls(modeltest.Call{ID: "x1", Name: "fx__app_dashboard", Arguments: `{"title":"Q3"}`}, modeltest.Call{ID: "x2", Name: "fx__big", Arguments: `{"bytes":200000}`}),
			modeltest.Text("Shown."), modeltest.Text("Bye."))
		id := f.create()
		f.say(id, "Show the dashboard")
		_, _, log := f.turnEnd(id, 1)
		f.say(id, "Thanks")
		f.turnEnd(id, 2)
		app := false
		for _, e := range log {
			if e.Type == api.EventCallFinished {
				d := data[api.CallFinished](t, e)
				app = app || d.Display != nil && d.Display.Type == usher.DisplayApp && strings.Contains(d.Display.HTML, "<html")
			}
		}
		if app == off {
			t.Errorf("apps off is %v, and an app is shown: %v\n%s", off, app, dump(log))
		}
		for _, r := range server.Requests() {
			body := string(r.Body)
			bodies[i] = append(bodies[i], body)
			if strings.Contains(strings.ToLower(body), "<html") || strings.Contains(body, "<script") || strings.Contains(body, "ui://") {
				t.Errorf("a request holds an app: %.400s", body)
			}
		}
		if !strings.Contains(bodies[i][0], `How to use the server \"fx\", in its own words\n\nBe kind.`) {
			t.Error("the server's instructions are not in the request")
		}
	}
	if len(bodies[0]) != 3 || len(bodies[1]) != 3 {
		t.Fatalf("%d and %d requests", len(bodies[0]), len(bodies[1]))
	}
	for n := range bodies[0] {
		if bodies[0][n] != bodies[1][n] {
			t.Errorf("request %d differs:\n%.2000s\n%.2000s", n+1, bodies[0][n], bodies[1][n])
		}
	}
}

// A call of the model waits for the person; the answer holds for the session, and a no reaches the model.
func TestTheModelsCallsWaitForThePerson(t *testing.T) {
	spec := fx(t)
	f, server := world(t, usher.Options{Servers: []config.Server{spec}, Permissions: permission.NewGate(permission.GateOptions{})},
		modeltest.Calls(modeltest.Call{ID: "x1", Name: "fx__echo", Arguments: `{"message":"one"}`}),
		modeltest.Calls(modeltest.Call{ID: "x2", Name: "fx__echo", Arguments: `{"message":"two"}`}),
		modeltest.Calls(modeltest.Call{ID: "x3", Name: "fx__add", Arguments: `{"a":1,"b":2}`}),
		modeltest.Text("Done."))
	id := f.create()
	f.say(id, "Go")
	var asked []string
	log := f.answerAll(id, func(q api.QuestionAsked) usher.Answer {
		asked = append(asked, q.Tool)
		if q.Kind != api.QuestionPermission || q.CallID == "" || q.Arguments == nil || len(q.Allowed) != 4 {
			t.Errorf("question.asked = %+v", q)
		}
		if q.Tool == "echo" {
			return usher.Answer{Action: "session", By: "test"}
		}
		return usher.Answer{Action: "no", By: "test"}
	})
	if fmt.Sprint(asked) != "[echo add]" {
		t.Errorf("asked about %v", asked)
	}
	var decisions []string
	for _, e := range log {
		if e.Type == api.EventCallApproved || e.Type == api.EventCallDenied {
			decisions = append(decisions, e.Type+" "+data[api.CallDecided](t, e).Source)
		}
	}
	if fmt.Sprint(decisions) != "[call.approved person call.approved session call.denied person]" {
		t.Errorf("decisions %v", decisions)
	}
	if got := received(t, server, 4); !strings.Contains(got[len(got)-1], "not allowed, so nothing ran. The person said no") {
		t.Errorf("the model was told %q", got)
	}
	if got := ushertest.ReadLog(t, spec).Received("tools/call"); len(got) != 2 {
		t.Errorf("the server saw %d calls", len(got))
	}
}

// A server asks the model something, and the person agrees: the answer is the model's, and what was asked is in no
// session's history.
func TestAServerAsksTheModel(t *testing.T) {
	spec := fx(t, "--elicit=sampling")
	spec.VersionNegotiation = config.Auto
	f, server := world(t, usher.Options{Servers: []config.Server{spec}},
		modeltest.Calls(modeltest.Call{ID: "x1", Name: "fx__ask_model", Arguments: `{}`}),
		modeltest.Text("Word."), modeltest.Text("It said: Word."))
	id := f.create()
	f.say(id, "Let it ask")
	f.answerAll(id, func(q api.QuestionAsked) usher.Answer {
		if q.Kind != api.QuestionSampling || !strings.Contains(string(q.Sampling), "Say one word.") {
			t.Errorf("question.asked = %+v", q)
		}
		return usher.Answer{Action: "once"}
	})
	var asked struct {
		Messages  []wireMessage
		MaxTokens int `json:"max_tokens"`
		Tools     json.RawMessage
	}
	server.Await(2).Decode(t, &asked)
	if len(asked.Messages) != 1 || asked.MaxTokens != 16 || asked.Tools != nil || !strings.Contains(string(asked.Messages[0].Content), "Say one word.") {
		t.Errorf("the model was asked %s", server.Await(2).Body)
	}
	got := strings.Join(received(t, server, 3), "\n")
	if !strings.Contains(got, `"text":"Word."`) || strings.Contains(got, "Say one word.") {
		t.Errorf("the conversation is %s", got)
	}
}

// Many steps with real servers from npm, every call approved by the person: the log, the model's requests and what the
// servers did agree.
func TestATaskWithServersFromNPM(t *testing.T) {
	dir := t.TempDir()
	npm := func(name, pkg string, args ...string) config.Server {
		s := config.Server{Name: name, Type: config.TypeStdio, Command: "node", Args: append([]string{npmServer(t, pkg)}, args...)}
		return s
	}
	memory := npm("memory", "server-memory")
	memory.Env = map[string]config.Secret{"MEMORY_FILE_PATH": config.Secret(dir + "/memory.jsonl")}
	f, server := world(t, usher.Options{
		Servers:     []config.Server{npm("everything", "server-everything", "stdio"), npm("files", "server-filesystem", dir), memory},
		Permissions: permission.NewGate(permission.GateOptions{}),
	},
		modeltest.Calls(
			modeltest.Call{ID: "a1", Name: "everything__echo", Arguments: `{"message":"hello"}`},
			modeltest.Call{ID: "a2", Name: "files__write_file", Arguments: encoded(t, map[string]string{"path": dir + "/note.txt", "content": "a note"})},
			modeltest.Call{ID: "a3", Name: "memory__create_entities", Arguments: `{"entities":[{"name":"Ada","entityType":"person","observations":["likes notes"]}]}`},
		),
		modeltest.Calls(
			modeltest.Call{ID: "b1", Name: "files__read_text_file", Arguments: encoded(t, map[string]string{"path": dir + "/note.txt"})},
			modeltest.Call{ID: "b2", Name: "memory__read_graph", Arguments: `{}`},
			modeltest.Call{ID: "b3", Name: "everything__get-tiny-image", Arguments: `{}`},
		),
		modeltest.Text("All done."))
	id := f.create()
	f.say(id, "Write a note about Ada, and show me an image.")
	questions := 0
	log := f.answerAll(id, func(q api.QuestionAsked) usher.Answer { questions++; return usher.Answer{Action: "once"} })
	if last := log[len(log)-1]; last.Type != api.EventTurnFinished || questions != 6 {
		t.Fatalf("%d questions\n%s", questions, dump(log))
	}
	final := string(server.Await(3).Body)
	for _, want := range []string{"Echo: hello", "a note", "likes notes", "data:image/png;base64,"} {
		if !strings.Contains(final, want) {
			t.Errorf("%q is not in what the model saw", want)
		}
	}
	whole(t, server.Await(3))
	for _, e := range log {
		if e.Type == api.EventCallFinished {
			if d := data[api.CallFinished](t, e); d.Outcome != api.OutcomeResult {
				t.Errorf("a call ended with %s: %s", d.Outcome, e.Data)
			}
		}
	}
}
