package cli_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/cli"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var comment = regexp.MustCompile(`(?m) // .*$`)

// docs/cli.md shows every key of every shape, and no other.
func TestDocumentedShapes(t *testing.T) {
	doc := readDoc(t, "cli.md")
	for heading, shape := range cli.Shapes() {
		t.Run(heading, func(t *testing.T) {
			_, rest, found := strings.Cut(doc, "# "+heading+"\n")
			if !found {
				t.Fatalf("no heading %q", heading)
			}
			_, rest, _ = strings.Cut(rest, "```json\n")
			example, _, _ := strings.Cut(rest, "```")
			var documented any
			if err := json.Unmarshal(comment.ReplaceAll([]byte(example), nil), &documented); err != nil {
				t.Fatalf("the example: %v", err)
			}
			compareShape(t, heading, reflect.TypeOf(shape), documented)
			checkOptional(t, example, reflect.TypeOf(shape))
		})
	}
}

// compareShape holds the keys of an example against the fields of a type. An empty object stands for a shape that
// is shown elsewhere or is the server's.
func compareShape(t *testing.T, path string, typ reflect.Type, example any) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch example := example.(type) {
	case []any:
		if typ.Kind() != reflect.Slice {
			t.Errorf("%s is a list in the docs and a %s in the program", path, typ)
			return
		}
		for _, element := range example {
			compareShape(t, path+"[]", typ.Elem(), element)
		}
	case map[string]any:
		if len(example) == 0 {
			return
		}
		if typ.Kind() != reflect.Struct {
			t.Errorf("%s is an object in the docs and a %s in the program", path, typ)
			return
		}
		fields := jsonFields(typ)
		var documented, programmed []string
		for key, value := range example {
			documented = append(documented, key)
			if field, ok := fields[key]; ok {
				compareShape(t, path+"."+key, field.Type, value)
			}
		}
		for key := range fields {
			programmed = append(programmed, key)
		}
		slices.Sort(documented)
		slices.Sort(programmed)
		if diff := cmp.Diff(programmed, documented); diff != "" {
			t.Errorf("keys of %s (-program +docs):\n%s", path, diff)
		}
	}
}

func jsonFields(typ reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f
		}
	}
	return fields
}

// checkOptional holds the comments "optional" against omitempty, for keys on a line of their own.
func checkOptional(t *testing.T, example string, typ reflect.Type) {
	t.Helper()
	if strings.HasPrefix(strings.TrimSpace(example), "{\n  \"error\"") {
		return // said in the text below it
	}
	omitted, always := map[string]bool{}, map[string]bool{}
	var collect func(reflect.Type)
	collect = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for name, f := range jsonFields(typ) {
			optional := strings.Contains(f.Tag.Get("json"), "omitempty")
			omitted[name] = omitted[name] || optional
			always[name] = always[name] || !optional
			if name != "error" { // shown elsewhere
				collect(f.Type)
			}
		}
	}
	collect(typ)
	for _, row := range regexp.MustCompile(`(?m)^ +"(\w+)":.*?(// optional.*)?$`).FindAllStringSubmatch(example, -1) {
		switch marked := row[2] != ""; {
		case marked && !omitted[row[1]]:
			t.Errorf("%q is called optional, and is always there", row[1])
		case !marked && omitted[row[1]] && !always[row[1]]:
			t.Errorf("%q is not called optional, and may be missing", row[1])
		}
	}
}

func TestDocumentedCommandsAndFlags(t *testing.T) {
	doc := readDoc(t, "cli.md")
	for command, flags := range cli.Commands() {
		if command != "usher" && !strings.Contains(doc, "\nusher "+command+" ") {
			t.Errorf("docs/cli.md lacks usher %s", command)
		}
		if command == "serve" { // has a page of its own
			continue
		}
		for _, flag := range flags {
			if flag != "--help" && !strings.Contains(doc, flag) {
				t.Errorf("docs/cli.md lacks %s of usher %s", flag, command)
			}
		}
	}
}

// The table of docs/exit-codes.md names every error code once, in the row of the exit code it has.
func TestDocumentedExitCodes(t *testing.T) {
	documented := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]*)\|$`).FindAllStringSubmatch(readDoc(t, "exit-codes.md"), -1) {
		exit, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for code := range strings.FieldsSeq(strings.ReplaceAll(row[2], "`", "")) {
			if other, twice := documented[code]; twice {
				t.Errorf("%s is in the rows of %d and %d", code, other, exit)
			}
			documented[code] = exit
			if got := cli.ExitCodeOf(client.Code(code)); got != exit {
				t.Errorf("%s exits with %d, documented as %d", code, got, exit)
			}
		}
	}
	for _, code := range []client.Code{
		client.CodeConfig, client.CodeNotFound, client.CodeUnavailable, client.CodeIncompat, client.CodeTimeout,
		client.CodeCancelled, client.CodeDenied, client.CodeLogin, client.CodeProtocol, client.CodeRPC,
		client.CodeUnknown, client.CodeUnsupported, client.CodeInvalid,
	} {
		if _, ok := documented[string(code)]; !ok {
			t.Errorf("docs/exit-codes.md lacks %s", code)
		}
	}
}
