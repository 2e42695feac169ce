package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
)

// resourcesOutput is what `usher resources --json` prints.
type resourcesOutput struct {
	Resources []resourceOutput `json:"resources"`
	Templates []templateOutput `json:"templates"`
	Rejected  []rejectedOutput `json:"rejected"`
	Errors    []api.Error      `json:"errors"`
}

type resourceOutput struct {
	Server      string `json:"server"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"`
}

type templateOutput struct {
	Server      string `json:"server"`
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

func newResourcesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resources [SERVER]",
		Short: "List the resources and resource templates of all servers, or of one",
		Args:  arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(cmd.Context(), args, allLists, a.listResources)
		},
	}
}

func (a *app) listResources(h *usher.Host) error {
	catalog := h.Catalog()
	out := resourcesOutput{
		Resources: []resourceOutput{}, Templates: []templateOutput{},
		Rejected: a.rejected(h, catalog, "resource", "resourceTemplate"), Errors: a.unready(h),
	}
	var rows [][]cell
	row := func(server, uri, kind, about string) {
		rows = append(rows, []cell{{line(server, 40), styleDim}, {line(uri, 120), styleBold}, {line(kind, 40), ""}, {line(about, 100), ""}})
	}
	for _, r := range catalog.Resources {
		out.Resources = append(out.Resources, resourceOutput{
			Server: r.Server, URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description,
			MIMEType: r.MIMEType, Size: r.Size,
		})
		row(r.Server, r.URI, r.MIMEType, cmp.Or(r.Description, r.Title, r.Name))
	}
	for _, t := range catalog.Templates {
		out.Templates = append(out.Templates, templateOutput{
			Server: t.Server, URITemplate: t.URITemplate, Name: t.Name, Title: t.Title, Description: t.Description,
			MIMEType: t.MIMEType,
		})
		row(t.Server, t.URITemplate, t.MIMEType, cmp.Or(t.Description, t.Title, t.Name))
	}
	if a.json {
		return a.printJSON(out)
	}
	return a.table(rows)
}
