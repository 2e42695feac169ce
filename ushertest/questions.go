package ushertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func questionTools() map[string]string {
	return map[string]string{"form": "ask", "url": "ask_url", "sampling": "ask_model", "roots": "ask_roots"}
}

func questionKind(o *options, tool string) string {
	for kind, name := range questionTools() {
		if name == tool && slices.Contains(o.elicit, kind) {
			return kind
		}
	}
	return ""
}

// questionOf gives the request, and the capability that the client needs for it.
func questionOf(kind string, round int) (method string, params object, capability string) {
	switch kind {
	case "url":
		return "elicitation/create", object{
			"mode": "url", "message": "Please open this page.", "url": "https://example.com/confirm", "elicitationId": fmt.Sprintf("url-%d", round),
		}, "elicitation"
	case "sampling":
		return "sampling/createMessage", object{
			"messages":  []object{{"role": "user", "content": object{"type": "text", "text": "Say one word."}}},
			"maxTokens": 16,
		}, "sampling"
	case "roots":
		return "roots/list", object{}, "roots"
	default:
		return "elicitation/create", object{
			"mode": "form", "message": fmt.Sprintf("Round %d: what is your name, and shall we go on?", round),
			"requestedSchema": schema([]string{"name"}, object{
				"name":  object{"type": "string", "title": "Name", "minLength": 1, "maxLength": 40},
				"go_on": object{"type": "boolean", "title": "Go on", "default": true},
				"size":  object{"type": "string", "enum": []string{"small", "large"}, "default": "small"},
			}),
		}, "elicitation"
	}
}

// question asks by the way of the era: a request of the server's own, or an answer that requires input (MRTR).
func (c *call) question(kind string) {
	method, params, capability := questionOf(kind, 1)
	if !c.capable(capability) {
		if c.modern {
			c.fail(codeCapability, "the client cannot be asked", object{"requiredCapabilities": object{capability: object{}}})
			return
		}
		c.finish(object{"content": texts("the client cannot be asked: no " + capability), "isError": true})
		return
	}
	if c.modern {
		c.round(kind)
		return
	}
	c.peer.mu.Lock()
	if c.peer.version < "2025-11-25" {
		delete(params, "mode") // older clients know forms only, without a mode
	}
	c.peer.mu.Unlock()
	m, err := c.ask(method, params)
	switch {
	case err != nil: // cancelled: no answer follows
	case len(m.Error) > 0:
		c.finish(object{"content": texts("the client refused: " + string(m.Error)), "isError": true})
	default:
		c.finish(object{"content": texts("the client answered: " + string(m.Result))})
	}
}

// statePrefix begins a requestState; what follows is the number of the round. The blanks and the letters beyond ASCII are
// there to be echoed exactly.
const statePrefix = " état\u2028 <round> "

const questionKey = "q.1 ü"

func (c *call) round(kind string) {
	done := 0
	if state := c.params.RequestState; state != nil {
		n, err := fmt.Sscanf(strings.TrimPrefix(*state, statePrefix), "%d", &done)
		if err != nil || n != 1 || *state != fmt.Sprintf("%s%d", statePrefix, done) {
			c.srv.violation("requestState was not echoed exactly (MRTR-08)")
			c.fail(codeInvalidParams, "unknown requestState", nil)
			return
		}
	} else if c.params.InputResponses != nil {
		c.srv.violation("inputResponses without requestState (MRTR-07)")
	}
	if done > 0 {
		answer, ok := c.params.InputResponses[questionKey]
		if !ok || len(c.params.InputResponses) != 1 {
			c.srv.violation("inputResponses do not have the keys of inputRequests (MRTR-14)")
			c.fail(codeInvalidParams, "the answer is missing", nil)
			return
		}
		if done == c.srv.opts.rounds {
			c.finish(object{"content": texts("the client answered: " + compact(answer))})
			return
		}
	}
	method, params, _ := questionOf(kind, done+1)
	c.reply(object{
		"resultType":    "input_required",
		"requestState":  fmt.Sprintf("%s%d", statePrefix, done+1),
		"inputRequests": object{questionKey: object{"method": method, "params": params}},
	}, false)
}

func compact(raw json.RawMessage) string { return string(encode(raw)) }
