package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/internal/daemon"
)

// object is a JSON object; encoding/json writes its keys in order, so the document is the same each time.
type object = map[string]any

// openapi makes the OpenAPI 3.1 document of the daemon's routes.
func openapi(d *declarations) ([]byte, error) {
	schemas := object{}
	for _, one := range d.order {
		if t, ok := one.(*structType); ok {
			schema, err := d.schema(t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			schemas[t.name] = schema
		}
	}
	paths := object{}
	for _, route := range daemon.Routes() {
		if strings.HasSuffix(route.Pattern, "...}") {
			continue // the page's files
		}
		operation, err := d.operation(route)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", route.Method, route.Pattern, err)
		}
		path, _ := paths[route.Pattern].(object)
		if path == nil {
			path = object{}
			paths[route.Pattern] = path
		}
		path[strings.ToLower(route.Method)] = operation
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Usher", "version": "1",
			"description": "The daemon's API. Events are in docs/daemon.md, errors in docs/errors.md.",
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "the token of the token file"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": "usher_8765", "description": "of a browser that has traded a one-time code; the name ends in the daemon's port"},
			},
			"responses": object{
				"Problem": object{"description": "What failed, where, and what to do next", "content": content("application/json", ref("Problem"))},
			},
		},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return b.Bytes(), err
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func (d *declarations) operation(route daemon.Route) (object, error) {
	operation := object{"summary": route.Summary}
	var params []object
	for _, m := range pathParam.FindAllStringSubmatch(route.Pattern, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range route.Query {
		params = append(params, object{"name": p.Name, "in": "query", "description": p.Doc, "schema": object{"type": p.Type}})
	}
	if params != nil {
		operation["parameters"] = params
	}
	switch route.Auth {
	case daemon.AuthPerson:
		operation["security"] = []object{{"bearer": []string{}}, {"cookie": []string{}}}
	case daemon.AuthBearer:
		operation["security"] = []object{{"bearer": []string{}}}
	default:
		operation["security"] = []object{}
	}
	if route.Request != nil {
		name, err := d.nameOf(route.Request)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = object{"required": len(d.required(name)) > 0, "content": content("application/json", ref(name))}
	}
	success := object{"description": "Done"}
	if route.Response != nil {
		name, err := d.nameOf(route.Response)
		if err != nil {
			return nil, err
		}
		success["description"] = d.byName[name].doc
		if route.Stream {
			success["content"] = object{
				"text/event-stream": object{"schema": object{"type": "string", "description": "the data of each message is one " + name}},
				"application/json":  object{"schema": ref("EventList")},
			}
		} else {
			success["content"] = content("application/json", ref(name))
		}
	}
	responses := object{strconv.Itoa(route.Status): success}
	if route.Auth != daemon.AuthNone {
		responses["default"] = object{"$ref": "#/components/responses/Problem"}
	}
	operation["responses"] = responses
	return operation, nil
}

func (d *declarations) nameOf(value any) (string, error) {
	name := reflect.TypeOf(value).Name()
	if d.byName[name] == nil {
		return "", fmt.Errorf("there is no wire type %s", name)
	}
	return name, nil
}

func (d *declarations) required(name string) []string {
	var names []string
	for _, f := range d.byName[name].fields {
		if !f.optional {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

func (d *declarations) schema(t *structType) (object, error) {
	properties := object{}
	for _, f := range t.fields {
		schema, err := d.schemaOf(f.kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if f.doc != "" {
			schema["description"] = f.doc
		}
		properties[f.name] = schema
	}
	schema := object{"type": "object", "description": t.doc, "properties": properties}
	if required := d.required(t.name); len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

func (d *declarations) schemaOf(k kind) (object, error) {
	switch k.base {
	case "string", "boolean", "integer", "number":
		return object{"type": k.base}, nil
	case "time":
		return object{"type": "string", "format": "date-time"}, nil
	case "any":
		return object{}, nil
	case "array", "map":
		elem, err := d.schemaOf(*k.elem)
		if k.base == "array" {
			return object{"type": "array", "items": elem}, err
		}
		return object{"type": "object", "additionalProperties": elem}, err
	}
	if d.byName[k.base] == nil {
		return nil, fmt.Errorf("there is no type %s", k.base)
	}
	return ref(k.base), nil
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func content(mediaType string, schema object) object {
	return object{mediaType: object{"schema": schema}}
}
