package archtest_test

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestPublicAPIShowsOnlyItsOwnTypes walks everything the public packages export. A type of a dependency there would
// tie our users to its versions, and a type of an internal package is one that they cannot name.
func TestPublicAPIShowsOnlyItsOwnTypes(t *testing.T) {
	t.Parallel()
	packages := goList(t, runtime.GOOS, "-deps", "-export", "./...")
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		p := packages[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("%s did not compile", path)
		}
		return os.Open(p.Export)
	})
	checked := 0
	for _, p := range packages {
		if !isPublic(p) {
			continue
		}
		pkg, err := imports.Import(p.ImportPath)
		if err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
			continue
		}
		checked++
		walk := apiWalk{t: t, packages: packages, seen: map[types.Type]bool{}}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				walk.object(obj, pkg.Path()+"."+name)
			}
		}
	}
	if checked == 0 {
		t.Error("no public package was found")
	}
}

// apiWalk visits the types that a package's exported names show.
type apiWalk struct {
	t        *testing.T
	packages map[string]*goPackage
	seen     map[types.Type]bool
}

func (w *apiWalk) object(obj types.Object, where string) {
	name, declares := obj.(*types.TypeName)
	if !declares {
		w.visit(obj.Type(), where)
		return
	}
	if name.IsAlias() {
		w.visit(types.Unalias(name.Type()), where)
		return
	}
	w.visit(name.Type().Underlying(), where)
	named, ok := name.Type().(*types.Named)
	if !ok {
		return
	}
	for m := range named.Methods() {
		if m.Exported() {
			w.visit(m.Type(), where+"."+m.Name())
		}
	}
}

// visit reports foreign named types within typ; where says how it is reached.
func (w *apiWalk) visit(typ types.Type, where string) {
	if w.seen[typ] {
		return
	}
	w.seen[typ] = true
	switch typ := typ.(type) {
	case *types.Alias:
		w.visit(types.Unalias(typ), where)
	case *types.Named:
		w.named(typ, where)
	case *types.Pointer:
		w.visit(typ.Elem(), where)
	case *types.Slice:
		w.visit(typ.Elem(), where)
	case *types.Array:
		w.visit(typ.Elem(), where)
	case *types.Chan:
		w.visit(typ.Elem(), where)
	case *types.Map:
		w.visit(typ.Key(), where)
		w.visit(typ.Elem(), where)
	case *types.Tuple:
		for v := range typ.Variables() {
			w.visit(v.Type(), where)
		}
	case *types.Signature:
		w.visit(typ.Params(), where)
		w.visit(typ.Results(), where)
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Exported() {
				w.visit(f.Type(), where+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range typ.Methods() {
			w.visit(m.Type(), where+"."+m.Name())
		}
	case *types.TypeParam:
		w.visit(typ.Constraint(), where)
	}
}

// named reports a type of a foreign or internal package, and looks into its type arguments.
func (w *apiWalk) named(typ *types.Named, where string) {
	for arg := range typ.TypeArgs().Types() {
		w.visit(arg, where)
	}
	pkg := typ.Obj().Pkg()
	if pkg == nil {
		return // error, comparable
	}
	p := w.packages[pkg.Path()]
	switch name, ours := relative(pkg.Path()); {
	case ours && strings.HasPrefix(name, "internal/"):
		w.t.Errorf("%s shows %s, which users cannot import", where, typ)
	case !ours && (p == nil || !p.Standard):
		w.t.Errorf("%s shows %s, a type of a dependency", where, typ)
	}
}
