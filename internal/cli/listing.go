package cli

import (
	"fmt"
	"slices"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
)

const (
	// maxWarning bounds a warning on the screen, in characters.
	maxWarning = 500
	// maxAlike is how many items that are left out for one reason are named each.
	maxAlike = 5
)

// rejectedOutput is an item of a list that could not be used.
type rejectedOutput struct {
	Server string `json:"server"`
	client.Rejected
}

// rejected collects the items of these kinds that servers listed and that cannot be used, and says on standard error
// what a listing lacks: those, for a person, and what each server is warned about.
func (a *app) rejected(h *usher.Host, catalog *usher.Catalog, kinds ...string) []rejectedOutput {
	out := []rejectedOutput{}
	for _, s := range h.Servers() {
		alike := map[string]int{}
		for _, r := range catalog.Rejected[s.Name] {
			if !slices.Contains(kinds, r.Kind) {
				continue
			}
			out = append(out, rejectedOutput{Server: s.Name, Rejected: r})
			if alike[r.Reason]++; a.json || alike[r.Reason] > maxAlike {
				continue
			}
			item := fmt.Sprintf("%s %q", r.Kind, r.Name)
			if r.Name == "" {
				item = fmt.Sprintf("%s without a name (item %d of the list)", r.Kind, r.Index+1)
			}
			a.note("server %s: %s is left out: %s", line(s.Name, 64), item, line(r.Reason, maxWarning))
		}
		for _, r := range catalog.Rejected[s.Name] {
			if n := alike[r.Reason]; n > maxAlike && !a.json {
				a.note("server %s: %d more are left out: %s", line(s.Name, 64), n-maxAlike, line(r.Reason, maxWarning))
				delete(alike, r.Reason)
			}
		}
		for _, warning := range s.Warnings {
			a.note("server %s: warning: %s", line(s.Name, 64), line(warning, maxWarning))
		}
	}
	return out
}
