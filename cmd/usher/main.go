// Command usher is an MCP host: it runs the tools of MCP servers from a terminal and in a browser.
package main

import (
	"context"
	"os"

	"github.com/usher-mcp/usher/internal/cli"
)

func main() { os.Exit(cli.Run(context.Background())) }
