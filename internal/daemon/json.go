package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/nearest"
)

// decode reads the body, one JSON object, into v, a pointer to a struct of flat fields. No body is an empty object.
// Names are taken exactly; an unknown one is refused with the nearest that is known.
func decode(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return err
		}
		return refuse(codeJSON, "The body was not received whole.", "")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil || given == nil {
		return badJSON(err)
	}
	known := fieldNames(reflect.TypeOf(v).Elem())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := "Known: " + strings.Join(known, ", ") + "."
		if near := nearest.Name(name, known); near != "" {
			hint = fmt.Sprintf("Did you mean %q?", near)
		}
		return &problem{api.Error{Code: codeField, Field: name, Message: fmt.Sprintf("There is no field %q.", name), Hint: hint}}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return badJSON(err)
	}
	return nil
}

func badJSON(err error) error {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return invalid(kind.Field, fmt.Sprintf("want %s, got %s", jsonKind(kind.Type), kind.Value))
	case errors.As(err, &syntax):
		return refuse(codeJSON, fmt.Sprintf("The body is not JSON: %v (byte %d).", syntax, syntax.Offset), "")
	default:
		return refuse(codeJSON, "The body must be one JSON object.", "")
	}
}

// jsonKind is what a Go type is called in JSON.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64, reflect.Int, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

func fieldNames(t reflect.Type) []string {
	var fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	return fields
}

// encode makes JSON in which HTML is not escaped: apps would be several times their size.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// respond answers with a value as JSON.
func respond(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return respondJSON(w, status, body)
}

func respondJSON(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every response has one
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that left cannot be told
	return nil
}

func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func writeProblem(w http.ResponseWriter, status int, wire api.Error) {
	w.Header().Set("Cache-Control", "no-store")
	if respond(w, status, api.Problem{Error: wire}) != nil {
		w.WriteHeader(http.StatusInternalServerError) // an api.Error always encodes
	}
}
