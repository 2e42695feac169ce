package cli

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words as a POSIX shell does, without expanding anything: spaces
// separate, '…' is literal, "…" is literal but for \" \\ \$ and \`, and \ keeps the next character.
func splitWords(s string) ([]string, error) {
	var (
		words  []string
		word   strings.Builder
		inWord bool
		quote  rune
	)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote == '\'' && r == '\'', quote == '"' && r == '"':
			quote = 0
		case quote == '\'':
			word.WriteRune(r)
		case r == '\\':
			i++
			if i == len(runes) {
				return nil, errors.New(`it ends in a "\"`)
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", runes[i]) {
				word.WriteRune('\\')
			}
			word.WriteRune(runes[i])
			inWord = true
		case quote == '"':
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a " + string(quote) + " is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
