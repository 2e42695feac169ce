// Package conversation keeps sessions: what a person asked for in each, what ran, and how it ended.
//
// A session is an append-only log of events with ids that start at 1 and have no gaps. The log is the truth: a page
// that is reloaded, a second browser and a stream that was cut all read it from the [Store]. What [Sessions.Watch]
// tells is only a hint that there is more to read, so a reader may be slow, or miss every hint but the last, and still
// sees each event once and in order; it cannot slow the writer.
//
// A call belongs to the session, not to whoever asked for it: it goes on when the browser is closed. For each
// call.requested the log gets exactly one call.finished. A call that ran when the process ended is given one with the
// outcome "unknown" by the next [Open].
//
// With a [Model], a person's message begins a turn: a request to the model, the calls of tools that it asks for, their
// results, and so on until it has nothing more to do. What the model is told is folded from the log and from nothing
// else, so a turn that broke off, a restart or another process continue the same conversation. Long results are shortened
// for the model, which reads on in them with a tool of its own, and when its context fills up, the beginning of what it
// sees is replaced by a summary; the log keeps everything.
//
// What only a person can say is a question. It waits at a [Desk], is part of its session's log, and is answered once.
package conversation
