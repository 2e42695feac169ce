package cli

import (
	"testing"

	"github.com/usher-mcp/usher/client"
)

// However large a number a server gives, a line of progress stays a line.
func TestProgressLine(t *testing.T) {
	total := 1e300
	for want, p := range map[string]client.Progress{
		"0.5":                 {Progress: 0.5},
		"3/1e+300 half way":   {Progress: 3, Total: &total, Message: "half\tway"},
		"123456789012":        {Progress: 123456789012},
		"-1.23457e+20 a line": {Progress: -123456789012345678901, Message: "a\nline"},
	} {
		if got := progressLine(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
