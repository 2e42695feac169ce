package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
)

// readOutput is what `usher read --json` prints.
type readOutput struct {
	Server   string            `json:"server"`
	URI      string            `json:"uri"`
	Contents []json.RawMessage `json:"contents"`
}

func newReadCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "read SERVER URI",
		Short: "Print a resource; binary ones are written as they are, unless to a terminal",
		Args:  arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withServer(cmd.Context(), args[0], func(ctx context.Context, h *usher.Host) error {
				return a.readResource(ctx, h, args[0], args[1])
			})
		},
	}
}

func (a *app) readResource(ctx context.Context, h *usher.Host, server, uri string) error {
	result, err := h.Read(ctx, server, uri)
	if err != nil {
		return err
	}
	if a.json {
		out := readOutput{Server: server, URI: uri, Contents: []json.RawMessage{}}
		for _, c := range result.Contents {
			out.Contents = append(out.Contents, c.Raw)
		}
		return a.printJSON(out)
	}
	for _, c := range result.Contents {
		if err := a.printResource(server, c); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printResource(server string, c client.ResourceContent) error {
	if c.Blob == nil {
		if c.Text == nil {
			return nil
		}
		return a.print(*c.Text)
	}
	data, err := base64.StdEncoding.DecodeString(*c.Blob)
	if err != nil {
		return &client.Error{
			Server: server, Phase: client.PhaseRead, Code: client.CodeProtocol,
			Message: fmt.Sprintf("the blob of %s is not base64", c.URI), Err: err,
		}
	}
	if isTerminal(a.stdout) {
		return a.print(fmt.Sprintf("[%s, %s, %d bytes; redirect the output to save them]", c.URI, c.MIMEType, len(data)))
	}
	return a.write(data)
}
