package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher/schema"
)

func ExampleNormalise() {
	raw := json.RawMessage(`{"type":"object","properties":{"id":{"type":["string","null"],"pattern":"^[a-z]+$"}},"required":["id"]}`)
	result, err := schema.Normalise(raw, schema.Gemini)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Schema))
	for _, change := range result.Changes {
		fmt.Printf("%s: %s: %s\n", change.Path, change.What, change.Why)
	}
	// Output:
	// {"type":"object","properties":{"id":{"type":"string","nullable":true,"description":"(pattern: ^[a-z]+$)"}},"required":["id"]}
	// /properties/id/type: replaced by nullable string: Gemini does not accept a list of types
	// /properties/id/pattern: moved into the description: Gemini does not accept pattern
}

func ExampleCompile() {
	validator, err := schema.Compile(json.RawMessage(`{"type":"object","required":["path"]}`))
	if err != nil {
		fmt.Println(err) // this tool's arguments cannot be checked; the tool itself works
		return
	}
	fmt.Println(validator.Validate(json.RawMessage(`{"path":"/tmp"}`)))
	fmt.Println(validator.Validate(json.RawMessage(`{}`)) != nil)
	// Output:
	// <nil>
	// true
}

func ExampleLabel() {
	fmt.Println(schema.Label("github", "search_issues"))
	fmt.Println(schema.Label("github", "issues/search"))
	// Output:
	// github__search_issues
	// github__issues_search_dd85b785
}
