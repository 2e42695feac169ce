package main

import (
	"bytes"
	"fmt"
	"strings"
)

// typescript makes an interface of each struct and a constant of each constant.
func typescript(d *declarations) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from internal/api by go generate; DO NOT EDIT.\n")
	wasConstant := false
	for _, one := range d.order {
		switch one := one.(type) {
		case *constant:
			if !wasConstant {
				b.WriteString("\n")
			}
			wasConstant = true
			doc(&b, "", one.doc)
			fmt.Fprintf(&b, "export const %s = %q;\n", one.name, one.value)
		case *structType:
			wasConstant = false
			b.WriteString("\n")
			doc(&b, "", one.doc)
			fmt.Fprintf(&b, "export interface %s {\n", one.name)
			for _, f := range one.fields {
				doc(&b, "\t", f.doc)
				optional := ""
				if f.optional {
					optional = "?"
				}
				script, err := d.script(f.kind)
				if err != nil {
					return nil, fmt.Errorf("%s.%s: %w", one.name, f.name, err)
				}
				fmt.Fprintf(&b, "\t%s%s: %s;\n", f.name, optional, script)
			}
			b.WriteString("}\n")
		}
	}
	return b.Bytes(), nil
}

func doc(b *bytes.Buffer, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}

func (d *declarations) script(k kind) (string, error) {
	switch k.base {
	case "string", "boolean":
		return k.base, nil
	case "integer", "number":
		return "number", nil
	case "time":
		return "string", nil
	case "any":
		return "unknown", nil
	case "array":
		elem, err := d.script(*k.elem)
		return elem + "[]", err
	case "map":
		elem, err := d.script(*k.elem)
		return "Record<string, " + elem + ">", err
	}
	if d.byName[k.base] == nil {
		return "", fmt.Errorf("there is no type %s", k.base)
	}
	return k.base, nil
}
