package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
)

// promptsOutput is what `usher prompts --json` prints.
type promptsOutput struct {
	Prompts  []promptOutput   `json:"prompts"`
	Rejected []rejectedOutput `json:"rejected"`
	Errors   []api.Error      `json:"errors"`
}

type promptOutput struct {
	Server      string                  `json:"server"`
	Name        string                  `json:"name"`
	Title       string                  `json:"title,omitempty"`
	Description string                  `json:"description,omitempty"`
	Arguments   []client.PromptArgument `json:"arguments"`
}

func newPromptsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prompts [SERVER]",
		Short: "List the prompts of all servers, or of one",
		Args:  arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(cmd.Context(), args, allLists, a.listPrompts)
		},
	}
}

func (a *app) listPrompts(h *usher.Host) error {
	catalog := h.Catalog()
	out := promptsOutput{Prompts: []promptOutput{}, Rejected: a.rejected(h, catalog, "prompt"), Errors: a.unready(h)}
	for _, p := range catalog.Prompts {
		arguments := p.Arguments
		if arguments == nil {
			arguments = []client.PromptArgument{}
		}
		out.Prompts = append(out.Prompts, promptOutput{
			Server: p.Server, Name: p.Name, Title: p.Title, Description: p.Description, Arguments: arguments,
		})
	}
	if a.json {
		return a.printJSON(out)
	}
	rows := make([][]cell, 0, len(out.Prompts))
	for _, p := range out.Prompts {
		var names []string
		for _, argument := range p.Arguments {
			name := argument.Name + "=…"
			if !argument.Required {
				name = "[" + name + "]"
			}
			names = append(names, name)
		}
		rows = append(rows, []cell{
			{line(p.Server, 40), styleDim},
			{line(p.Name, 64), styleBold},
			{line(strings.Join(names, " "), 60), ""},
			{line(cmp.Or(p.Description, p.Title), 100), ""},
		})
	}
	return a.table(rows)
}
