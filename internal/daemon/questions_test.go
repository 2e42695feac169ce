package daemon_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
)

// answer sends an answer and returns what came of it.
func (f *fixture) answer(id, action, content, by string) answer {
	f.t.Helper()
	return f.send(f.request("POST", "/v1/questions/"+id+"/answer", api.AnswerRequest{Action: action, Content: json.RawMessage(content), By: by}))
}

func TestAFormIsAnsweredThroughTheAPI(t *testing.T) {
	for _, era := range []config.Negotiation{config.Legacy, config.Auto} {
		t.Run(string(era), func(t *testing.T) {
			spec := fx(t, "fx", "--elicit")
			spec.VersionNegotiation = era
			f := start(t, setup{servers: []config.Server{spec}})
			id := f.create()
			events := f.follow(id, "", "")
			call := f.call(id, "ask", `{}`)
			log := events.until(api.EventQuestionAsked)
			q := data[api.QuestionAsked](t, log[len(log)-1])
			if q.Kind != api.QuestionForm || q.CallID != call || q.Server != "fx" || q.Tool != "ask" || q.Message == "" || q.Schema == nil || q.ExpiresAt.IsZero() {
				t.Errorf("question.asked = %+v", q)
			}
			if s := do[api.Session](f, 200, "GET", "/v1/sessions/"+id, nil); s.Questions != 1 {
				t.Errorf("%d questions wait", s.Questions)
			}
			if a := f.answer(q.QuestionID, "accept", `{"name":""}`, "webshell"); a.StatusCode != 400 || a.problem().Field != "content.name" {
				t.Errorf("a form that is not filled: %s %s", a.Status, a.body)
			}
			if a := f.answer(q.QuestionID, "once", ``, ""); a.StatusCode != 400 || a.problem().Field != "action" {
				t.Errorf("an action that is not allowed: %s %s", a.Status, a.body)
			}
			if a := f.answer(q.QuestionID, "accept", `{"name":"Ada"}`, "webshell"); a.StatusCode != 204 {
				t.Fatalf("the answer: %s %s", a.Status, a.body)
			}
			if a := f.answer(q.QuestionID, "decline", ``, "chat"); a.StatusCode != 409 || a.problem().Code != "already_answered" ||
				!strings.Contains(a.problem().Message, `"accept" by webshell`) {
				t.Errorf("a late answer: %s %s", a.Status, a.body)
			}
			log = events.until(api.EventCallFinished)
			if end := data[api.CallFinished](t, log[len(log)-1]); end.Outcome != api.OutcomeResult || !strings.Contains(string(end.Result), `\"name\":\"Ada\"`) {
				t.Errorf("call.finished = %+v %s", end, end.Result)
			}
			if told := data[api.QuestionAnswered](t, log[0]); told.QuestionID != q.QuestionID || told.Action != "accept" || told.By != "webshell" || string(told.Content) != `{"name":"Ada"}` {
				t.Errorf("question.answered = %+v", told)
			}
			if s := do[api.Session](f, 200, "GET", "/v1/sessions/"+id, nil); s.Questions != 0 {
				t.Errorf("%d questions wait", s.Questions)
			}
		})
	}
}

// However many answer at once, one answer counts, and the others are told which.
func TestTheFirstAnswerCounts(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx", "--elicit")}})
	id := f.create()
	events := f.follow(id, "", "")
	f.call(id, "ask", `{}`)
	log := events.until(api.EventQuestionAsked)
	q := data[api.QuestionAsked](t, log[len(log)-1])
	statuses := make([]int, 8)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i] = f.answer(q.QuestionID, "decline", ``, "").StatusCode })
	}
	wg.Wait()
	count := map[int]int{}
	for _, s := range statuses {
		count[s]++
	}
	if count[204] != 1 || count[409] != 7 {
		t.Errorf("answers got %v", count)
	}
	events.until(api.EventCallFinished)
	told := 0
	for _, e := range f.log(id) {
		if e.Type == api.EventQuestionAnswered {
			told++
		}
	}
	if told != 1 {
		t.Errorf("question.answered is told %d times", told)
	}
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	f := start(t, setup{servers: []config.Server{fx(t, "fx", "--elicit")}})
	id := f.create()
	events := f.follow(id, "", "")
	call := f.call(id, "ask", `{}`)
	log := events.until(api.EventQuestionAsked)
	q := data[api.QuestionAsked](t, log[len(log)-1])
	do[none](f, 204, "POST", "/v1/sessions/"+id+"/cancel", api.CancelRequest{CallID: call})
	log = events.until(api.EventQuestionExpired)
	if end := data[api.QuestionExpired](t, log[len(log)-1]); end.QuestionID != q.QuestionID || end.Reason != "withdrawn" {
		t.Errorf("question.expired = %+v", end)
	}
	if a := f.answer(q.QuestionID, "decline", ``, ""); a.StatusCode != 409 || a.problem().Code != "question_expired" {
		t.Errorf("an answer after the end: %s %s", a.Status, a.body)
	}
	if a := f.answer("q_nothing", "decline", ``, ""); a.StatusCode != 404 {
		t.Errorf("a question that never was: %s", a.Status)
	}
}
