package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/api"
)

// catalogCache keeps the encoded catalog of one revision: it can be large, and every page asks for it.
type catalogCache struct {
	// boot tells this process's revisions from those of the one before, which counted from the beginning as well.
	boot string

	mu       sync.Mutex
	made     bool
	revision uint64
	body     []byte
}

func (s *Server) getCatalog(w http.ResponseWriter, r *http.Request) error {
	catalog := s.host.Catalog()
	tag := fmt.Sprintf(`"%s-%d"`, s.catalog.boot, catalog.Revision)
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	body, err := s.catalog.encoded(catalog)
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusOK, body)
}

func (c *catalogCache) encoded(catalog *usher.Catalog) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made && c.revision == catalog.Revision {
		return c.body, nil
	}
	body, err := encode(catalogShape(catalog))
	if err != nil {
		return nil, err
	}
	body = slices.Clip(body) // appending to it makes a copy
	c.made, c.revision, c.body = true, catalog.Revision, body
	return body, nil
}

// matches implements If-None-Match (RFC 9110 §13.1.2), weakly.
func matches(header []string, tag string) bool {
	for _, line := range header {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}

func catalogShape(c *usher.Catalog) api.Catalog {
	out := api.Catalog{
		Revision: c.Revision,
		Tools:    make([]api.Tool, 0, len(c.Tools)), Prompts: make([]api.Prompt, 0, len(c.Prompts)),
		Resources: make([]api.Resource, 0, len(c.Resources)), Templates: make([]api.Template, 0, len(c.Templates)),
	}
	for _, t := range c.Tools {
		out.Tools = append(out.Tools, api.Tool{
			Server: t.Server, Name: t.Name, Label: t.Label, Title: cmp.Or(t.Title, t.Name), Description: t.Description,
			InputSchema: object(t.InputSchema), OutputSchema: object(t.OutputSchema), Annotations: annotations(t.Raw),
			AppURI: t.AppURI, AppProblem: t.AppProblem, ForModel: t.ForModel,
		})
	}
	for _, p := range c.Prompts {
		args := make([]api.PromptArgument, 0, len(p.Arguments))
		for _, a := range p.Arguments {
			args = append(args, api.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
		}
		out.Prompts = append(out.Prompts, api.Prompt{
			Server: p.Server, Name: p.Name, Title: cmp.Or(p.Title, p.Name), Description: p.Description, Arguments: args,
		})
	}
	for _, r := range c.Resources {
		out.Resources = append(out.Resources, api.Resource{
			Server: r.Server, URI: r.URI, Name: r.Name, Title: cmp.Or(r.Title, r.Name, r.URI), Description: r.Description,
			MIMEType: r.MIMEType, Size: r.Size,
		})
	}
	for _, t := range c.Templates {
		out.Templates = append(out.Templates, api.Template{
			Server: t.Server, URITemplate: t.URITemplate, Name: t.Name, Title: cmp.Or(t.Title, t.Name, t.URITemplate),
			Description: t.Description, MIMEType: t.MIMEType,
		})
	}
	return out
}

// annotations are a tool's annotations as the server sent them, with what this program does not know.
func annotations(tool json.RawMessage) json.RawMessage {
	var entry struct {
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(tool, &entry) != nil {
		return nil
	}
	return object(entry.Annotations)
}

func promptResponse(result *client.PromptResult) api.PromptResponse {
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
	}
	response := api.PromptResponse{Description: result.Description, Messages: []json.RawMessage{}}
	if json.Unmarshal(result.Raw, &sent) == nil && sent.Messages != nil {
		response.Messages = sent.Messages
	}
	return response
}

// raws are items as the server sent them.
func raws[T any](items []T, raw func(T) []byte) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		out = append(out, raw(item))
	}
	return out
}
