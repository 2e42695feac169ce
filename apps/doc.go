// Package apps holds the rules of the MCP Apps extension (io.modelcontextprotocol/ui) that need no browser and no
// network: which resource a tool names as its app and who may see the tool, whether what a server returned is an
// app, which origins its page may reach, and what of an app outlives the compaction of a session.
//
// Everything it is given was written by a server and is taken for hostile.
package apps
