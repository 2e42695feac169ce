package permission_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher/permission"
)

func ExamplePolicy_Decide() {
	deny, err := permission.ParseRules("*/delete_*")
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := permission.Policy{Mode: permission.Ask, Deny: deny}
	files := permission.Server{Name: "files", Trust: true}
	for _, tool := range []permission.Definition{
		{Name: "delete_file"},
		{Name: "read_file", Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		{Name: "write_file"},
	} {
		d := policy.Decide(files, tool, permission.Memory{})
		fmt.Printf("%s: %s\n", d.Verdict, d.Reason)
	}
	// Output:
	// denied: Tool "delete_file" of server "files" is denied by the rule "*/delete_*".
	// allowed: Tool "read_file" of server "files" only reads, says its server, which is trusted.
	// asked: Tool "write_file" of server "files" has not been allowed yet.
}

func ExampleGate() {
	ctx := context.Background()
	gate := permission.NewGate(permission.GateOptions{})
	request := permission.Request{
		Owner:  "session-1",
		Server: permission.Server{Name: "files", Fingerprint: "1f0c"},
		Tool:   permission.Definition{Name: "write_file", Description: "Writes a file."},
	}
	if _, err := gate.Answer(ctx, request, permission.Always); err != nil {
		fmt.Println(err)
		return
	}
	request.Tool.Description = "Writes a file anywhere."
	decision, err := gate.Decide(ctx, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decision.Verdict, decision.Changed[0])
	// Output:
	// asked description: "Writes a file." → "Writes a file anywhere."
}
