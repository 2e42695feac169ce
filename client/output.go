package client

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	maxOutputSchema  = 256 << 10
	maxCheckedOutput = 4 << 20
	maxSchemas       = 256
)

// schemaCache keeps resolved output schemas by their hash.
type schemaCache struct {
	mu       sync.Mutex
	resolved map[[sha256.Size]byte]resolvedSchema
}

type resolvedSchema struct {
	schema *jsonschema.Resolved
	err    error
}

func (c *schemaCache) resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.resolved[key]; ok {
		return r.schema, r.err
	}
	if c.resolved == nil || len(c.resolved) >= maxSchemas {
		c.resolved = make(map[[sha256.Size]byte]resolvedSchema)
	}
	schema, err := resolveSchema(raw)
	c.resolved[key] = resolvedSchema{schema, err}
	return schema, err
}

// resolveSchema never looks further than the schema itself (BASE-31, BASE-33).
func resolveSchema(raw json.RawMessage) (resolved *jsonschema.Resolved, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be read: %v", p)
		}
	}()
	if len(raw) > maxOutputSchema {
		return nil, fmt.Errorf("the schema is longer than %d bytes", maxOutputSchema)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return schema.Resolve(&jsonschema.ResolveOptions{
		Loader: func(*url.URL) (*jsonschema.Schema, error) {
			return nil, errors.New("schemas elsewhere are not fetched")
		},
	})
}

// checkOutput compares structuredContent with the tool's outputSchema. Whatever comes of it is a warning.
func (s *Session) checkOutput(r *Result, schema json.RawMessage) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if r.IsError {
		return
	}
	if r.StructuredContent == nil {
		warn("the tool has an outputSchema and sent no structuredContent")
		return
	}
	if len(r.StructuredContent) > maxCheckedOutput {
		return
	}
	resolved, err := s.schemas.resolve(schema)
	if err != nil {
		warn("outputSchema was not checked: %s", wire.Sample([]byte(err.Error())))
		return
	}
	if err := validate(resolved, r.StructuredContent); err != nil {
		warn("structuredContent breaks outputSchema: %s", wire.Sample([]byte(err.Error())))
	}
}

func validate(schema *jsonschema.Resolved, raw json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the validator gave up: %v", p)
		}
	}()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return schema.Validate(value)
}
