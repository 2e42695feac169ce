package tour

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	welcomeURI     = "tour://welcome"
	regionTemplate = "tour://revenue/{region}"
	regionPrefix   = "tour://revenue/"
	briefing       = "revenue_briefing"
)

const welcome = `# Welcome to Usher

Usher runs MCP servers for you and shows what they can do.

1. Run **show_revenue_dashboard** and play with the dashboard.
2. Run **slow** and cancel it half-way.
3. Fill the form of **plan_trip**.
4. Use the prompt **revenue_briefing**; its arguments complete.

To use your own servers, write a usher.json:

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}}
`

func addResources(server *mcp.Server) {
	server.AddResource(&mcp.Resource{
		URI: welcomeURI, Name: "welcome", Title: "Welcome to Usher", MIMEType: "text/markdown", Description: "Where to start",
		Size: int64(len(welcome)),
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return textResource(welcomeURI, welcome), nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: regionTemplate, Name: "revenue-by-region", Title: "Revenue of a region", MIMEType: "text/markdown",
		Description: "Two years of revenue of one region",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		name, err := url.PathUnescape(strings.TrimPrefix(uri, regionPrefix))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		for _, s := range sales {
			if strings.EqualFold(s.region, name) {
				var b strings.Builder
				fmt.Fprintf(&b, "# Revenue, %s\n\nIn thousands of EUR.\n\n| Year | Q1 | Q2 | Q3 | Q4 |\n|---|--:|--:|--:|--:|\n", s.region)
				for i, quarters := range s.years {
					fmt.Fprintf(&b, "| %d | %.0f | %.0f | %.0f | %.0f |\n", 2023+i, quarters[0], quarters[1], quarters[2], quarters[3])
				}
				return textResource(uri, b.String()), nil
			}
		}
		return nil, mcp.ResourceNotFoundError(uri)
	})
}

func textResource(uri, content string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/markdown", Text: content}}}
}

func addPrompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{
		Name: briefing, Title: "Revenue briefing", Description: "Asks for a short briefing about a region's revenue.",
		Arguments: []*mcp.PromptArgument{
			{Name: "region", Title: "Region", Description: "Whose revenue", Required: true},
			{Name: "audience", Title: "Audience", Description: "Who reads it"},
		},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		region, audience := req.Params.Arguments["region"], req.Params.Arguments["audience"]
		if audience == "" {
			audience = audiences[0]
		}
		return &mcp.GetPromptResult{
			Description: "A briefing about " + region,
			Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(
				"Write a briefing of five sentences for %s about the revenue of the region %s. Use the tool show_revenue_dashboard for the figures, compare with the year before, and end with one question worth asking.",
				audience, region)}}},
		}, nil
	})
}

var audiences = []string{"the board", "the sales team", "new colleagues"}

// complete answers for the prompt's arguments and the template's region: what contains the text typed so far.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var known []string
	ref, argument := req.Params.Ref, req.Params.Argument
	switch {
	case ref == nil:
	case argument.Name == "region" && (ref.Name == briefing || ref.URI == regionTemplate):
		for _, s := range sales {
			known = append(known, s.region)
		}
	case argument.Name == "audience" && ref.Name == briefing:
		known = audiences
	}
	values := []string{}
	for _, value := range known {
		if strings.Contains(strings.ToLower(value), strings.ToLower(argument.Value)) {
			values = append(values, value)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
