package archtest_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// layers lists every package from the ground up. A package imports what lies in a lower layer, never beside or
// above. To add a package, put it into the lowest layer that its imports allow.
var layers = [][]string{
	{
		// Ground: rules and formats that know no other package of ours.
		"apps", "permission", "schema", "web",
		"internal/api", "internal/archtest", "internal/model/modeltest", "internal/nearest", "internal/sse", "internal/stdio", "internal/wire",
	},
	{"config", "internal/sandbox"},
	{"internal/approval", "internal/grants", "internal/model", "internal/oauth", "internal/remote", "internal/tour"},
	{"client"},
	{"ushertest"},
	{".", "ushertest/fx"}, // usher, the host
	{"internal/conversation", "internal/bench", "internal/conformance", "internal/interop"},
	{"internal/store/sqlite", "internal/conversation/storetest"},
	{"internal/daemon"},
	{"internal/cli"},
	{"cmd/usher"},
}

// generators write files that are committed. They read the packages they generate from, and nothing imports them.
const generatorSuffix = "/gen"

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	rank := map[string]int{}
	for i, layer := range layers {
		for _, name := range layer {
			if _, twice := rank[name]; twice {
				t.Fatalf("%s is in two layers", name)
			}
			rank[name] = i
		}
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range goList(t, goos, "./...") {
			name, _ := relative(p.ImportPath)
			from, known := rank[name]
			if !known && !strings.HasSuffix(name, generatorSuffix) {
				if goos == runtime.GOOS {
					t.Errorf("%s is in no layer: add it to the table in this test", name)
				}
				continue
			}
			for _, path := range p.Imports {
				imported, ours := relative(path)
				if !ours {
					continue
				}
				if strings.HasSuffix(imported, generatorSuffix) {
					t.Errorf("%s imports the generator %s (%s)", name, imported, goos)
				}
				if to, ok := rank[imported]; known && ok && to >= from {
					t.Errorf("%s (layer %d) imports %s (layer %d): imports point down only (%s)", name, from, imported, to, goos)
				}
			}
		}
	}
}

// ceilings bound what a package brings into a program that imports it: third-party modules, all levels down.
var ceilings = map[string][]string{
	".": {
		"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk", "github.com/segmentio/asm",
		"github.com/segmentio/encoding", "github.com/tailscale/hujson", "github.com/yosida95/uritemplate/v3",
		"golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/time",
	},
	"client": {
		"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk", "github.com/segmentio/asm",
		"github.com/segmentio/encoding", "github.com/tailscale/hujson", "github.com/yosida95/uritemplate/v3",
		"golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/time",
	},
	"config":           {"github.com/tailscale/hujson"},
	"apps":             {},
	"permission":       {},
	"schema":           {"github.com/google/jsonschema-go"},
	"internal/sandbox": {},
	"internal/sse":     {},
	"internal/api":     {},
	"web":              {},
}

func TestLibraryDependenciesAreBounded(t *testing.T) {
	t.Parallel()
	packages := goList(t, runtime.GOOS, "-deps", "./...")
	for name, allowed := range ceilings {
		path := module
		if name != "." {
			path += "/" + name
		}
		if packages[path] == nil {
			t.Errorf("%s has a ceiling and is no package", name)
			continue
		}
		used := map[string]bool{}
		modulesBelow(packages, path, map[string]bool{}, used)
		for _, m := range slices.Sorted(maps.Keys(used)) {
			if !slices.Contains(allowed, m) {
				t.Errorf("%s depends on %s, which its users would have to carry", name, m)
			}
		}
	}
}

// modulesBelow adds to used the third-party modules of everything that the package at path imports, all levels down.
func modulesBelow(packages map[string]*goPackage, path string, seen, used map[string]bool) {
	p := packages[path]
	if p == nil || p.Standard || seen[path] {
		return
	}
	seen[path] = true
	if p.Module != nil && p.Module.Path != module {
		used[p.Module.Path] = true
	}
	for _, imported := range p.Imports {
		modulesBelow(packages, imported, seen, used)
	}
}

func TestEveryPackageSaysWhyItExists(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, runtime.GOOS, "./...") {
		name, _ := relative(p.ImportPath)
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: its package comment starts %q, want %q", name, p.Doc, want)
		}
	}
}

// emptyNames are package names that give no reason to exist.
var emptyNames = []string{"base", "common", "core", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

func TestPackageNamesSayWhatTheyGive(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, runtime.GOOS, "./...") {
		if slices.Contains(emptyNames, p.Name) {
			t.Errorf("package %s (%s) is named after nothing it gives", p.Name, p.ImportPath)
		}
	}
}
