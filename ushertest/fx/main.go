// Command fx is the scriptable MCP server of package ushertest as a program; see there for its flags.
package main

import (
	"context"
	"os"

	"github.com/usher-mcp/usher/ushertest"
)

func main() {
	ushertest.Main() // --child starts this program again
	os.Exit(ushertest.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
