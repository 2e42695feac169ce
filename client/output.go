package client

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/usher-mcp/usher/internal/wire"
	"github.com/usher-mcp/usher/schema"
)

// maxSchemas bounds the output schemas that are kept ready.
const maxSchemas = 256

// schemaCache keeps compiled output schemas by their hash.
type schemaCache struct {
	mu       sync.Mutex
	compiled map[[sha256.Size]byte]compiledSchema
}

type compiledSchema struct {
	validator *schema.Validator
	err       error
}

func (c *schemaCache) compile(raw json.RawMessage) (*schema.Validator, error) {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.compiled[key]
	if !ok {
		if c.compiled == nil || len(c.compiled) >= maxSchemas {
			c.compiled = make(map[[sha256.Size]byte]compiledSchema)
		}
		r.validator, r.err = schema.Compile(raw)
		c.compiled[key] = r
	}
	return r.validator, r.err
}

// checkOutput compares structuredContent with the tool's outputSchema, whose references lead nowhere else (BASE-31,
// BASE-33). Schema and value are a stranger's: what would cost too much to judge is not judged (BASE-34). Whatever
// comes of it is a warning.
func (s *Session) checkOutput(r *Result, outputSchema json.RawMessage) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if r.IsError {
		return
	}
	if r.StructuredContent == nil {
		warn("the tool has an outputSchema and sent no structuredContent")
		return
	}
	validator, err := s.schemas.compile(outputSchema)
	if err != nil {
		warn("outputSchema was not checked: %s", wire.Sample([]byte(err.Error())))
		return
	}
	err = validator.Validate(r.StructuredContent)
	switch _, bad := errors.AsType[*schema.InvalidError](err); {
	case err == nil:
	case bad:
		warn("structuredContent breaks outputSchema: %s", wire.Sample([]byte(err.Error())))
	default:
		warn("outputSchema was not checked: %s", wire.Sample([]byte(err.Error())))
	}
}
