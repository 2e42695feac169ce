package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/usher-mcp/usher/internal/api"
)

// What is generated is committed, and is what the types and the routes give now.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/api gives: run go generate ./...", name)
		}
	}
}

// Every reference in the document leads to a schema, and what Go encodes has the properties that its schema names.
func TestDocumentMatchesTheTypes(t *testing.T) {
	d, err := parse("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi(d)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Paths) < 15 {
		t.Errorf("the document has %d paths", len(document.Paths))
	}
	for _, m := range regexp.MustCompile(`"#/components/schemas/(\w+)"`).FindAllSubmatch(text, -1) {
		if _, ok := document.Components.Schemas[string(m[1])]; !ok {
			t.Errorf("there is no schema %s", m[1])
		}
	}
	for _, value := range []any{api.Session{}, api.Event{}, api.CallFinished{}, api.Server{}, api.Catalog{}, api.Status{}} {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(encoded, &keys); err != nil {
			t.Fatal(err)
		}
		schema := document.Components.Schemas[reflect.TypeOf(value).Name()]
		// A zero value encodes what is always there.
		if len(keys) != len(schema.Required) {
			t.Errorf("%T always has %d keys; its schema requires %v", value, len(keys), schema.Required)
		}
		for _, name := range schema.Required {
			if _, ok := keys[name]; !ok {
				t.Errorf("%T lacks %s", value, name)
			}
		}
	}
}
