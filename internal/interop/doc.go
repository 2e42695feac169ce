// Package interop holds no code but tests: the client against servers built on every SDK that people build on,
// each in every era it speaks.
package interop
