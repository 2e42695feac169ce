// Package conformance is the client under test of the official MCP conformance suite. Its test runs every client
// scenario of every released version of the specification, each in a process of its own, and counts only what was
// really checked: a scenario passes when the client ended well and at least one check succeeded and none failed.
package conformance
