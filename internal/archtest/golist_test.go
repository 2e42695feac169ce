package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/usher-mcp/usher"

// goPackage is what we read of one package in the output of go list.
type goPackage struct {
	Dir        string
	ImportPath string
	Name       string
	Doc        string
	Standard   bool
	Export     string // file with the compiled types, with -export
	Imports    []string
	GoFiles    []string
	Module     *struct{ Path string }
	Error      *struct{ Err string }
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("the module's root is not where this test looks: %v", err)
	}
	return dir
}

// goList runs go list -json for one system and returns the packages by import path.
// Packages that do not exist yet as Go code (only tests, or nothing for that system) are left out.
func goList(t *testing.T, goos string, args ...string) map[string]*goPackage {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json"}, args...)...)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	packages := map[string]*goPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(goPackage)
		err := dec.Decode(p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
		}
		if len(p.GoFiles) > 0 {
			packages[p.ImportPath] = p
		}
	}
}

// relative is an import path as the tables below write it: "." for the root, "client" for module/client.
// ok is false for packages that are not ours.
func relative(importPath string) (name string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// isPublic says whether programs outside this module can import the package.
func isPublic(p *goPackage) bool {
	name, ours := relative(p.ImportPath)
	return ours && p.Name != "main" && !strings.HasPrefix(name, "internal/")
}
