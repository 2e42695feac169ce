package usher

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/client"
)

// fallbackText is a result as text: what a person sees where nothing richer can be shown, and what a model
// reads. Text blocks if there is usable text, else the structured content; every other block becomes one line
// that says what it is, so that nothing disappears without a word.
func fallbackText(res *client.Result) string {
	var parts []string
	usable := false
	for _, c := range res.Content {
		text := blockText(c)
		if text == "" {
			continue
		}
		parts = append(parts, text)
		usable = usable || c.Type == "text" || c.Resource != nil && c.Resource.Text != nil
	}
	if !usable && len(res.StructuredContent) > 0 {
		parts = append(parts, string(res.StructuredContent))
	}
	return strings.Join(parts, "\n\n")
}

func blockText(c client.Content) string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s, %s, %s]", c.Type, orUnknown(c.MIMEType), byteCount(base64.StdEncoding.DecodedLen(len(c.Data))))
	case "resource_link":
		name := c.Name
		if name == "" {
			name = c.URI
		}
		return fmt.Sprintf("[resource %s: %s]", name, c.URI)
	case "resource":
		r := c.Resource
		switch {
		case r == nil:
			return "[resource without content]"
		case r.Text != nil:
			return *r.Text
		case r.Blob != nil:
			return fmt.Sprintf("[resource %s, %s, %s]", r.URI, orUnknown(r.MIMEType), byteCount(base64.StdEncoding.DecodedLen(len(*r.Blob))))
		}
		return fmt.Sprintf("[resource %s]", r.URI)
	}
	return fmt.Sprintf("[content of type %q]", c.Type)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown type"
	}
	return s
}

func byteCount(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
