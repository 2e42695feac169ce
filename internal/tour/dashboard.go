package tour

import (
	"context"
	_ "embed" // the dashboard
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	uiExtension  = "io.modelcontextprotocol/ui"
	uiMIMEType   = "text/html;profile=mcp-app"
	dashboardURI = "ui://revenue-dashboard"
)

//go:embed dashboard.html
var dashboardHTML string

func capabilities() *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{
		Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
	}
	c.AddExtension(uiExtension, map[string]any{"mimeTypes": []string{uiMIMEType}})
	return c
}

const dashboardSchema = `{
  "type": "object",
  "properties": {
    "year": {"type": "integer", "title": "Year", "description": "Which year to show beside the one before", "enum": [2024, 2025], "default": 2025}
  },
  "additionalProperties": false
}`

// revenue is the dashboard's data, in thousands of euros by quarter.
type revenue struct {
	Title    string   `json:"title"`
	Year     int      `json:"year"`
	Currency string   `json:"currency"`
	Unit     string   `json:"unit"`
	Quarters []string `json:"quarters"`
	Regions  []region `json:"regions"`
}

type region struct {
	Name    string    `json:"name"`
	Revenue []float64 `json:"revenue"`
	Before  []float64 `json:"before"`
}

// sales are the quarters of 2023, 2024 and 2025, in thousands of euros. They are made up.
var sales = []struct {
	region string
	years  [3][4]float64
}{
	{"Europe", [3][4]float64{{1812, 1905, 1788, 2140}, {2015, 2132, 2044, 2466}, {2290, 2418, 2371, 2904}}},
	{"Americas", [3][4]float64{{2204, 2310, 2395, 2588}, {2392, 2450, 2611, 2874}, {2540, 2583, 2702, 2961}}},
	{"Asia Pacific", [3][4]float64{{905, 988, 1104, 1236}, {1190, 1322, 1475, 1689}, {1584, 1790, 2013, 2385}}},
	{"Africa & Middle East", [3][4]float64{{322, 348, 361, 402}, {388, 415, 402, 471}, {455, 431, 498, 560}}},
}

func revenueOf(year int) revenue {
	r := revenue{
		Title: "Revenue by region", Year: year, Currency: "EUR", Unit: "thousands",
		Quarters: []string{"Q1", "Q2", "Q3", "Q4"},
	}
	for _, s := range sales {
		r.Regions = append(r.Regions, region{Name: s.region, Revenue: s.years[year-2023][:], Before: s.years[year-2024][:]})
	}
	return r
}

func (r revenue) totals(name string) (now, before float64) {
	for _, region := range r.Regions {
		if name != "" && region.Name != name {
			continue
		}
		for i := range region.Revenue {
			now += region.Revenue[i]
			before += region.Before[i]
		}
	}
	return now, before
}

// table is the dashboard as text, for models and for clients that show no apps.
func (r revenue) table() string {
	var b strings.Builder
	now, before := r.totals("")
	fmt.Fprintf(&b, "%s, %d, in thousands of %s. Total %.0f, %+.1f %% against %d.\n\n", r.Title, r.Year, r.Currency, now, 100*(now/before-1), r.Year-1)
	fmt.Fprintf(&b, "| Region | %s | Year | Change |\n|---|--:|--:|--:|--:|--:|--:|\n", strings.Join(r.Quarters, " | "))
	for _, region := range r.Regions {
		now, before := r.totals(region.Name)
		fmt.Fprintf(&b, "| %s |", region.Name)
		for _, v := range region.Revenue {
			fmt.Fprintf(&b, " %.0f |", v)
		}
		fmt.Fprintf(&b, " %.0f | %+.1f %% |\n", now, 100*(now/before-1))
	}
	return b.String()
}

func addDashboard(server *mcp.Server, log *slog.Logger) {
	closed := false
	mcp.AddTool(server, &mcp.Tool{
		Name: "show_revenue_dashboard", Title: "Show the revenue dashboard",
		Description: "Shows a company's revenue by region and quarter as an interactive dashboard. The figures are made up.",
		InputSchema: json.RawMessage(dashboardSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
		Meta:        mcp.Meta{"ui": map[string]any{"resourceUri": dashboardURI}, "ui/resourceUri": dashboardURI},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Year int `json:"year"`
	},
	) (*mcp.CallToolResult, any, error) {
		data := revenueOf(in.Year)
		log.Info("dashboard shown", "year", in.Year)
		return text("%s", data.table()), data, nil
	})
	server.AddResource(&mcp.Resource{
		URI: dashboardURI, Name: "revenue-dashboard", Title: "Revenue dashboard", MIMEType: uiMIMEType,
		Description: "The page of show_revenue_dashboard", Size: int64(len(dashboardHTML)),
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: dashboardURI, MIMEType: uiMIMEType, Text: dashboardHTML,
			Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": false}},
		}}}, nil
	})
}
