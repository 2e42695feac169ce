package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

const (
	// connectTime bounds the connection of one scenario; the suite itself gives a client 30 s in all.
	connectTime = 10 * time.Second
	closeTime   = 5 * time.Second
)

// A Scenario is what the suite asks its client to do.
type Scenario struct {
	Name string
	// Version is the protocol version to speak.
	Version string
	// Context is the JSON object with the scenario's data: credentials, calls to make. It may be empty.
	Context json.RawMessage
	// URL is the scenario's server.
	URL string
}

// modern says whether the scenario is played without the initialize handshake.
func (s Scenario) modern() bool { return s.Version >= "2026-07-28" }

// script is what a person or a model would do in one scenario, once connected.
type script func(ctx context.Context, s *client.Session, c Scenario) error

// scripts by scenario. The scenarios that are not here list the tools and call "test-tool" where there is one, which
// is what the authorization scenarios wait for.
func scriptFor(name string) script {
	switch name {
	case "tools_call":
		return listAndCall("add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		return listAndCall("test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		return listAndCall("test_reconnection", `{}`)
	case "json-schema-2020-12-preservation":
		return echoSchema
	case "sep-2322-client-request-state":
		return answerRounds
	case "http-standard-headers":
		return useEverything
	case "http-custom-headers":
		return callAsTold
	case "http-invalid-tool-headers":
		return callAll
	default:
		return listAndTry("test-tool")
	}
}

// Run plays one scenario. An error means that the client could not do what the scenario is about; whether it did it
// right is the suite's to say.
func Run(ctx context.Context, c Scenario) (err error) {
	spec := config.Server{
		Name: "conformance", Type: config.TypeHTTP, URL: c.URL, DiscoveryTimeout: connectTime,
		VersionNegotiation: config.Legacy,
	}
	if c.modern() {
		spec.VersionNegotiation = config.Auto
	}
	s, err := client.Dial(ctx, spec, client.Options{Handler: &client.Handler{Elicit: accept}})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, s.Close(ctx))
	}()
	if c.modern() != (s.Era() == client.Modern) {
		return fmt.Errorf("the session is %s at %s, the scenario is played at %s", s.Era(), s.ProtocolVersion(), c.Version)
	}
	return scriptFor(c.Name)(ctx, s, c)
}

// accept answers a form like a person who changes nothing and agrees: what the form has defaults for is theirs.
func accept(_ context.Context, e client.Elicitation) (client.ElicitAnswer, error) {
	var schema struct {
		Properties map[string]struct {
			Type    string          `json:"type"`
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(e.Schema, &schema); err != nil {
		return client.ElicitAnswer{}, fmt.Errorf("read the form: %w", err)
	}
	filled := map[string]json.RawMessage{}
	for name, p := range schema.Properties {
		switch {
		case p.Default != nil:
			filled[name] = p.Default
		case p.Type == "boolean":
			filled[name] = json.RawMessage("true")
		}
	}
	content, err := json.Marshal(filled)
	if err != nil {
		return client.ElicitAnswer{}, fmt.Errorf("fill the form: %w", err)
	}
	return client.ElicitAnswer{Action: client.ActionAccept, Content: content}, nil
}

func call(ctx context.Context, s *client.Session, tool string, args json.RawMessage) error {
	_, err := s.Call(ctx, tool, args, client.CallOptions{})
	return err
}

func offers(tools client.List[client.Tool], name string) bool {
	return slices.ContainsFunc(tools.Items, func(t client.Tool) bool { return t.Name == name })
}

// listAndCall calls a tool that has to be there.
func listAndCall(tool, args string) script {
	return func(ctx context.Context, s *client.Session, _ Scenario) error {
		tools, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		if !offers(tools, tool) {
			return fmt.Errorf("the server offers no tool %q", tool)
		}
		return call(ctx, s, tool, json.RawMessage(args))
	}
}

// listAndTry calls a tool if it is there.
func listAndTry(tool string) script {
	return func(ctx context.Context, s *client.Session, _ Scenario) error {
		tools, err := s.Tools(ctx)
		if err != nil || !offers(tools, tool) {
			return err
		}
		return call(ctx, s, tool, json.RawMessage(`{}`))
	}
}

// echoSchema sends a tool's input schema back as the client holds it.
func echoSchema(ctx context.Context, s *client.Session, _ Scenario) error {
	tools, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools.Items, func(t client.Tool) bool { return t.Name == "json_schema_2020_12_tool" })
	if i < 0 {
		return errors.New("the server offers no tool with the schema to keep")
	}
	args, err := json.Marshal(map[string]json.RawMessage{"schema": tools.Items[i].InputSchema})
	if err != nil {
		return err
	}
	return call(ctx, s, "json_schema_echo", args)
}

// answerRounds calls tools that answer with questions and state. The last one's answer is not a valid result, so that
// an error is right there.
func answerRounds(ctx context.Context, s *client.Session, _ Scenario) error {
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated"} {
		if err := call(ctx, s, tool, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	if err := call(ctx, s, "test_mrtr_no_result_type", json.RawMessage(`{}`)); err != nil {
		var e *client.Error
		if !errors.As(err, &e) || e.Code != client.CodeProtocol {
			return err
		}
	}
	return nil
}

// useEverything sends each kind of request once.
func useEverything(ctx context.Context, s *client.Session, _ Scenario) error {
	tools, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	if len(tools.Items) > 0 {
		if err := call(ctx, s, tools.Items[0].Name, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	resources, err := s.Resources(ctx)
	if err != nil {
		return err
	}
	if len(resources.Items) > 0 {
		if _, err := s.ReadResource(ctx, resources.Items[0].URI); err != nil {
			return err
		}
	}
	prompts, err := s.Prompts(ctx)
	if err != nil {
		return err
	}
	if len(prompts.Items) > 0 {
		if _, err := s.Prompt(ctx, prompts.Items[0].Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// callAsTold makes the calls that the scenario's context lists.
func callAsTold(ctx context.Context, s *client.Session, c Scenario) error {
	var told struct {
		Calls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal(c.Context, &told); err != nil {
		return fmt.Errorf("read the scenario's context: %w", err)
	}
	if _, err := s.Tools(ctx); err != nil {
		return err
	}
	for _, t := range told.Calls {
		if err := call(ctx, s, t.Name, t.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool that the client kept.
func callAll(ctx context.Context, s *client.Session, _ Scenario) error {
	tools, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools.Items {
		if err := call(ctx, s, t.Name, json.RawMessage(`{"region":"us-west1"}`)); err != nil {
			return err
		}
	}
	return nil
}
