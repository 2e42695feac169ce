package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask is what stands in the place of a secret.
const Mask = "•••"

// Secret is a string that must not be printed: the fmt verbs, JSON, text encodings and slog show "•••".
// Reveal is the one way to its text. Three things escape a string type, so do not do them: package fmt prints
// an unexported field, and a field behind a nested pointer, without asking it; package json writes the key of a
// map as it is; and %p, which go vet refuses, prints the text.
type Secret string

var (
	_ fmt.Formatter  = Secret("")
	_ fmt.GoStringer = Secret("")
	_ slog.LogValuer = Secret("")
)

// Reveal returns the text itself. Call it only where the text leaves for its destination.
func (s Secret) Reveal() string { return string(s) }

// Format writes the mask, whatever the verb and its flags.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) }

// String returns the mask.
func (s Secret) String() string { return Mask }

// GoString returns the mask.
func (s Secret) GoString() string { return Mask }

// MarshalJSON encodes the mask.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalText encodes the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Mask) }
