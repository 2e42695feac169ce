package cli

import (
	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/tour"
)

// newTourCommand is the server of the tour: this program, started by itself.
func newTourCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "tour",
		Short:  "Be the tour's MCP server on standard input and output",
		Hidden: true,
		Args:   arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tour.Run(cmd.Context(), a.stdin, a.stdout, a.stderr)
		},
	}
}
