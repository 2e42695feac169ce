// Package stdio launches one MCP server as a child process and ends it with everything it started.
//
// Start gives the server three pipes, a session of its own without a terminal and a small environment, and returns a
// Process.
// Whoever started a Process must call Close, also after Done: only Close gives the pipes back.
//
// # Ending
//
// Close follows the shutdown order of the protocol (STD-10): stdin is closed, the server gets time to leave, then its
// group gets SIGTERM, then SIGKILL, all inside one bound. Descendants are ended too, those that left the group included:
// on Linux and macOS they are found in the process table by parent, group and (Linux) session and a marker in their
// environment, and signalled by pid and start time together, so that a recycled pid is never hit. On Windows a job
// object does this. One that has done all it can to be unknown, by leaving its parent, its session and its environment
// while the server ran, is not found on Linux and macOS. (To adopt every orphan, as Linux lets a process, would change
// the whole program of whoever uses the host as a library.)
// A server that exits by itself has its leftovers ended in the same way, at once.
//
// # When the host dies
//
// On Linux the kernel kills the server when the host is gone. For what that does not reach, a Ledger records each
// running process on disk, and Reap ends the leftovers of dead hosts at the next start.
package stdio
