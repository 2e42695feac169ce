// Command usher is an MCP host: it runs the tools of MCP servers from a terminal and in a browser.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/usher-mcp/usher/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}
