package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTitle bounds a session's title, in characters.
	MaxTitle = 200
	// derivedTitle bounds a title that is made from the first words.
	derivedTitle = 60
)

// cleanTitle is a title on one line without control characters.
func cleanTitle(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// titleFrom makes a title from the first words of a text, cut between words where it can be.
func titleFrom(text string) string {
	// What is far beyond the title need not be cleaned.
	if len(text) > 16*derivedTitle {
		text = text[:16*derivedTitle]
	}
	text = cleanTitle(text)
	if utf8.RuneCountInString(text) <= derivedTitle {
		return text
	}
	cut := string([]rune(text)[:derivedTitle])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}
