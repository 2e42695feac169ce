package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/nearest"
)

// promptMessagesOutput is what `usher prompt --json` prints.
type promptMessagesOutput struct {
	Server      string                `json:"server"`
	Name        string                `json:"name"`
	Description string                `json:"description,omitempty"`
	Messages    []promptMessageOutput `json:"messages"`
}

type promptMessageOutput struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func newPromptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prompt SERVER NAME [key=value …]",
		Short: "Get the messages of a prompt",
		Args:  arguments(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withServer(cmd.Context(), args[0], func(ctx context.Context, h *usher.Host) error {
				return a.getPrompt(ctx, h, args[0], args[1], args[2:])
			})
		},
	}
}

func (a *app) getPrompt(ctx context.Context, h *usher.Host, server, name string, pairs []string) error {
	if err := h.WaitLists(ctx, server); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	values, err := promptArguments(h.Catalog(), server, name, pairs)
	if err != nil {
		return err
	}
	result, err := h.Prompt(ctx, server, name, values)
	if err != nil {
		return err
	}
	if a.json {
		out := promptMessagesOutput{Server: server, Name: name, Description: result.Description, Messages: []promptMessageOutput{}}
		for _, m := range result.Messages {
			out.Messages = append(out.Messages, promptMessageOutput{Role: m.Role, Content: m.Content.Raw})
		}
		return a.printJSON(out)
	}
	for _, m := range result.Messages {
		if err := a.print(fmt.Sprintf("%s: %s", line(m.Role, 20), contentText(m.Content))); err != nil {
			return err
		}
	}
	return nil
}

// promptArguments checks key=value pairs against what the prompt declares.
func promptArguments(catalog *usher.Catalog, server, name string, pairs []string) (map[string]string, error) {
	var (
		prompt *usher.Prompt
		names  []string
	)
	for i, p := range catalog.Prompts {
		if p.Server == server {
			names = append(names, p.Name)
			if p.Name == name {
				prompt = &catalog.Prompts[i]
			}
		}
	}
	if prompt == nil {
		return nil, notFound(server, "prompt", name, names, "usher prompts "+shellWord(server))
	}
	invalid := func(format string, args ...any) error {
		return &client.Error{Server: server, Code: client.CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	var known []string
	for _, argument := range prompt.Arguments {
		known = append(known, argument.Name)
	}
	values := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, invalid("%q: want key=value", pair)
		}
		if _, twice := values[key]; twice {
			return nil, invalid("%s is given twice", key)
		}
		if !slices.Contains(known, key) {
			return nil, unknownKey(server, "prompt", name, key, known)
		}
		values[key] = value
	}
	for _, argument := range prompt.Arguments {
		if _, ok := values[argument.Name]; argument.Required && !ok {
			return nil, invalid("prompt %s needs %s=…%s", name, argument.Name, about(argument.Description))
		}
	}
	return values, nil
}

// notFound says that a server offers no such thing, and which one was perhaps meant.
func notFound(server, kind, name string, known []string, see string) error {
	failure := &client.Error{
		Server: server, Code: client.CodeNotFound, Message: fmt.Sprintf("there is no %s %q", kind, name), Hint: "see: " + see,
	}
	if near := nearest.Name(name, known); near != "" {
		failure.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return failure
}

// unknownKey says that a tool or prompt takes no such argument, and which one was perhaps meant.
func unknownKey(server, kind, name, key string, known []string) error {
	failure := &client.Error{
		Server: server, Code: client.CodeInvalid, Message: fmt.Sprintf("%s %s takes no argument %q", kind, name, key),
	}
	switch near := nearest.Name(key, known); {
	case near != "":
		failure.Hint = fmt.Sprintf("did you mean %q?", near)
	case len(known) > 0:
		failure.Hint = "it takes: " + strings.Join(known, ", ")
	default:
		failure.Hint = "it takes none"
	}
	return failure
}

func about(description string) string {
	if description == "" {
		return ""
	}
	return ": " + line(description, 100)
}
