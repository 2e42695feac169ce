package schema

import "fmt"

// The bounds that OpenAI's strict mode sets to one schema.
const (
	strictLevels     = 10
	strictProperties = 5000
	strictEnums      = 1000
	strictChars      = 120_000 // of names, enum values and const values
)

// beyondStrict says which bound of strict mode a schema exceeds; "" when none.
func beyondStrict(root *node) string {
	c := strictCount{}
	c.schema(root, 0)
	switch {
	case c.levels > strictLevels:
		return fmt.Sprintf("objects are nested more than %d levels deep, which is strict mode's bound", strictLevels)
	case c.properties > strictProperties:
		return fmt.Sprintf("there are more than %d properties, which is strict mode's bound", strictProperties)
	case c.enums > strictEnums:
		return fmt.Sprintf("there are more than %d enum values, which is strict mode's bound", strictEnums)
	case c.chars > strictChars:
		return fmt.Sprintf("names and enum values take more than %d characters, which is strict mode's bound", strictChars)
	}
	return ""
}

type strictCount struct{ levels, properties, enums, chars int }

// schema counts what is in one schema. References are not followed: what they lead to is counted where it stands.
func (c *strictCount) schema(s *node, level int) {
	if s.get("properties") != nil {
		level++
	}
	c.levels = max(c.levels, level)
	for _, m := range s.list() {
		switch {
		case m.key == "enum":
			c.enums += len(m.value.items)
			for _, v := range m.value.items {
				c.chars += len(v.str)
			}
		case holds(m.key) == schemaMap:
			at := level
			if m.key != "properties" { // $defs begin afresh
				at = 0
			}
			for _, p := range m.value.members {
				c.chars += len(p.key)
				if m.key == "properties" {
					c.properties++
				}
				c.schema(p.value, at)
			}
		case holds(m.key) == schemaList:
			for _, item := range m.value.items {
				c.schema(item, level)
			}
		case m.key == "items":
			c.schema(m.value, level)
		}
	}
}
