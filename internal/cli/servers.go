package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
)

// serversOutput is what `usher servers --json` prints.
type serversOutput struct {
	Servers  []serverOutput  `json:"servers"`
	Problems []problemOutput `json:"problems"`
}

type serverOutput struct {
	Name            string                 `json:"name"`
	State           usher.State            `json:"state"`
	Transport       string                 `json:"transport"`
	Source          string                 `json:"source"`
	Scope           string                 `json:"scope"`
	Description     string                 `json:"description,omitempty"`
	Era             client.Era             `json:"era,omitempty"`
	ProtocolVersion string                 `json:"protocolVersion,omitempty"`
	ServerInfo      *client.Implementation `json:"serverInfo,omitempty"`
	Tools           int                    `json:"tools"`
	Prompts         int                    `json:"prompts"`
	Resources       int                    `json:"resources"`
	ConnectMs       int64                  `json:"connectMs,omitempty"`
	Error           *api.Error             `json:"error,omitempty"`
	Warnings        []string               `json:"warnings"`
	Settings        []config.Setting       `json:"settings"`
}

type problemOutput struct {
	Severity config.Severity `json:"severity"`
	File     string          `json:"file"`
	Line     int             `json:"line,omitempty"`
	Column   int             `json:"column,omitempty"`
	Field    string          `json:"field,omitempty"`
	Server   string          `json:"server,omitempty"`
	Message  string          `json:"message"`
}

func newServersCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "servers",
		Short: "Connect every server and show how each one stands; with --verbose also its settings and their sources",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withServers(cmd.Context(), func(ctx context.Context, h *usher.Host, c *config.Config) error {
				_ = h.WaitLists(ctx) // a list that does not come is a warning of its server
				return a.listServers(h, c)
			})
		},
	}
}

func (a *app) listServers(h *usher.Host, c *config.Config) error {
	out := serversOutput{Servers: []serverOutput{}, Problems: []problemOutput{}}
	for _, s := range h.Servers() {
		out.Servers = append(out.Servers, a.serverOutput(s))
	}
	for _, p := range c.Problems {
		out.Problems = append(out.Problems, problemOutput{
			Severity: p.Severity, File: p.File, Line: p.Line, Column: p.Column, Field: p.Field, Server: p.Server,
			Message: a.redactor.String(p.Message),
		})
	}
	if a.json {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else if err := a.printServers(out.Servers); err != nil {
		return err
	}
	if lost := fileErrors(c); len(lost) > 0 {
		return told{configError(lost)}
	}
	return nil
}

func (a *app) serverOutput(s usher.ServerStatus) serverOutput {
	out := serverOutput{
		Name: s.Name, State: s.State, Transport: cmp.Or(s.Config.Type, config.TypeStdio),
		Source: s.Config.Source.String(), Scope: s.Config.Source.Scope, Description: s.Config.Description,
		Era: s.Era, ProtocolVersion: s.ProtocolVersion, Tools: s.Tools, Prompts: s.Prompts, Resources: s.Resources,
		ConnectMs: s.Connected.Milliseconds(), Warnings: []string{}, Settings: a.withFlags(config.Settings(s.Config)),
	}
	if s.Info != (client.Implementation{}) {
		info := s.Info
		out.ServerInfo = &info
	}
	for _, warning := range s.Warnings {
		out.Warnings = append(out.Warnings, a.redactor.String(warning))
	}
	if failure := a.notReady(s); failure != nil {
		shape := a.errorShape(failure)
		out.Error = &shape
	}
	return out
}

// withFlags says which settings a flag of this command replaced.
func (a *app) withFlags(settings []config.Setting) []config.Setting {
	for i := range settings {
		if a.protocol != "" && settings[i].Name == "versionNegotiation" {
			settings[i].Source = "--protocol"
		}
	}
	return settings
}

func (a *app) printServers(servers []serverOutput) error {
	rows := make([][]cell, 0, len(servers))
	for _, s := range servers {
		style := styleDim
		switch s.State {
		case usher.StateReady:
			style = styleGreen
		case usher.StateFailed:
			style = styleRed
		}
		era, counts := "", ""
		if s.State == usher.StateReady {
			era = fmt.Sprintf("%s %s", s.Era, s.ProtocolVersion)
			counts = fmt.Sprintf("%s, %s, %s", count(s.Tools, "tool"), count(s.Prompts, "prompt"), count(s.Resources, "resource"))
		}
		rows = append(rows, []cell{
			{line(s.Name, 64), styleBold},
			{strings.ReplaceAll(string(s.State), "_", " "), style},
			{line(era, 40), ""},
			{counts, ""},
			{line(s.Source, 80), styleDim},
		})
	}
	if err := a.table(rows); err != nil {
		return err
	}
	for _, s := range servers {
		if s.Error != nil {
			a.note("server %s: %s", line(s.Name, 64), strings.TrimPrefix(s.Error.Message, "\n"))
			if s.Error.Stderr != "" {
				a.note("  the server's last words on standard error:\n%s", indent(s.Error.Stderr, "    "))
			}
			if s.Error.Hint != "" {
				a.note("  %s", s.Error.Hint)
			}
		}
		for _, warning := range s.Warnings {
			a.note("server %s: warning: %s", line(s.Name, 64), line(warning, maxWarning))
		}
	}
	if !a.verbose {
		return nil
	}
	for _, s := range servers {
		if err := a.print("\n" + line(s.Name, 64)); err != nil {
			return err
		}
		rows = rows[:0]
		for _, setting := range s.Settings {
			rows = append(rows, []cell{{"  " + setting.Name, ""}, {line(setting.Value, 100), styleBold}, {setting.Source, styleDim}})
		}
		if err := a.table(rows); err != nil {
			return err
		}
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
