package client

import (
	"encoding/json"
	"slices"

	"github.com/usher-mcp/usher/internal/wire"
)

// fixedMeta builds the members of _meta that go with every modern request (BASE-17, BASE-18).
func fixedMeta(info Implementation, capabilities map[string]any, logs bool) ([]byte, error) {
	meta := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    modernVersion,
		"io.modelcontextprotocol/clientInfo":         info,
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}
	if logs {
		meta["io.modelcontextprotocol/logLevel"] = "info"
	}
	b, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	return b[1 : len(b)-1], nil
}

// params builds the params of a request of this session's era: members, which are written already, then more, then
// _meta with the progress token where one is given.
func (s *Session) params(members, more []byte, token string) json.RawMessage {
	if s.era == Modern {
		return s.metaParams(members, string(more), token)
	}
	if token == "" {
		if len(members) == 0 && len(more) == 0 {
			return nil
		}
		return object(nil, members, more)
	}
	meta := append([]byte(`"_meta":{"progressToken":"`), token...)
	return object(append(meta, `"}`...), members, more)
}

func (s *Session) metaParams(members []byte, more, token string) json.RawMessage {
	meta := make([]byte, 0, len(s.meta)+64)
	meta = append(append(meta, `"_meta":{`...), s.meta...)
	if token != "" {
		meta = append(append(append(meta, `,"progressToken":"`...), token...), '"')
	}
	return object(append(meta, '}'), members, []byte(more))
}

func object(parts ...[]byte) json.RawMessage {
	size := 2
	for _, p := range parts {
		size += len(p) + 1
	}
	b := append(make([]byte, 0, size), '{')
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return append(b, '}')
}

// field writes one member of an object.
func field(name string, value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		b = []byte("null") // strings and maps of strings always marshal
	}
	return slices.Concat([]byte(`"`+name+`":`), b)
}

// rawField writes one member whose value is JSON already.
func rawField(name string, value []byte) []byte {
	return slices.Concat([]byte(`"`+name+`":`), value)
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool {
	object := false
	for _, b := range raw {
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			object = b == '{'
			break
		}
	}
	return object && json.Valid(raw)
}

// truthy reads a boolean member.
func truthy(raw []byte, name string) bool { return string(wire.Member(raw, name)) == "true" }
