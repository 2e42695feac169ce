package ushertest

import (
	"bytes"
	"encoding/json"
)

// The error codes fx answers with.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeOldNotFound    = -32002 // legacy: no such resource
	codeCapability     = -32021 // modern: the request needs a capability it did not declare
	codeVersion        = -32022 // modern: no such protocol version here
)

// The _meta keys of the modern era.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaServerInfo   = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
	metaLogLevel     = metaPrefix + "logLevel"
	uiExtension      = metaPrefix + "ui"
)

const modernVersion = "2026-07-28"

// knownVersions are all versions fx can speak, oldest first. Dates compare as strings.
func knownVersions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modernVersion}
}

type object = map[string]any

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// params are the parts of a request's params that fx looks at.
type params struct {
	Meta            map[string]json.RawMessage `json:"_meta"`
	ProtocolVersion string                     `json:"protocolVersion"`
	Capabilities    map[string]json.RawMessage `json:"capabilities"`

	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	URI       string          `json:"uri"`
	Cursor    *string         `json:"cursor"`
	Level     string          `json:"level"`

	RequestID json.RawMessage `json:"requestId"` // notifications/cancelled

	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	RequestState   *string                    `json:"requestState"`

	Notifications struct {
		Tools     bool     `json:"toolsListChanged"`
		Prompts   bool     `json:"promptsListChanged"`
		Resources bool     `json:"resourcesListChanged"`
		URIs      []string `json:"resourceSubscriptions"`
	} `json:"notifications"`

	Ref struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
}

func (p *params) meta(key string) string {
	var s string
	if json.Unmarshal(p.Meta[key], &s) != nil {
		return ""
	}
	return s
}

// encode renders v as one line of JSON, without the line end and without escaping what JSON need not escape.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only fx's own values come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func response(id json.RawMessage, result any) []byte {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

func errorResponse(id json.RawMessage, code int64, text string, data any) []byte {
	e := object{"code": code, "message": text}
	if data != nil {
		e["data"] = data
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   object          `json:"error"`
	}{"2.0", id, e})
}

func notification(method string, params any) []byte {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", method, params})
}
