// Command gen writes what is generated from the wire types of the API: TypeScript for the WebShell, and with the
// daemon's table of routes the OpenAPI document. `go generate ./...` runs it; a test of its own fails on a difference.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes both files. source is the directory of package api.
func run(source string) error {
	files, err := generate(source)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(source, "..", "..", filepath.FromSlash(name)), content, 0o644); err != nil { //nolint:gosec // source code
			return err
		}
	}
	return nil
}

// generate returns the generated files by their path in the module.
func generate(source string) (map[string][]byte, error) {
	p, err := parse(source)
	if err != nil {
		return nil, err
	}
	script, err := typescript(p)
	if err != nil {
		return nil, err
	}
	document, err := openapi(p)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"web/src/api/types.gen.ts": script, "docs/openapi.json": document}, nil
}
