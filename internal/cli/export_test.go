package cli

import (
	"encoding/json"

	"github.com/spf13/pflag"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/api"
)

// For tests of this package from outside.
var (
	SplitWords = splitWords
	Printable  = printable
	ExitCodeOf = codeOf
)

// KeyedArguments reads key=value pairs by an input schema.
func KeyedArguments(schema string, pairs ...string) (string, error) {
	tool := usher.Tool{Server: "s", Tool: client.Tool{Name: "t", InputSchema: json.RawMessage(schema)}}
	arguments, err := keyedArguments(tool, pairs)
	return string(arguments), err
}

// Shapes are what each command prints with --json, by the heading under which docs/cli.md shows it.
func Shapes() map[string]any {
	return map[string]any{
		"Errors": api.Problem{}, "usher servers": serversOutput{}, "usher tools": toolsOutput{}, "usher tools --for": toolSchemaOutput{}, "usher call": callOutput{},
		"usher resources": resourcesOutput{}, "usher read": readOutput{}, "usher prompts": promptsOutput{},
		"usher prompt": promptMessagesOutput{}, "usher approve": approveOutput{}, "usher version": versionOutput{},
		"usher run": runResult{}, "The table of servers": serverTable{}, "Trace files": traceLine{},
	}
}

// Commands are the commands a person sees, with all their flags.
func Commands() map[string][]string {
	commands := map[string][]string{}
	root := newRootCommand(&app{})
	for _, c := range append(root.Commands(), root) {
		if c.Hidden {
			continue
		}
		var flags []string
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		commands[c.Name()] = flags
	}
	return commands
}

// Trace writes frames to a trace file, as --trace does.
func Trace(path string, secrets config.Server, frames ...client.Frame) error {
	a := &app{traceFile: path, redactor: config.NewRedactor(secrets)}
	t, err := a.openTrace()
	if err != nil {
		return err
	}
	for _, f := range frames {
		t.hook()(f)
	}
	if err := t.close(); err != nil {
		return err
	}
	t.frame(client.Frame{Data: []byte("{}")}) // a session's last words may come late
	return nil
}
