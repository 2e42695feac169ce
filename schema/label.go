package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxLabel is the longest tool name that the strictest model APIs accept, in bytes.
const MaxLabel = 64

// hashLen is how many hex digits tell shortened or rewritten labels apart.
const hashLen = 8

// Label is the name a model sees for a tool: server__tool in [A-Za-z0-9_-], at most [MaxLabel] bytes.
// It depends on nothing but its two arguments, so that it is the same in every run and prompt caches hold.
// Where the plain form would lose or could confuse something, a hash of both names is appended: two different
// (server, tool) pairs never share a plain label, and share a hashed one only if the hash collides.
func Label(server, tool string) string {
	s, sOK := clean(server)
	t, tOK := clean(tool)
	label := s + "__" + t
	// The first "__" must be the separator, else ("a", "b__c") and ("a__b", "c") would meet.
	plain := sOK && tOK && len(label) <= MaxLabel && !strings.Contains(s, "__") && !strings.HasSuffix(s, "_")
	if plain {
		return label
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:])[:hashLen]
	// Keep the head of the server and as much of the tool as fits: the tool's name says more to a model.
	room := MaxLabel - len(suffix)
	if len(label) > room {
		keep := max(room-2-len(t), min(len(s), 16))
		s = s[:min(len(s), keep)]
		t = t[:min(len(t), room-2-len(s))]
		label = s + "__" + t
	}
	return label + suffix
}

// clean replaces every character outside [A-Za-z0-9_-] and says whether there was none.
func clean(name string) (string, bool) {
	ok := name != ""
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		ok = false
		return '_'
	}, name)
	return out, ok
}
