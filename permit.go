package usher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/permission"
)

// The sources of decisions that a person takes, or nobody, beside those of package permission.
const (
	ByPerson permission.Source = "person"
	ByNobody permission.Source = "nobody"
)

// permit decides whether a call may run with the tool as it is defined now, and asks the person where the rules do
// not say. It is one path for both eras and every transport (M11, M14). permitted holds the hash of the definition that
// the call may run with already, empty before the first decision.
func (s *server) permit(ctx context.Context, c Call, tool Tool, args json.RawMessage, permitted *string) error {
	gate := s.h.gate
	if gate == nil {
		if *permitted == "" && c.OnDecision != nil {
			c.OnDecision(permission.Decision{Verdict: permission.Allowed, Source: permission.ByMode, Reason: "Nothing here asks for permission."})
		}
		*permitted = "any"
		return nil
	}
	defined := definition(tool)
	hash := defined.Hash()
	if *permitted == hash {
		return nil
	}
	request := permission.Request{
		Owner: c.Owner, Mode: c.Mode,
		Server: permission.Server{
			Name: s.spec.Name, Fingerprint: s.fingerprint, Trust: s.spec.Trust,
			IncludeTools: s.spec.IncludeTools, ExcludeTools: s.spec.ExcludeTools, AlwaysAllow: s.spec.AlwaysAllow,
		},
		Tool: defined,
	}
	d, err := gate.Decide(ctx, request)
	if err != nil {
		s.h.log.Warn("earlier answers were not read", "server", s.spec.Name, "tool", c.Tool, "error", err)
	}
	if d.Verdict == permission.Asked {
		if c.Consented {
			d = permission.Decision{Verdict: permission.Allowed, Source: ByPerson, Reason: "You asked for this call yourself."}
		} else if d, err = s.askPermission(ctx, c, tool, args, request, d); err != nil {
			return err
		}
	}
	if c.OnDecision != nil {
		c.OnDecision(d)
	}
	if d.Verdict == permission.Allowed {
		*permitted = hash
		return nil
	}
	e := &client.Error{Server: s.spec.Name, Phase: client.PhaseCall, Code: client.CodeDenied, Message: d.Reason}
	if d.Source == ByNobody {
		e.Hint = fmt.Sprintf("Allow it with the rule %q.", permission.RuleFor(s.spec.Name, c.Tool))
	}
	return e
}

// askPermission turns a decision to ask into what the person says. The error is the end of ctx.
func (s *server) askPermission(ctx context.Context, c Call, tool Tool, args json.RawMessage, request permission.Request, why permission.Decision) (permission.Decision, error) {
	a, err := s.h.ask(ctx, Question{
		Kind: QuestionPermission, Owner: c.Owner, CallID: c.ID, Server: s.spec.Name, Tool: tool.Name,
		Title: tool.Title, Description: tool.Description, Annotations: request.Tool.Annotations,
		Message: why.Reason, Arguments: args, Difference: why.Changed,
		Allowed: []string{string(permission.Once), string(permission.Session), string(permission.Always), string(permission.No)},
	})
	denied := permission.Decision{Verdict: permission.Denied, Source: ByNobody}
	switch {
	case ctx.Err() != nil:
		return denied, s.asError(client.PhaseCall, ctx.Err())
	case errors.Is(err, errNobodyToAsk):
		denied.Reason = why.Reason + " Nobody can be asked here."
		return denied, nil
	case errors.Is(err, errNobodyAnswers):
		denied.Reason = why.Reason + " Nobody answered the question in time."
		return denied, nil
	case err != nil:
		denied.Reason = why.Reason + " The question was not answered: " + err.Error() + "."
		return denied, nil //nolint:nilerr // the reason has it: no answer is a no
	}
	allowed, err := s.h.gate.Answer(ctx, request, permission.Answer(a.Action))
	if err != nil {
		s.h.log.Warn("the answer was not kept for good", "server", s.spec.Name, "tool", c.Tool, "error", err)
	}
	if !allowed {
		return permission.Decision{Verdict: permission.Denied, Source: ByPerson, Reason: "The person said no to this call."}, nil
	}
	words := map[string]string{string(permission.Session): "for this session", string(permission.Always): "for good"}[a.Action]
	if words == "" {
		words = "this once"
	}
	return permission.Decision{Verdict: permission.Allowed, Source: ByPerson, Reason: "You allowed it " + words + "."}, nil
}

// definition is a tool as a person agrees to it. Its annotations are as the server sent them.
func definition(t Tool) permission.Definition {
	var entry struct {
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(t.Raw, &entry) != nil {
		entry.Annotations = nil
	}
	return permission.Definition{
		Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Annotations: entry.Annotations,
	}
}
