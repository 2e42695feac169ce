package client

import (
	"encoding/json"
	"slices"

	"github.com/usher-mcp/usher/internal/wire"
)

// decodeResult reads a CallToolResult, a valid JSON object, as far as it can be read: whatever is odd becomes a
// warning, and everything sent stays in Raw.
func decodeResult(raw json.RawMessage) *Result {
	r := &Result{Raw: raw}
	var content []byte
	wire.Members(raw, func(key, value []byte) bool {
		switch wire.Text(key) {
		case "content":
			content = value
		case "structuredContent":
			r.StructuredContent = value
		case "_meta":
			if value[0] == '{' {
				r.Meta = value
			}
		case "isError":
			switch string(value) {
			case "true":
				r.IsError = true
			case "false", "null":
			default: // whatever it means, it is not to be taken for a success
				r.IsError = true
				r.Warnings = append(r.Warnings, "isError is not a boolean")
			}
		}
		return true
	})
	switch {
	case len(content) == 0 || string(content) == "null":
	case content[0] == '[':
		wire.Elements(content, func(value []byte) {
			if value[0] != '{' {
				r.Warnings = append(r.Warnings, "a content block is no object")
				return
			}
			r.Content = append(r.Content, decodeContent(value))
		})
	case content[0] == '{':
		r.Content = []Content{decodeContent(content)}
		r.Warnings = append(r.Warnings, "content is one block instead of a list")
	case content[0] == '"':
		r.Content = []Content{{Type: "text", Text: wire.Text(content), Raw: content}}
		r.Warnings = append(r.Warnings, "content is a text instead of a list of blocks")
	default:
		r.Warnings = append(r.Warnings, "content is no list")
	}
	return r
}

// decodeContent reads the parts of one content block that are known; Raw keeps the others.
func decodeContent(raw json.RawMessage) Content {
	c := Content{Raw: raw}
	wire.Members(raw, func(key, value []byte) bool {
		switch wire.Text(key) {
		case "type":
			c.Type = wire.Text(value)
		case "text":
			c.Text = scalar(value)
		case "data":
			c.Data = wire.Text(value)
		case "mimeType":
			c.MIMEType = wire.Text(value)
		case "uri":
			c.URI = wire.Text(value)
		case "name":
			c.Name = wire.Text(value)
		case "resource":
			if value[0] == '{' {
				resource := decodeResourceContent(value)
				c.Resource = &resource
			}
		}
		return true
	})
	return c
}

func decodeResourceContent(raw json.RawMessage) ResourceContent {
	c := ResourceContent{Raw: raw}
	optional := func(value []byte) *string {
		if value[0] != '"' {
			return nil
		}
		s := wire.Text(value)
		return &s
	}
	wire.Members(raw, func(key, value []byte) bool {
		switch wire.Text(key) {
		case "uri":
			c.URI = wire.Text(value)
		case "mimeType":
			c.MIMEType = wire.Text(value)
		case "text":
			c.Text = optional(value)
		case "blob":
			c.Blob = optional(value)
		case "_meta":
			if value[0] == '{' {
				c.Meta = value
			}
		}
		return true
	})
	return c
}

// The decoders of list items return why an item cannot be used, "" when it can. What is merely odd in it is left out.

func decodeTool(raw json.RawMessage) (Tool, string) {
	t := Tool{Raw: raw}
	named := false
	reason := ""
	wire.Members(raw, func(key, value []byte) bool {
		switch wire.Text(key) {
		case "name":
			t.Name, named = wire.Text(value), true
		case "title":
			t.Title = wire.Text(value)
		case "description":
			t.Description = wire.Text(value)
		case "inputSchema":
			switch value[0] {
			case '{':
				t.InputSchema = value
			case 'n':
			default:
				reason = "inputSchema is no object"
			}
		case "outputSchema":
			if value[0] == '{' {
				t.OutputSchema = value
			}
		case "annotations":
			t.Annotations = decodeAnnotations(value)
		case "_meta":
			if value[0] == '{' {
				t.Meta = value
			}
		}
		return true
	})
	switch {
	case t.Name == "" && !named:
		return t, "it has no name"
	case t.Name == "":
		return t, "its name is no string or empty"
	case reason != "":
		return t, reason
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	t.Title = firstOf(t.Title, t.Annotations.Title, t.Name)
	return t, ""
}

func decodeAnnotations(raw []byte) ToolAnnotations {
	var a ToolAnnotations
	wire.Members(raw, func(key, value []byte) bool {
		switch wire.Text(key) {
		case "title":
			a.Title = wire.Text(value)
		case "readOnlyHint":
			a.ReadOnly = boolean(value)
		case "destructiveHint":
			a.Destructive = boolean(value)
		case "idempotentHint":
			a.Idempotent = boolean(value)
		case "openWorldHint":
			a.OpenWorld = boolean(value)
		}
		return true
	})
	return a
}

// boolean reads a hint; one that is no boolean was not given, so that a sloppy server gains no trust by it.
func boolean(raw []byte) *bool {
	if s := string(raw); s == "true" || s == "false" {
		b := s == "true"
		return &b
	}
	return nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func decodePrompt(raw json.RawMessage) (Prompt, string) {
	p := Prompt{
		Raw:         raw,
		Name:        wire.Text(wire.Member(raw, "name")),
		Description: wire.Text(wire.Member(raw, "description")),
		Meta:        metaOf(raw),
	}
	if p.Name == "" {
		return p, "it has no name"
	}
	p.Title = firstOf(wire.Text(wire.Member(raw, "title")), p.Name)
	wire.Elements(wire.Member(raw, "arguments"), func(value []byte) {
		if name := wire.Text(wire.Member(value, "name")); name != "" {
			p.Arguments = append(p.Arguments, PromptArgument{
				Name: name, Title: wire.Text(wire.Member(value, "title")),
				Description: wire.Text(wire.Member(value, "description")), Required: truthy(value, "required"),
			})
		}
	})
	return p, ""
}

func decodeResource(raw json.RawMessage) (Resource, string) {
	r := Resource{
		Raw:         raw,
		URI:         wire.Text(wire.Member(raw, "uri")),
		Name:        wire.Text(wire.Member(raw, "name")),
		Description: wire.Text(wire.Member(raw, "description")),
		MIMEType:    wire.Text(wire.Member(raw, "mimeType")),
		Meta:        metaOf(raw),
	}
	if r.URI == "" {
		return r, "it has no uri"
	}
	r.Title = firstOf(wire.Text(wire.Member(raw, "title")), r.Name, r.URI)
	var size int64
	if raw := wire.Member(raw, "size"); raw != nil && json.Unmarshal(raw, &size) == nil && string(raw) != "null" && size >= 0 {
		r.Size = &size
	}
	return r, ""
}

func decodeTemplate(raw json.RawMessage) (ResourceTemplate, string) {
	t := ResourceTemplate{
		Raw:         raw,
		URITemplate: wire.Text(wire.Member(raw, "uriTemplate")),
		Name:        wire.Text(wire.Member(raw, "name")),
		Description: wire.Text(wire.Member(raw, "description")),
		MIMEType:    wire.Text(wire.Member(raw, "mimeType")),
		Meta:        metaOf(raw),
	}
	if t.URITemplate == "" {
		return t, "it has no uriTemplate"
	}
	t.Title = firstOf(wire.Text(wire.Member(raw, "title")), t.Name, t.URITemplate)
	return t, ""
}

func metaOf(raw []byte) json.RawMessage {
	if v := wire.Member(raw, "_meta"); len(v) > 0 && v[0] == '{' {
		return slices.Clip(v)
	}
	return nil
}
