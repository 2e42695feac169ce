package client

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	maxOutputSchema  = 256 << 10
	maxCheckedOutput = 256 << 10
	maxSchemas       = 256
)

// schemaCache keeps resolved output schemas by their hash.
type schemaCache struct {
	mu       sync.Mutex
	resolved map[[sha256.Size]byte]resolvedSchema
}

type resolvedSchema struct {
	schema    *jsonschema.Resolved
	recursive bool
	err       error
}

func (c *schemaCache) resolve(raw json.RawMessage) resolvedSchema {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.resolved[key]; ok {
		return r
	}
	if c.resolved == nil || len(c.resolved) >= maxSchemas {
		c.resolved = make(map[[sha256.Size]byte]resolvedSchema)
	}
	r := resolveSchema(raw)
	c.resolved[key] = r
	return r
}

// resolveSchema never looks further than the schema itself (BASE-31, BASE-33).
func resolveSchema(raw json.RawMessage) (r resolvedSchema) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("the schema cannot be read: %v", p)
		}
	}()
	if len(raw) > maxOutputSchema {
		return resolvedSchema{err: fmt.Errorf("the schema is longer than %d bytes", maxOutputSchema)}
	}
	recursive, err := measure(raw)
	if err != nil {
		return resolvedSchema{err: err}
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return resolvedSchema{err: fmt.Errorf("the schema cannot be read: %w", err)}
	}
	if !knownDialect(schema.Schema) {
		return resolvedSchema{err: fmt.Errorf("its dialect %s is not supported", wire.Sample([]byte(schema.Schema)))}
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{
		Loader: func(*url.URL) (*jsonschema.Schema, error) {
			return nil, errors.New("schemas elsewhere are not fetched")
		},
	})
	return resolvedSchema{schema: resolved, recursive: recursive > 0, err: err}
}

// knownDialect reports whether the validator judges by the rules of the dialect that a schema names; without a name it is
// 2020-12 (BASE-28, BASE-29).
func knownDialect(uri string) bool {
	_, name, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://")
	return uri == "" || name == "json-schema.org/draft/2020-12/schema" || name == "json-schema.org/draft-07/schema"
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
	resolved := s.schemas.resolve(schema)
	if resolved.err != nil {
		warn("outputSchema was not checked: %s", wire.Sample([]byte(resolved.err.Error())))
		return
	}
	if err := resolved.validate(r.StructuredContent); err != nil {
		warn("structuredContent breaks outputSchema: %s", wire.Sample([]byte(err.Error())))
	}
}

func (r resolvedSchema) validate(raw json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the validator gave up: %v", p)
		}
	}()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	if r.recursive && depthOf(value, maxRecursiveDepth+1) > maxRecursiveDepth {
		return nil // judging it could take exponential time
	}
	return r.schema.Validate(value)
}
