package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// declarations are what package api declares, in the order of its source.
type declarations struct {
	order  []any // *structType or *constant
	byName map[string]*structType
}

type structType struct {
	name, doc string
	fields    []field
}

type field struct {
	name     string // in JSON
	doc      string
	kind     kind
	optional bool
}

type constant struct {
	name, value, doc string
}

// kind is a type as the wire types use them.
type kind struct {
	base string // string, boolean, integer, number, time, any, array, map, or the name of a struct
	elem *kind  // of an array or map
}

// parse reads the Go source of package api. What it does not know how to generate is an error.
func parse(dir string) (*declarations, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := &declarations{byName: map[string]*structType{}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if err := out.add(general, spec); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return out, nil
}

func (d *declarations) add(decl *ast.GenDecl, spec ast.Spec) error {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		shape, ok := spec.Type.(*ast.StructType)
		if !ok {
			return fmt.Errorf("%s is no struct", spec.Name)
		}
		t := &structType{name: spec.Name.Name, doc: comment(decl.Doc)}
		for _, f := range shape.Fields.List {
			made, err := makeField(f)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			t.fields = append(t.fields, made)
		}
		d.order = append(d.order, t)
		d.byName[t.name] = t
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || decl.Tok != token.CONST || literal.Kind != token.STRING {
				return fmt.Errorf("%s is no string constant", name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				return err
			}
			d.order = append(d.order, &constant{name: name.Name, value: value, doc: comment(spec.Comment)})
		}
	}
	return nil
}

func makeField(f *ast.Field) (field, error) {
	if len(f.Names) != 1 || f.Tag == nil {
		return field{}, fmt.Errorf("a field needs one name and a json tag")
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return field{}, err
	}
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	made := field{name: name, optional: options == "omitempty", doc: comment(f.Doc)}
	if made.doc == "" {
		made.doc = comment(f.Comment)
	}
	expr := f.Type
	if pointer, ok := expr.(*ast.StarExpr); ok {
		if !made.optional {
			return field{}, fmt.Errorf("%s: a pointer without omitempty may be null", name)
		}
		expr = pointer.X
	}
	made.kind, err = makeKind(expr)
	if err != nil {
		return field{}, fmt.Errorf("%s: %w", name, err)
	}
	return made, nil
}

func makeKind(expr ast.Expr) (kind, error) {
	switch expr := expr.(type) {
	case *ast.Ident:
		switch expr.Name {
		case "string":
			return kind{base: "string"}, nil
		case "bool":
			return kind{base: "boolean"}, nil
		case "int", "int64", "uint64":
			return kind{base: "integer"}, nil
		case "float64":
			return kind{base: "number"}, nil
		default:
			return kind{base: expr.Name}, nil
		}
	case *ast.SelectorExpr:
		switch expr.Sel.Name {
		case "RawMessage":
			return kind{base: "any"}, nil
		case "Time":
			return kind{base: "time"}, nil
		}
	case *ast.ArrayType:
		elem, err := makeKind(expr.Elt)
		return kind{base: "array", elem: &elem}, err
	case *ast.MapType:
		elem, err := makeKind(expr.Value)
		return kind{base: "map", elem: &elem}, err
	}
	return kind{}, fmt.Errorf("there is no rule for %T", expr)
}

func comment(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}
