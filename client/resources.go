package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/wire"
)

const (
	maxCompletions       = 100
	codeResourceNotFound = -32002
)

// ReadResource reads a resource. In a modern session a result with a ttlMs is kept, unless it took input from a person.
// The error is an *Error; CodeNotFound when the server has no such resource.
func (s *Session) ReadResource(ctx context.Context, uri string) (*ReadResult, error) {
	key := readPrefix + uri
	if s.era == Modern {
		if kept, ok := s.cache.get(key); ok {
			if r, ok := kept.(*ReadResult); ok {
				hit := *r
				hit.Contents, hit.FromCache = slices.Clone(r.Contents), true
				return &hit, nil
			}
		}
	}
	generation := s.cache.generation(key)
	defer s.calls.begin(ctx)()
	out, err := s.run(ctx, exchange{
		phase: PhaseRead, method: "resources/read", members: field("uri", uri), token: true, input: true,
		idle: clock(s.spec.Timeout, config.DefaultTimeout), total: clock(s.spec.MaxCallTime, config.DefaultMaxCallTime),
	})
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.RPC != nil && s.notFound(e.RPC.Code) {
			e.Code, e.Message = CodeNotFound, "the server has no resource "+wire.Sample([]byte(uri))
		}
		return nil, err
	}
	received := time.Now()
	contents := wire.Member(out.raw, "contents")
	if contents == nil || contents[0] != '[' {
		return nil, s.decodeError(PhaseRead, "resources/read", "it has no list of contents")
	}
	r := &ReadResult{Raw: out.raw, Meta: metaOf(out.raw)}
	wire.Elements(contents, func(value []byte) {
		if value[0] == '{' {
			r.Contents = append(r.Contents, decodeResourceContent(value))
		}
	})
	if s.era == Modern && out.rounds == 1 {
		kept := *r
		kept.Contents = slices.Clone(r.Contents)
		s.cache.put(key, generation, &kept, len(out.raw), clampMs(wire.Member(out.raw, "ttlMs"), maxTTL), received)
	}
	return r, nil
}

// notFound reports the codes with which a server says that it has no such resource (RES-03).
func (s *Session) notFound(code int64) bool {
	return code == codeResourceNotFound || s.era == Modern && code == codeInvalidParams
}

// Subscribe asks the server to tell Options.OnResourceUpdated when this resource changes, in either era. The error is an
// *Error; CodeUnsupported when the server offers no subscriptions.
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	return s.subscription(ctx, "resources/subscribe", uri, true)
}

// Unsubscribe ends what Subscribe began.
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	return s.subscription(ctx, "resources/unsubscribe", uri, false)
}

// subscription sends the legacy request, or changes the filter of the modern listen (SUB-21).
func (s *Session) subscription(ctx context.Context, method, uri string, on bool) error {
	if !s.server.declares("resources", "subscribe") {
		return s.newError(PhaseRead, CodeUnsupported, "the server offers no subscriptions to resources")
	}
	if s.era == Legacy {
		_, err := s.run(ctx, exchange{phase: PhaseRead, method: method, members: field("uri", uri), idle: listClock})
		return err
	}
	err := s.listening.follow(ctx, uri, on)
	if errors.Is(err, errNotGranted) || errors.Is(err, errNoAck) {
		return s.newError(PhaseRead, CodeUnsupported, err.Error())
	}
	if err != nil {
		return s.translate(ctx, PhaseRead, err)
	}
	return nil
}

// Prompt gets a prompt with its arguments filled in. It is never kept (CACHE-01).
func (s *Session) Prompt(ctx context.Context, name string, args map[string]string) (*PromptResult, error) {
	members := field("name", name)
	if len(args) > 0 {
		members = slices.Concat(members, []byte(","), field("arguments", args))
	}
	defer s.calls.begin(ctx)()
	out, err := s.run(ctx, exchange{
		phase: PhaseRead, method: "prompts/get", members: members, token: true, input: true,
		idle: clock(s.spec.Timeout, config.DefaultTimeout), total: clock(s.spec.MaxCallTime, config.DefaultMaxCallTime),
	})
	if err != nil {
		return nil, unsupported(err)
	}
	messages := wire.Member(out.raw, "messages")
	if messages == nil || messages[0] != '[' {
		return nil, s.decodeError(PhaseRead, "prompts/get", "it has no list of messages")
	}
	r := &PromptResult{Raw: out.raw, Description: wire.Text(wire.Member(out.raw, "description"))}
	problem := ""
	wire.Elements(messages, func(value []byte) {
		m := PromptMessage{Role: wire.Text(wire.Member(value, "role"))}
		content := wire.Member(value, "content")
		switch {
		case len(content) > 0 && content[0] == '{':
			m.Content = decodeContent(content)
		case len(content) > 0 && content[0] == '"':
			m.Content = Content{Type: "text", Text: wire.Text(content), Raw: content}
		default:
			problem = "a message has no content block" // PRM-03
		}
		r.Messages = append(r.Messages, m)
	})
	if problem != "" {
		return nil, s.decodeError(PhaseRead, "prompts/get", problem)
	}
	return r, nil
}

// Complete asks for values of an argument of a prompt or a variable of a resource template; resolved are the ones
// chosen already. The error is an *Error; CodeUnsupported when the server does not complete.
func (s *Session) Complete(ctx context.Context, ref CompletionRef, argName, value string, resolved map[string]string) (Completion, error) {
	if s.era == Modern && s.server.Capabilities != nil && !s.server.declares("completions") { // CMP-01
		return Completion{}, s.newError(PhaseRead, CodeUnsupported, "the server does not complete arguments")
	}
	var about []byte
	switch {
	case ref.Prompt != "" && ref.Template == "":
		about = field("ref", map[string]string{"type": "ref/prompt", "name": ref.Prompt})
	case ref.Template != "" && ref.Prompt == "":
		about = field("ref", map[string]string{"type": "ref/resource", "uri": ref.Template})
	default:
		return Completion{}, s.newError(PhaseRead, CodeInvalid, "a completion is for a prompt or for a template")
	}
	members := slices.Concat(about, []byte(","), field("argument", map[string]string{"name": argName, "value": value}))
	if len(resolved) > 0 {
		members = slices.Concat(members, []byte(","), field("context", map[string]any{"arguments": maps.Clone(resolved)}))
	}
	out, err := s.run(ctx, exchange{phase: PhaseRead, method: "completion/complete", members: members, idle: listClock})
	if err != nil {
		return Completion{}, unsupported(err)
	}
	completion := wire.Member(out.raw, "completion")
	if completion == nil || completion[0] != '{' {
		return Completion{}, s.decodeError(PhaseRead, "completion/complete", "it has no completion")
	}
	c := Completion{HasMore: truthy(completion, "hasMore")}
	wire.Elements(wire.Member(completion, "values"), func(value []byte) {
		if len(c.Values) < maxCompletions && value[0] == '"' { // CMP-03
			c.Values = append(c.Values, wire.Text(value))
		}
	})
	if total, ok := number(wire.Member(completion, "total")); ok {
		n := int64(total)
		c.Total = &n
	}
	return c, nil
}

// unsupported gives a refusal of the method itself the code of its own.
func unsupported(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.RPC != nil && e.RPC.Code == codeMethodNotFound {
		e.Code = CodeUnsupported
	}
	return err
}
