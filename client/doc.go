// Package client holds one session with one MCP server, in either protocol era.
//
// Dial starts the configured server, learns which era to speak, and returns a Session. The wire protocol is
// the official Go SDK's; this package configures it, adds what it lacks, and lets none of its types out.
package client
