package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Profile names what a model API accepts.
type Profile string

// The profiles.
const (
	// Generic is an OpenAI-compatible server of which nothing more is known: the root is made an object with
	// properties, and what is no schema is repaired. Everything else stays.
	Generic Profile = "generic"
	// OpenAI is OpenAI's function calling without strict mode.
	OpenAI Profile = "openai"
	// OpenAIStrict is OpenAI's strict mode: closed objects, all properties required, a subset of the keywords. A
	// schema that it cannot express, such as a map with free keys, is written for [OpenAI] instead.
	OpenAIStrict Profile = "openai-strict"
	// Gemini is the subset of OpenAPI 3.0 that Gemini and servers in front of it accept.
	Gemini Profile = "gemini"
)

// Profiles lists the profiles, from the one that changes least to the one that changes most.
func Profiles() []Profile { return []Profile{Generic, OpenAI, OpenAIStrict, Gemini} }

// ParseProfile reads a profile by its name; "" is [Generic].
func ParseProfile(name string) (Profile, error) {
	p := Profile(strings.ToLower(name))
	if p == "" {
		return Generic, nil
	}
	if slices.Contains(Profiles(), p) {
		return p, nil
	}
	names := make([]string, 0, 4)
	for _, p := range Profiles() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("profile %.40q is unknown; the profiles are %s", name, strings.Join(names, ", "))
}

// ProfileFor guesses the profile from the address and the name of a model. Strict mode is never guessed.
func ProfileFor(baseURL, model string) Profile {
	address, model := strings.ToLower(baseURL), strings.ToLower(model)
	switch {
	case strings.Contains(model, "gemini"), strings.Contains(address, "generativelanguage.googleapis.com"):
		return Gemini
	case address == "", strings.Contains(address, "//api.openai.com"), strings.Contains(address, ".openai.azure.com"):
		return OpenAI
	}
	return Generic
}

// rules are what a profile asks for.
type rules struct {
	api string // its name in explanations
	// keywords and formats that are accepted; nil means all.
	keywords, formats []string
	// keepRefs keeps references to $defs, definitions and the root; keepAllRefs all that lead somewhere.
	keepRefs, keepAllRefs bool
	rootUnion             bool // anyOf, oneOf, allOf and $ref are accepted at the root
	flatten               bool // allOf, oneOf and const are not accepted, so they are rewritten
	oneType               bool // type is one name, null is nullable, and anyOf stands alone
	items                 bool // arrays need items, as one schema
	noBools               bool // true and false are no schemas
	textEnums             bool // enum holds non-empty strings only
	closed                bool // objects are closed and all their properties required
}

func (p Profile) rules() rules {
	switch p {
	case OpenAI:
		return rules{api: "OpenAI", keepRefs: true, items: true, noBools: true}
	case OpenAIStrict:
		return rules{
			api: "OpenAI's strict mode", keepRefs: true, items: true, noBools: true, flatten: true, closed: true,
			keywords: []string{
				"type", "title", "description", "enum", "items", "properties", "required", "additionalProperties", "anyOf",
				"$ref", "$defs", "definitions", "pattern", "format", "multipleOf", "minimum", "maximum",
				"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
			},
			formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
		}
	case Gemini:
		return rules{
			api: "Gemini", items: true, noBools: true, flatten: true, oneType: true, textEnums: true,
			keywords: []string{
				"type", "title", "description", "enum", "items", "properties", "required", "nullable", "anyOf",
				"minimum", "maximum", "minItems", "maxItems", "format",
			},
			formats: []string{"date-time", "int32", "int64", "float", "double"},
		}
	default:
		return rules{api: "a model API", keepAllRefs: true, rootUnion: true}
	}
}

func (r rules) keeps(keyword string) bool {
	return r.keywords == nil || slices.Contains(r.keywords, keyword)
}

// held says what the value of a keyword is made of.
type held uint8

const (
	plain      held = iota // data, not schemas
	oneSchema              // a schema
	schemaList             // an array of schemas
	schemaMap              // an object of schemas
	eitherForm             // items: a schema, or in draft-07 an array of them
	mixedMap               // dependencies: schemas and arrays of names
)

func holds(keyword string) held {
	switch keyword {
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "contains",
		"propertyNames", "not", "if", "then", "else", "contentSchema":
		return oneSchema
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return schemaList
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return schemaMap
	case "items":
		return eitherForm
	case "dependencies":
		return mixedMap
	}
	return plain
}

// silent reports whether nothing is lost to the model when a keyword goes.
func silent(keyword string) bool {
	switch keyword {
	case "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary", "$defs", "definitions",
		"nullable", "readOnly", "writeOnly", "contentSchema":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}
