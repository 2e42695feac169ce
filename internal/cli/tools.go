package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
)

// toolsOutput is what `usher tools --json` prints.
type toolsOutput struct {
	Tools    []toolOutput     `json:"tools"`
	Rejected []rejectedOutput `json:"rejected"`
	Errors   []api.Error      `json:"errors"`
}

type toolOutput struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Label        string          `json:"label"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	AppURI       string          `json:"appUri,omitempty"`
	AppProblem   string          `json:"appProblem,omitempty"`
	ForModel     bool            `json:"forModel"`
}

func newToolsCommand(a *app) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:   "tools [SERVER | TOOL --for PROFILE]",
		Short: "List the tools of all servers, or of one; show a tool's schema as a model gets it",
		Args:  arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("for"):
				return a.list(cmd.Context(), args, onlyTools, a.listTools)
			case len(args) == 0:
				return usageError(cmd, "TOOL is missing")
			}
			return a.explainTool(cmd, args[0], profile)
		},
	}
	cmd.Flags().StringVar(&profile, "for", "", "show the input schema of one tool as it is sent to a model: "+profiles())
	return cmd
}

// What a listing waits for: a ready server's tools are there, its other lists may still be on their way.
const (
	onlyTools = false
	allLists  = true
)

// list runs a listing over all servers, or over the one that args names.
func (a *app) list(ctx context.Context, args []string, lists bool, do func(*usher.Host) error) error {
	if len(args) > 0 {
		return a.withServer(ctx, args[0], func(ctx context.Context, h *usher.Host) error {
			if lists {
				if err := h.WaitLists(ctx, args[0]); err != nil {
					return errors.Join(context.Cause(ctx), err)
				}
			}
			return do(h)
		})
	}
	return a.withServers(ctx, func(ctx context.Context, h *usher.Host, _ *config.Config) error {
		if lists {
			_ = h.WaitLists(ctx) // what is missing is told below, server by server
		}
		if err := do(h); err != nil {
			return err
		}
		return a.listingError(h)
	})
}

func (a *app) listTools(h *usher.Host) error {
	catalog := h.Catalog()
	out := toolsOutput{Tools: []toolOutput{}, Rejected: a.rejected(h, catalog, "tool"), Errors: a.unready(h)}
	for _, t := range catalog.Tools {
		out.Tools = append(out.Tools, toolOutput{
			Server: t.Server, Name: t.Name, Label: t.Label, Title: t.Title, Description: t.Description,
			InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: member(t.Raw, "annotations"),
			AppURI: t.AppURI, AppProblem: t.AppProblem, ForModel: t.ForModel,
		})
	}
	if a.json {
		return a.printJSON(out)
	}
	rows := make([][]cell, 0, len(out.Tools))
	for _, t := range out.Tools {
		about := cmp.Or(t.Description, t.Title)
		if t.AppURI != "" {
			about = "[app] " + about
		}
		rows = append(rows, []cell{{line(t.Server, 40), styleDim}, {line(t.Name, 64), styleBold}, {line(about, 100), ""}})
	}
	return a.table(rows)
}

// member is one member of a JSON object as it stands, nil when it is not there.
func member(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members[name]
}
