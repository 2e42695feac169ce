// Package nearest finds the known name that a misspelt one most likely meant, for messages that say so.
package nearest

import "strings"

// maxLength bounds the names that are compared; longer ones have no near name.
const maxLength = 128

// Name returns the member of known that is closest to name, or "" when none is close enough to be worth
// suggesting: at most a third of the longer name may differ, and always less than the whole of it. Case and
// the separators - _ . and space do not count. Of equally close names the first wins.
func Name(name string, known []string) string {
	if name == "" || len(name) > maxLength {
		return ""
	}
	folded := fold(name)
	best, bestDistance := "", -1
	for _, candidate := range known {
		if len(candidate) > maxLength {
			continue
		}
		other := fold(candidate)
		limit := max(len(folded), len(other)) / 3
		d := distance(folded, other)
		if d > limit && !(len(folded) >= 4 && strings.HasPrefix(string(other), string(folded))) {
			continue
		}
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func fold(s string) []rune {
	s = strings.ToLower(s)
	return []rune(strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ' ':
			return -1
		}
		return r
	}, s))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b
// (optimal string alignment).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
