//go:build unix

package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model/modeltest"
)

// withModel names the model in the environment of the programs that the test starts.
func withModel(t *testing.T, m *modeltest.Server) {
	t.Helper()
	t.Setenv("USHER_MODEL_BASE_URL", m.URL)
	t.Setenv("USHER_MODEL_NAME", "scripted")
}

func say(d *daemon, session, text string) {
	d.t.Helper()
	do[api.Accepted](d, "POST", "/v1/sessions/"+session+"/messages", api.MessageRequest{Text: text})
}

func newSession(d *daemon) string {
	d.t.Helper()
	return do[api.Session](d, "POST", "/v1/sessions", api.CreateSessionRequest{}).ID
}

func types(log []api.Event) string {
	var all []string
	for _, e := range log {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

// The daemon is killed in the middle of a turn. Nothing that was told is lost, what was open has an end that says so, and
// the session goes on: the model sees what was said before.
func TestAKilledDaemonLosesNothingThatWasTold(t *testing.T) {
	for name, test := range map[string]struct {
		turns  func(wait <-chan struct{}) []modeltest.Turn
		before string // the event after which it is killed
		log    string // how the log ends then
		model  string // what the model sees
	}{
		"while the model speaks": {
			turns: func(wait <-chan struct{}) []modeltest.Turn {
				return []modeltest.Turn{{Chunks: []modeltest.Chunk{{Text: "Once upon a time"}, {Wait: wait}}}}
			},
			before: api.EventText, log: "turn.started turn.stepped text.appended turn.failed", model: "Once upon a time",
		},
		"while a tool runs": {
			turns: func(<-chan struct{}) []modeltest.Turn {
				return []modeltest.Turn{modeltest.Calls(modeltest.Call{ID: "x1", Name: "fx__echo", Arguments: `{"message":"x"}`})}
			},
			before: api.EventCallStarted, log: "call.approved call.started call.finished turn.failed", model: "OUTCOME UNKNOWN",
		},
		"while a question waits": {
			turns: func(<-chan struct{}) []modeltest.Turn {
				return []modeltest.Turn{modeltest.Calls(modeltest.Call{ID: "x1", Name: "fx__echo", Arguments: `{"message":"x"}`})}
			},
			before: api.EventQuestionAsked, log: "call.requested question.asked question.expired call.finished turn.failed", model: "OUTCOME UNKNOWN",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wait := make(chan struct{})
			m := modeltest.NewServer(t, test.turns(wait)...)
			t.Cleanup(func() { close(wait) })
			withModel(t, m)
			dir := t.TempDir()
			args := []string{"--stdio", slowServer}
			if test.before != api.EventQuestionAsked {
				args = append(args, "--config", configFile(t, `{"permissions":{"mode":"auto"}}`))
			}
			d := serve(t, dir, args...)
			session := newSession(d)
			say(d, session, "Go ahead")
			before := d.until(session, test.before)
			d.end(syscall.SIGKILL)

			d = serve(t, dir, args...)
			log := d.log(session)
			if len(log) <= len(before) {
				t.Fatalf("%d events are left of %d", len(log), len(before))
			}
			for i, e := range before {
				if string(e.Data) != string(log[i].Data) || e.Type != log[i].Type || e.ID != log[i].ID {
					t.Errorf("event %d was %s, and is %s", e.ID, e.Data, log[i].Data)
				}
			}
			if got := types(log); !strings.HasSuffix(got, test.log) {
				t.Errorf("the log is %s\nwant it to end with %s", got, test.log)
			}
			var end api.TurnEnded
			if err := json.Unmarshal(log[len(log)-1].Data, &end); err != nil || end.Error == nil || end.Error.Code != "interrupted" {
				t.Errorf("the turn's end is %s, %v", log[len(log)-1].Data, err)
			}
			m.Add(modeltest.Text("Here I am."))
			say(d, session, "Still there?")
			d.until(session, api.EventTurnFinished)
			requests := m.Requests()
			last := string(requests[len(requests)-1].Body)
			for _, want := range []string{"Go ahead", test.model, "Still there?"} {
				if !strings.Contains(last, want) {
					t.Errorf("%q is not in what the model saw: %s", want, last)
				}
			}
			d.end(syscall.SIGTERM)
		})
	}
}

// Killed while a summary is written: the conversation is as it was, and is summed up the next time.
func TestAKilledCompactionChangesNothing(t *testing.T) {
	wait := make(chan struct{})
	m := modeltest.NewServer(t, modeltest.Text("First answer. "+strings.Repeat("So it is. ", 2000)), modeltest.Text("Second answer."),
		modeltest.Turn{Chunks: []modeltest.Chunk{{Text: "Sum"}, {Wait: wait}}})
	t.Cleanup(func() { close(wait) })
	withModel(t, m)
	dir := t.TempDir()
	d := serve(t, dir, "--stdio", slowServer)
	session := newSession(d)
	for _, text := range []string{"First", "Second"} {
		say(d, session, text)
		d.until(session, api.EventTurnFinished)
	}
	before := d.log(session)
	go func() {
		m.Await(3)
		_ = d.cmd.Process.Signal(syscall.SIGKILL) // the test sees that it is gone
	}()
	compact(d, session)
	_ = d.cmd.Wait() // killed

	d = serve(t, dir, "--stdio", slowServer)
	if got := d.log(session); len(got) != len(before) {
		t.Errorf("the log is %s", types(got))
	}
	m.Add(modeltest.Text("Summed up."))
	if done := do[api.Compacted](d, "POST", "/v1/sessions/"+session+"/compact", struct{}{}); !done.Summarized {
		t.Errorf("compaction = %+v", done)
	}
	d.end(syscall.SIGTERM)
}

// configFile writes a configuration file.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "usher.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// compact asks for compaction, and is killed before it gets an answer.
func compact(d *daemon, session string) {
	d.t.Helper()
	if status, text := post(d, "/v1/sessions/"+session+"/compact", "{}"); status != 0 {
		d.t.Errorf("compaction answered %d %s", status, text)
	}
}

// The tour's form, from the call to the result, as a page would do it.
func TestTheToursFormIsAnswered(t *testing.T) {
	d := serve(t, t.TempDir())
	id := newSession(d)
	do[api.Accepted](d, "POST", "/v1/sessions/"+id+"/calls", api.CallRequest{
		Server: "tour", Tool: "plan_trip", Arguments: json.RawMessage(`{"destination":"lis","nights":3,"pace":"slow"}`),
	})
	log := d.until(id, api.EventQuestionAsked)
	var q api.QuestionAsked
	if err := json.Unmarshal(log[len(log)-1].Data, &q); err != nil {
		t.Fatal(err)
	}
	if q.Kind != api.QuestionForm || q.Tool != "plan_trip" || !strings.Contains(q.Message, "travel agency") || !strings.Contains(string(q.Schema), `"email"`) {
		t.Errorf("question.asked = %+v", q)
	}
	answer(d, q.QuestionID, api.AnswerRequest{Action: "accept", Content: json.RawMessage(`{"name":"Ada","email":"ada@example.com"}`), By: "test"})
	log = d.until(id, api.EventCallFinished)
	if last := string(log[len(log)-1].Data); !strings.Contains(last, "Contact: Ada ada@example.com") {
		t.Errorf("call.finished = %s", last)
	}
	d.end(syscall.SIGTERM)
}

// answer sends an answer that is taken.
func answer(d *daemon, question string, a api.AnswerRequest) {
	d.t.Helper()
	body, err := json.Marshal(a)
	if err != nil {
		d.t.Fatal(err)
	}
	status, text := post(d, "/v1/questions/"+question+"/answer", string(body))
	if status != http.StatusNoContent {
		d.t.Fatalf("the answer: %d %s", status, text)
	}
}

// post sends a request and returns what came of it; 0 when the daemon was gone before it answered.
func post(d *daemon, path, body string) (status int, text string) {
	d.t.Helper()
	token, err := os.ReadFile(d.ready.TokenFile)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.ready.Addr+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}
