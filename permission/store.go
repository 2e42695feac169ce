package permission

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// MaxKeptDefinition is the largest definition that is kept in a [Grant] to show a difference later, in bytes. Of a
// larger one only the hash is kept.
const MaxKeptDefinition = 64 << 10

// Grant is one tool that a person allowed: plain data, to be stored. It holds no secret.
type Grant struct {
	Server      string    `json:"server"`
	Fingerprint string    `json:"fingerprint"` // of the server's configuration
	Tool        string    `json:"tool"`
	Hash        string    `json:"hash"` // of the definition
	Time        time.Time `json:"time"`
	// Definition is what was allowed, for the difference; nil when it was too large to keep.
	Definition *Definition `json:"definition,omitempty"`
}

// NewGrant allows a tool of a server as both are now.
func NewGrant(server Server, tool Definition, at time.Time) Grant {
	g := Grant{
		Server: server.Name, Fingerprint: server.Fingerprint, Tool: tool.Name, Hash: tool.Hash(),
		Time: at.UTC().Truncate(time.Second),
	}
	size := len(tool.Name) + len(tool.Description) + len(tool.InputSchema) + len(tool.OutputSchema) + len(tool.Annotations)
	if size <= MaxKeptDefinition {
		g.Definition = &Definition{
			Name: tool.Name, Description: tool.Description, InputSchema: slices.Clone(tool.InputSchema),
			OutputSchema: slices.Clone(tool.OutputSchema), Annotations: slices.Clone(tool.Annotations),
		}
	}
	return g
}

// Store keeps grants: at most one for each tool of each server. Implementations are safe for concurrent use.
type Store interface {
	// Grant returns what is remembered about a tool; false when nothing is.
	Grant(ctx context.Context, server, tool string) (Grant, bool, error)
	// Remember keeps a grant in the place of an earlier one about the same tool.
	Remember(ctx context.Context, g Grant) error
	// Forget drops the grant of a tool, or of all tools of a server when tool is empty. Nothing to drop is no error.
	Forget(ctx context.Context, server, tool string) error
	// Grants returns all grants, by server and tool.
	Grants(ctx context.Context) ([]Grant, error)
}

type key struct{ server, tool string }

// MemoryStore keeps grants as long as the program runs.
type MemoryStore struct {
	mu     sync.Mutex
	grants map[key]Grant
}

var _ Store = (*MemoryStore)(nil)

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{grants: map[key]Grant{}} }

// Grant implements [Store].
func (s *MemoryStore) Grant(_ context.Context, server, tool string) (Grant, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.grants[key{server, tool}]
	return g, ok, nil
}

// Remember implements [Store].
func (s *MemoryStore) Remember(_ context.Context, g Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants[key{g.Server, g.Tool}] = g
	return nil
}

// Forget implements [Store].
func (s *MemoryStore) Forget(_ context.Context, server, tool string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.grants {
		if k.server == server && (tool == "" || k.tool == tool) {
			delete(s.grants, k)
		}
	}
	return nil
}

// Grants implements [Store].
func (s *MemoryStore) Grants(context.Context) ([]Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Grant, 0, len(s.grants))
	for _, g := range s.grants {
		list = append(list, g)
	}
	SortGrants(list)
	return list, nil
}

// SortGrants puts grants in the order of [Store.Grants].
func SortGrants(list []Grant) {
	slices.SortFunc(list, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
}
