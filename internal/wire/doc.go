// Package wire carries JSON-RPC messages between a session and one MCP server over a pair of byte streams.
//
// A Conn reads tolerantly (noise, several messages a line, frames beyond the bound cost one line or one request,
// never the connection), writes from one goroutine so that no caller is held up by a peer that stops reading, and
// has two users side by side: the Go SDK, which sees it as an [mcp.Connection] and performs the handshake of the
// legacy era, and the raw request path ([Conn.Do]), which carries everything else with nothing decoded on the way.
//
// The SDK is shielded: answers to raw requests, progress, notifications and the server's questions are dealt with
// here, so that no malformed one reaches a handler of the SDK that would panic on it.
package wire
