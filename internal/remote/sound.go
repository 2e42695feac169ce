package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

var (
	errNotMessage   = errors.New("the body is JSON but not a JSON-RPC message")
	errBothAnswers  = errors.New("the answer has a result and an error")
	errNoErrorShape = errors.New("the answer's error is no JSON-RPC error")
)

// sound makes data, a message of an event stream, one that the SDK takes: one that it does not take would end the
// session. A message that is well-formed stays byte for byte, on one line. request is the id of the request that the
// stream answers, nil when there is none; an error without an id is this request's (BASE-10). An answer whose result
// and error cannot be told is left with neither, so that its request fails and no other.
func sound(data []byte, request json.RawMessage) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil || m == nil {
		return nil, errors.New("it is not a JSON-RPC message")
	}
	faithful := string(m["jsonrpc"]) == `"2.0"`
	id := m["id"]
	if id != nil && string(id) != "null" && !validID(id) {
		return nil, errors.New("its id is neither a string nor an integer")
	}
	if method, ok := m["method"]; ok {
		if method[0] != '"' {
			return nil, errors.New("its method is no string")
		}
	} else {
		if id == nil || string(id) == "null" {
			if m["error"] == nil || request == nil {
				return nil, errors.New("it is neither a request nor an answer to one")
			}
			m["id"], faithful = request, false
		}
		if checkAnswer(m) != nil {
			delete(m, "error")
			delete(m, "result")
			faithful = false
		}
	}
	if !faithful {
		return encodeMessage(m)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return line.Bytes(), nil
}

// checkAnswer says what is wrong with the result and the error of an answer.
func checkAnswer(m map[string]json.RawMessage) error {
	failure, result := m["error"], m["result"]
	if string(failure) == "null" {
		failure = nil
	}
	switch {
	case failure == nil && result == nil:
		return errNotMessage
	case failure == nil:
		return nil
	case result != nil && string(result) != "null":
		return errBothAnswers
	}
	var shape struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(failure, &shape) != nil {
		return errNoErrorShape
	}
	return nil
}

// validID tells a JSON-RPC id from other JSON values (BASE-02).
func validID(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return true
	}
	var f float64
	return raw[0] != 'n' && json.Unmarshal(raw, &f) == nil && f == math.Trunc(f)
}

// encodeMessage writes a message with the version of JSON-RPC that it should have named.
func encodeMessage(m map[string]json.RawMessage) ([]byte, error) {
	m["jsonrpc"] = json.RawMessage(`"2.0"`)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("write the message again: %w", err)
	}
	return bytes.TrimSpace(line.Bytes()), nil
}
