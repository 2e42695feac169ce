package usher

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// maxAppReadTime bounds the reading of an app's HTML after a call.
const maxAppReadTime = 10 * time.Second

// maxListWait bounds the wait for the resource list that may hold an app's metadata.
const maxListWait = 2 * time.Second

// display chooses how a result is shown. It never fails: an app that cannot be shown leaves the ordinary
// display, with the reason beside it (M17, M18). What a shown app asks for and does not get is a warning of the result.
func (h *Host) display(ctx context.Context, sess *client.Session, tool Tool, args json.RawMessage, res *client.Result) Display {
	d := plainDisplay(res)
	switch {
	case tool.AppProblem != "":
		d.Problem = tool.AppProblem
		return d
	case tool.AppURI == "" || res.IsError:
		return d
	}
	app, err := h.readApp(ctx, sess, tool)
	if err != nil {
		d.Problem = err.Error()
		h.log.Info("app not shown", "server", tool.Server, "tool", tool.Name, "uri", tool.AppURI, "reason", d.Problem)
		return d
	}
	if len(app.DroppedOrigins) > 0 {
		h.log.Info("app asks for what is not allowed", "server", tool.Server, "tool", tool.Name, "uri", tool.AppURI, "dropped", app.DroppedOrigins)
		res.Warnings = append(res.Warnings, droppedWarning(app.DroppedOrigins))
	}
	return Display{
		Type: DisplayApp, FallbackText: d.FallbackText,
		Server: tool.Server, Tool: tool.Name,
		ResourceURI: app.ResourceURI, HTML: app.HTML, CSP: app.CSP, Permissions: app.Permissions, PrefersBorder: app.PrefersBorder,
		ToolInput: args, ToolResult: res.Raw,
	}
}

// droppedWarning names what an app's policy leaves out, the first few of many.
func droppedWarning(dropped []string) string {
	const most = 3
	shown, more := dropped, ""
	if len(dropped) > most {
		shown, more = dropped[:most], " and more"
	}
	return fmt.Sprintf("the app asks for %s%s, which is not allowed: only whole origins such as https://api.example.com are",
		strings.Join(shown, ", "), more)
}

// readApp reads the app's resource once more for each call: servers may make it for the call.
func (h *Host) readApp(ctx context.Context, sess *client.Session, tool Tool) (*apps.App, error) {
	limit := h.byName[tool.Server].appReadTime()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	read, err := sess.ReadResource(ctx, tool.AppURI)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the app %s was not read within %s", tool.AppURI, limit)
		}
		return nil, fmt.Errorf("the app %s could not be read: %w", tool.AppURI, err)
	}
	contents := make([]apps.Content, len(read.Contents))
	for i, c := range read.Contents {
		contents[i] = apps.Content{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Blob, Meta: c.Meta}
	}
	return apps.Validate(tool.AppURI, contents, h.listedMeta(ctx, tool.Server, tool.AppURI), apps.Limits{MaxHTMLBytes: h.maxHTMLBytes(tool.Server)})
}

// maxHTMLBytes is the bound for a server's apps: its own, else the host's.
func (h *Host) maxHTMLBytes(server string) int {
	if own := h.byName[server].spec.AppMaxHTMLBytes; own > 0 {
		return int(min(own, config.MaxAppHTMLBytes))
	}
	return h.apps.MaxHTMLBytes
}

// appReadTime is how long reading an app may take: the call's idle clock, at most ten seconds.
func (s *server) appReadTime() time.Duration {
	if t := s.spec.Timeout; t > 0 && t < maxAppReadTime {
		return t
	}
	return maxAppReadTime
}

// listedMeta is the _meta of the resource's entry in resources/list; nil when it is not listed, or when the list has
// still not arrived after a while.
func (h *Host) listedMeta(ctx context.Context, server, uri string) json.RawMessage {
	s := h.byName[server]
	ctx, cancel := context.WithTimeout(ctx, maxListWait)
	defer cancel()
	_ = s.awaitLists(ctx)
	s.mu.Lock()
	resources := s.snap.resources
	s.mu.Unlock()
	for _, r := range resources {
		if r.URI == uri {
			return r.Meta
		}
	}
	return nil
}

// plainDisplay is the display of a result without an app: by its first block that is not text.
func plainDisplay(res *client.Result) Display {
	d := Display{Type: DisplayText, FallbackText: fallbackText(res)}
	for _, c := range res.Content {
		switch c.Type {
		case "image":
			d.Type = DisplayImage
			return d
		case "resource", "resource_link":
			d.Type = DisplayResource
			return d
		}
	}
	return d
}
