package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	toolschema "github.com/usher-mcp/usher/schema"
)

// toolSchemaOutput is what `usher tools NAME --for PROFILE --json` prints.
type toolSchemaOutput struct {
	Server      string              `json:"server"`
	Tool        string              `json:"tool"`
	Profile     toolschema.Profile  `json:"profile"`
	Before      json.RawMessage     `json:"before,omitempty"`
	After       json.RawMessage     `json:"after"`
	Strict      bool                `json:"strict"`
	NoArguments bool                `json:"noArguments"`
	Changes     []toolschema.Change `json:"changes"`
}

// explainTool shows what a model API gets of one tool's input schema. name is the tool's name, SERVER/NAME, or its
// label; only SERVER/NAME starts one server alone.
func (a *app) explainTool(cmd *cobra.Command, name, profileName string) error {
	profile, err := toolschema.ParseProfile(profileName)
	if err != nil || profileName == "" {
		return usageError(cmd, "--for takes one of %s", profiles())
	}
	show := func(h *usher.Host) error { return a.showSchema(cmd, h, name, profile) }
	if server, _, one := strings.Cut(name, "/"); one && a.configured(cmd.Context(), server) {
		return a.withServer(cmd.Context(), server, func(_ context.Context, h *usher.Host) error { return show(h) })
	}
	return a.withServers(cmd.Context(), func(_ context.Context, h *usher.Host, _ *config.Config) error { return show(h) })
}

func profiles() string {
	var names []string
	for _, p := range toolschema.Profiles() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

func (a *app) configured(ctx context.Context, name string) bool {
	c, err := a.configuration(ctx, true, name)
	return err == nil && slices.ContainsFunc(c.Servers, func(s config.Server) bool { return s.Name == name })
}

func (a *app) showSchema(cmd *cobra.Command, h *usher.Host, name string, profile toolschema.Profile) error {
	var (
		found []usher.Tool
		known []string
	)
	for _, t := range h.Catalog().Tools {
		full := t.Server + "/" + t.Name
		if name == t.Name || name == full || name == t.Label {
			found = append(found, t)
		}
		known = append(known, t.Name, full)
	}
	switch {
	case len(found) == 0:
		for _, failure := range h.Servers() {
			if failure.Err != nil {
				a.note("server %s is not ready, so its tools are not known: %v", failure.Name, failure.Err)
			}
		}
		return notFound("", "tool", name, known, "usher tools")
	case len(found) > 1:
		var names []string
		for _, t := range found {
			names = append(names, shellWord(t.Server+"/"+t.Name))
		}
		return usageError(cmd, "several servers have a tool %q: name it as %s", name, strings.Join(names, " or "))
	}
	tool := found[0]
	e, err := toolschema.Explain(tool.InputSchema, profile)
	if err != nil {
		return fmt.Errorf("explaining the schema: %w", err)
	}
	if a.json {
		out := toolSchemaOutput{
			Server: tool.Server, Tool: tool.Name, Profile: profile, Before: e.Before, After: e.Schema,
			Strict: e.Strict, NoArguments: e.NoArguments, Changes: e.Changes,
		}
		if out.Changes == nil {
			out.Changes = []toolschema.Change{}
		}
		return a.printJSON(out)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Tool %s of server %s, which a model sees as %s.\n\n", tool.Name, tool.Server, tool.Label)
	if _, err := e.WriteTo(&text); err != nil {
		return fmt.Errorf("explaining the schema: %w", err)
	}
	return a.print(text.String())
}
