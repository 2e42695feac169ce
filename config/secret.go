package config

// Secret is a string that must not be printed: every fmt verb, JSON and slog show "•••".
// Reveal is the one way to its text.
type Secret string

// Reveal returns the text itself. Call it only where the text leaves for its destination.
func (s Secret) Reveal() string { return string(s) }
