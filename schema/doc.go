// Package schema prepares tools for models: names and JSON Schemas that every model API accepts.
//
// A server's schema is written for validators; model APIs accept parts of JSON Schema, and a request with one
// schema they refuse is refused whole. [Normalise] rewrites a copy of a schema for a [Profile], moves constraints
// that cannot stay into descriptions, where the model still reads them, and tells each change. The original stays
// what arguments are checked against ([Compile]) and what people are shown.
//
// Schemas come from servers and may be hostile. Everything here is bounded: [MaxBytes], [MaxDepth] and [MaxNodes]
// for what is read and what is written, [MaxWork] for what validating may cost. References to other documents are
// never followed (BASE-31). No schema costs the tool: what cannot be used becomes an object with any members.
//
// The dialects that [Compile] knows are 2020-12, which is also what a schema without $schema is, and draft-07
// (BASE-28 to BASE-30).
package schema
