package usher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/ushertest"
)

// person answers questions and remembers them.
type person struct {
	mu     sync.Mutex
	seen   []usher.Question
	answer func(context.Context, usher.Question) (usher.Answer, error)
}

func (p *person) ask(ctx context.Context, q usher.Question) (usher.Answer, error) {
	p.mu.Lock()
	p.seen = append(p.seen, q)
	p.mu.Unlock()
	return p.answer(ctx, q)
}

func (p *person) asked() []usher.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// says makes a person who always gives one answer.
func says(action, content string) *person {
	return &person{answer: func(context.Context, usher.Question) (usher.Answer, error) {
		return usher.Answer{Action: action, Content: json.RawMessage(content)}, nil
	}}
}

// eras is a server of each era that asks.
func eras(t *testing.T, test func(t *testing.T, spec config.Server)) {
	for _, era := range []config.Negotiation{config.Legacy, config.Auto} {
		t.Run(string(era), func(t *testing.T) {
			spec := fx(t, "fx", "--elicit=all")
			spec.VersionNegotiation = era
			test(t, spec)
			if got := ushertest.ReadLog(t, spec).Violations(); len(got) != 0 {
				t.Errorf("violations: %q", got)
			}
		})
	}
}

func TestAServersFormReachesTheOwnerOfItsCall(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		p := says("accept", `{"name":"Ada","size":"large"}`)
		h := open(t, usher.Options{Servers: []config.Server{spec}, Ask: p.ask})
		res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask", Owner: "s_1", ID: "c_1"})
		if err != nil || !strings.Contains(res.Content[0].Text, `"name":"Ada"`) || !strings.Contains(res.Content[0].Text, `"action":"accept"`) {
			t.Fatalf("ask = %+v, %v", res, err)
		}
		asked := p.asked()
		if len(asked) != 1 {
			t.Fatalf("%d questions", len(asked))
		}
		q := asked[0]
		if q.Kind != usher.QuestionForm || q.Owner != "s_1" || q.CallID != "c_1" || q.Server != "fx" || q.Tool != "ask" ||
			!strings.Contains(q.Message, "what is your name") || !strings.HasPrefix(q.ID, "q_") || !q.Deadline.After(time.Now()) ||
			!slices.Equal(q.Allowed, []string{"accept", "decline", "cancel"}) {
			t.Errorf("the question is %+v", q)
		}
	})
}

func TestAnAnswerThatDoesNotFitItsFormIsNotSent(t *testing.T) {
	for name, answer := range map[string]string{
		"a field that was not asked for": `{"name":"Ada","password":"x"}`,
		"a missing field":                `{"size":"large"}`,
		"a wrong choice":                 `{"name":"Ada","size":"huge"}`,
		"a wrong type":                   `{"name":1}`,
		"no object":                      `["Ada"]`,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, usher.Options{Servers: []config.Server{fx(t, "fx", "--elicit")}, Ask: says("accept", answer).ask})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask"})
			if err != nil || !strings.Contains(res.Content[0].Text, `"action":"cancel"`) || strings.Contains(res.Content[0].Text, "content") {
				t.Errorf("ask = %+v, %v", res, err)
			}
		})
	}
}

func TestAnAddressIsOfferedWholeAndNeverFetched(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		p := says("accept", "")
		h := open(t, usher.Options{Servers: []config.Server{spec}, Ask: p.ask})
		res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask_url"})
		if err != nil || !strings.Contains(res.Content[0].Text, `{"action":"accept"}`) {
			t.Fatalf("ask_url = %+v, %v", res, err)
		}
		if q := p.asked()[0]; q.Kind != usher.QuestionURL || q.URL != "https://example.com/confirm" || q.Host != "example.com" || len(q.Warnings) > 0 {
			t.Errorf("the question is %+v", q)
		}
	})
}

func TestWithoutAnybodyToAskNothingIsOffered(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		h := open(t, usher.Options{Servers: []config.Server{spec}})
		for _, tool := range []string{"ask", "ask_model", "ask_roots"} {
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: tool})
			if err == nil && !strings.Contains(res.Content[0].Text, "cannot be asked") {
				t.Errorf("%s = %+v", tool, res)
			}
		}
	})
}

func TestSamplingWaitsForThePerson(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		for action, want := range map[string]int{"once": 1, "no": 0} {
			sampled := 0
			p := says(action, "")
			h := open(t, usher.Options{
				Servers: []config.Server{spec}, Ask: p.ask,
				Sample: func(_ context.Context, owner string, _ client.Sampling) (json.RawMessage, error) {
					if owner != "s_1" {
						t.Errorf("sampling for %q", owner)
					}
					sampled++
					return json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"word"}}`), nil
				},
			})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask_model", Owner: "s_1"})
			if sampled != want {
				t.Errorf("%s: the model was asked %d times", action, sampled)
			}
			if got := err == nil && strings.Contains(res.Content[0].Text, `"text":"word"`); got != (want == 1) {
				t.Errorf("%s: %+v, %v", action, res, err)
			}
			if q := p.asked()[0]; q.Kind != usher.QuestionSampling || !strings.Contains(string(q.Sampling), "Say one word.") {
				t.Errorf("the question is %+v", q)
			}
		}
	})
}

func TestRootsAreThoseOfTheOwner(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		h := open(t, usher.Options{
			Servers: []config.Server{spec},
			Roots: func(_ context.Context, owner string) ([]client.Root, error) {
				return []client.Root{{URI: "file:///work/" + owner}}, nil
			},
		})
		for _, owner := range []string{"s_1", "s_2"} {
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask_roots", Owner: owner})
			if err != nil || !strings.Contains(res.Content[0].Text, "file:///work/"+owner) {
				t.Errorf("ask_roots of %s = %+v, %v", owner, res, err)
			}
		}
	})
}

// Two owners use one server at once. A legacy server's question cannot be told apart and is declined; a modern one's
// reaches the owner of its call. In neither era does anybody see another's question.
func TestQuestionsOfOverlappingCallsAreNeverCrossed(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		both := make(chan struct{})
		p := &person{answer: func(_ context.Context, q usher.Question) (usher.Answer, error) {
			return usher.Answer{Action: "accept", Content: json.RawMessage(fmt.Sprintf(`{"name":%q}`, q.Owner))}, nil
		}}
		h := open(t, usher.Options{Servers: []config.Server{spec}, Ask: p.ask})
		ctx, cancel := context.WithCancel(within(t))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = h.Call(ctx, usher.Call{
				Server: "fx", Tool: "slow", Arguments: []byte(`{"ms":600000,"steps":60000}`), Owner: "other",
				OnProgress: func(client.Progress) {
					select {
					case <-both:
					default:
						close(both)
					}
				},
			})
		})
		select {
		case <-both:
		case <-ctx.Done():
			t.Fatal("the other call never ran")
		}
		res, err := h.Call(ctx, usher.Call{Server: "fx", Tool: "ask", Owner: "mine"})
		cancel()
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		text := res.Content[0].Text
		if spec.VersionNegotiation == config.Auto {
			if !strings.Contains(text, `"name":"mine"`) {
				t.Errorf("the modern server was told %s", text)
			}
			return
		}
		status, _ := h.Server("fx")
		if len(p.asked()) != 0 || !strings.Contains(text, `"action":"decline"`) {
			t.Errorf("the legacy server was told %s after %d questions", text, len(p.asked()))
		}
		if !strings.Contains(strings.Join(status.Warnings, "\n"), "which call it belongs to") {
			t.Errorf("warnings are %q", status.Warnings)
		}
	})
}

func TestPermissionIsAskedOnceForADefinition(t *testing.T) {
	eras(t, func(t *testing.T, spec config.Server) {
		p := says("session", "")
		h := open(t, usher.Options{Servers: []config.Server{spec}, Ask: p.ask, Permissions: permission.NewGate(permission.GateOptions{})})
		var decisions []permission.Decision
		call := usher.Call{
			Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`), Owner: "s_1", ID: "c_1",
			OnDecision: func(d permission.Decision) { decisions = append(decisions, d) },
		}
		for range 2 {
			if res, err := h.Call(within(t), call); err != nil || res.Content[0].Text != "hi" {
				t.Fatalf("echo = %+v, %v", res, err)
			}
		}
		asked := p.asked()
		if len(asked) != 1 || asked[0].Kind != usher.QuestionPermission || string(asked[0].Arguments) != `{"message":"hi"}` || asked[0].Description == "" {
			t.Errorf("asked %+v", asked)
		}
		if len(decisions) != 2 || decisions[0].Source != usher.ByPerson || decisions[1].Source != permission.BySession {
			t.Errorf("decisions %+v", decisions)
		}
		// Another session was not answered for.
		call.Owner = "s_2"
		if _, err := h.Call(within(t), call); err != nil || len(p.asked()) != 2 {
			t.Errorf("%v after %d questions", err, len(p.asked()))
		}
	})
}

func TestADeniedCallNeverReachesTheServer(t *testing.T) {
	rules, err := permission.ParseRules("fx/echo")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		gate   permission.GateOptions
		ask    func(context.Context, usher.Question) (usher.Answer, error)
		call   usher.Call
		phrase string
	}{
		"the person says no":  {ask: says("no", "").ask, phrase: "said no"},
		"nobody can be asked": {phrase: "Nobody can be asked"},
		"a rule denies, whoever asks": {
			gate: permission.GateOptions{Policy: permission.Policy{Deny: rules}}, ask: says("always", "").ask,
			call: usher.Call{Consented: true}, phrase: `rule "fx/echo"`,
		},
		"an answer that is none": {ask: says("perhaps", "").ask, phrase: "not answered"},
		"the person cannot be reached": {
			ask: func(context.Context, usher.Question) (usher.Answer, error) {
				return usher.Answer{}, errors.New("the page is closed")
			},
			phrase: "the page is closed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fx(t, "fx")
			h := open(t, usher.Options{Servers: []config.Server{spec}, Ask: c.ask, Permissions: permission.NewGate(c.gate)})
			c.call.Server, c.call.Tool, c.call.Arguments = "fx", "echo", json.RawMessage(`{"message":"hi"}`)
			_, err := h.Call(within(t), c.call)
			if codeOf(err) != client.CodeDenied || !strings.Contains(err.Error(), c.phrase) {
				t.Errorf("call = %v", err)
			}
			if got := ushertest.ReadLog(t, spec).Received("tools/call"); len(got) != 0 {
				t.Errorf("the server saw %d calls", len(got))
			}
		})
	}
}

func TestAPersonsOwnCallNeedsNoQuestion(t *testing.T) {
	p := says("no", "")
	h := open(t, usher.Options{Servers: []config.Server{fx(t, "fx")}, Ask: p.ask, Permissions: permission.NewGate(permission.GateOptions{})})
	res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`), Consented: true})
	if err != nil || res.Content[0].Text != "hi" || len(p.asked()) != 0 {
		t.Errorf("echo = %+v, %v after %d questions", res, err, len(p.asked()))
	}
}

func TestAQuestionEndsWithItsDeadlineAndItsCall(t *testing.T) {
	silent := func(ctx context.Context, _ usher.Question) (usher.Answer, error) {
		<-ctx.Done()
		return usher.Answer{}, ctx.Err()
	}
	gate := permission.NewGate(permission.GateOptions{})
	h := open(t, usher.Options{Servers: []config.Server{fx(t, "fx", "--elicit")}, Ask: silent, AskTime: time.Millisecond, Permissions: gate})
	if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeDenied || !strings.Contains(err.Error(), "in time") {
		t.Errorf("an unanswered permission = %v", err)
	}
	res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "ask", Consented: true})
	if err != nil || !strings.Contains(res.Content[0].Text, `"action":"cancel"`) {
		t.Errorf("an unanswered form = %+v, %v", res, err)
	}

	begun := make(chan struct{})
	h = open(t, usher.Options{Servers: []config.Server{fx(t, "fx")}, Permissions: gate, Ask: func(ctx context.Context, q usher.Question) (usher.Answer, error) {
		close(begun)
		return silent(ctx, q)
	}})
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-begun; cancel() }()
	if _, err := h.Call(ctx, usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeCancelled {
		t.Errorf("a cancelled call that waits for its permission = %v", err)
	}
}
