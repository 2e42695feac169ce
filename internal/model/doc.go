// Package model speaks to a language model by the OpenAI chat completions API, which most servers of models offer.
//
// [Client.Stream] sends the messages and tools of one step and receives one answer: text and reasoning as they
// come, calls of tools put together from their fragments, and usage. A step is retried only as long as nothing of
// its answer has been passed on. Everything received is bounded, and cancelling ctx ends the request at once.
//
// Errors are of type [*Error]: what went wrong by kind, and the next step for the person. The key is in none of
// them, even when the server repeats it.
//
// The client is written here rather than taken from a library, because servers differ at the edges: reasoning comes
// under several names, calls without an index, keep-alive comments and errors within a stream; and a stream that
// was cut must not look like one that ended.
package model
