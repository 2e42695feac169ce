package tour

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const echoSchema = `{
  "type": "object",
  "properties": {"message": {"type": "string", "title": "Message", "description": "What to say back"}},
  "required": ["message"],
  "additionalProperties": false
}`

const slowSchema = `{
  "type": "object",
  "properties": {
    "steps": {"type": "integer", "title": "Steps", "description": "How many steps the work has", "minimum": 1, "maximum": 100, "default": 10},
    "stepMs": {"type": "integer", "title": "Milliseconds a step", "minimum": 10, "maximum": 5000, "default": 400}
  },
  "additionalProperties": false
}`

func addTools(server *mcp.Server, log *slog.Logger) {
	closed := false
	mcp.AddTool(server, &mcp.Tool{
		Name: "echo", Title: "Echo", Description: "Says back what it is told.",
		InputSchema: json.RawMessage(echoSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Message string `json:"message"`
	},
	) (*mcp.CallToolResult, any, error) {
		return text("%s", in.Message), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "slow", Title: "Slow work", Description: "Works for a while, reports its progress and stops when it is cancelled.",
		InputSchema: json.RawMessage(slowSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in work) (*mcp.CallToolResult, any, error) {
		return in.do(ctx, req, log)
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "plan_trip", Title: "Plan a trip",
		Description: "A form with a bit of everything. Leave the contact out, and a client that can ask you questions will ask you for it.",
		InputSchema: json.RawMessage(tripSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, plan)
}

// work is what slow is asked to do.
type work struct {
	Steps  int `json:"steps"`
	StepMs int `json:"stepMs"`
}

func (w work) do(ctx context.Context, req *mcp.CallToolRequest, log *slog.Logger) (*mcp.CallToolResult, any, error) {
	began := time.Now()
	tick := time.NewTicker(time.Duration(w.StepMs) * time.Millisecond)
	defer tick.Stop()
	for step := 1; step <= w.Steps; step++ {
		select {
		case <-ctx.Done():
			log.Info("slow was cancelled", "step", step, "steps", w.Steps)
			return nil, nil, fmt.Errorf("cancelled in step %d of %d: %w", step, w.Steps, ctx.Err())
		case <-tick.C:
		}
		token := req.Params.GetProgressToken()
		if token == nil {
			continue
		}
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(step), Total: float64(w.Steps),
			Message: fmt.Sprintf("step %d of %d", step, w.Steps),
		})
		if err != nil && ctx.Err() == nil {
			log.Warn("progress was not sent", "step", step, "error", err)
		}
	}
	log.Info("slow is done", "steps", w.Steps)
	return text("%d steps in %s.", w.Steps, time.Since(began).Round(10*time.Millisecond)), nil, nil
}

const tripSchema = `{
  "type": "object",
  "properties": {
    "destination": {
      "type": "string", "title": "Destination", "description": "Where to go",
      "oneOf": [{"const": "lis", "title": "Lisbon"}, {"const": "kyo", "title": "Kyoto"}, {"const": "rey", "title": "Reykjavík"}, {"const": "cpt", "title": "Cape Town"}]
    },
    "departure": {"type": "string", "format": "date", "title": "Departure"},
    "nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 60, "default": 7},
    "budget": {"type": "number", "title": "Budget", "description": "In euros, for everybody", "minimum": 0},
    "pace": {"type": "string", "title": "Pace", "enum": ["slow", "steady", "busy"], "default": "steady"},
    "train": {"type": "boolean", "title": "By train where possible", "default": true},
    "interests": {
      "type": "array", "title": "Interests", "uniqueItems": true,
      "items": {"type": "string", "enum": ["food", "museums", "nature", "music", "architecture"]}
    },
    "travellers": {
      "type": "array", "title": "Travellers", "maxItems": 9,
      "items": {
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name", "minLength": 1}, "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 120}},
        "required": ["name"]
      }
    },
    "contact": {
      "type": "object", "title": "Contact",
      "properties": {"name": {"type": "string", "title": "Name", "minLength": 1}, "email": {"type": "string", "format": "email", "title": "E-mail"}},
      "required": ["name"]
    },
    "notes": {"type": "string", "title": "Notes", "description": "Anything else", "maxLength": 2000}
  },
  "required": ["destination"],
  "additionalProperties": false
}`

// contactSchema is the question's form: flat, as elicitation wants it.
const contactSchema = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "title": "Name", "minLength": 1},
    "email": {"type": "string", "format": "email", "title": "E-mail"}
  },
  "required": ["name"]
}`

// trip is what plan_trip is asked for.
type trip struct {
	Destination string   `json:"destination"`
	Departure   string   `json:"departure,omitempty"`
	Nights      int      `json:"nights"`
	Budget      float64  `json:"budget,omitempty"`
	Pace        string   `json:"pace"`
	Train       bool     `json:"train"`
	Interests   []string `json:"interests,omitempty"`
	Travellers  []struct {
		Name string `json:"name"`
		Age  int    `json:"age,omitempty"`
	} `json:"travellers,omitempty"`
	Contact *contact `json:"contact,omitempty"`
	Notes   string   `json:"notes,omitempty"`
}

type contact struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
}

// question is the id of plan_trip's one question.
const question = "contact"

func plan(_ context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, any, error) {
	if in.Contact == nil {
		switch answer, answered := req.Params.InputResponses[question].(*mcp.ElicitResult); {
		case answered && answer.Action == "accept":
			in.Contact = &contact{}
			in.Contact.Name, _ = answer.Content["name"].(string)
			in.Contact.Email, _ = answer.Content["email"].(string)
		case answered:
			return text("The trip was not planned: you did not say whom to contact."), nil, nil
		case asks(req):
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question: &mcp.ElicitParams{
				Mode: "form", Message: "Whom should the travel agency contact about this trip?", RequestedSchema: json.RawMessage(contactSchema),
			}}}, nil, nil
		}
	}
	return text("%s", in.summary()), in, nil
}

// asks reports whether the client can put a form before a person.
func asks(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

func (t trip) summary() string {
	places := map[string]string{"lis": "Lisbon", "kyo": "Kyoto", "rey": "Reykjavík", "cpt": "Cape Town"}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**, %d nights at a %s pace", places[t.Destination], t.Nights, t.Pace)
	if t.Departure != "" {
		fmt.Fprintf(&b, ", leaving on %s", t.Departure)
	}
	b.WriteString(".\n")
	item := func(name, format string, args ...any) { fmt.Fprintf(&b, "\n- "+name+": "+format, args...) }
	if t.Train {
		item("Travel", "by train where possible")
	}
	if t.Budget > 0 {
		item("Budget", "€ %.2f", t.Budget)
	}
	if len(t.Interests) > 0 {
		item("Interests", "%s", strings.Join(t.Interests, ", "))
	}
	var names []string
	for _, p := range t.Travellers {
		names = append(names, p.Name)
	}
	if len(names) > 0 {
		item("Travellers", "%s", strings.Join(names, ", "))
	}
	if t.Contact != nil {
		item("Contact", "%s", strings.TrimSpace(t.Contact.Name+" "+t.Contact.Email))
	}
	if t.Notes != "" {
		item("Notes", "%s", t.Notes)
	}
	return b.String()
}
