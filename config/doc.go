// Package config reads configuration files as data: it parses, expands, validates and merges them, and says of
// every value where it came from.
//
// Two dialects are read in place: usher.json and .mcp.json, both JSON with comments and trailing commas. A file
// that cannot be parsed costs that file; an entry that cannot work costs that server, which stays in the list
// with its [Server.Problem] so that a person sees why; everything else works. Each finding is a [Problem] with
// file, line, column and field.
//
// Parse and Merge do no I/O and read no environment: files are handed in as bytes and variables by a lookup
// function. [Load] is the thin part that finds and reads the files.
package config
