//go:build unix

package client_test

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
)

// A command that is no MCP server is told by what it printed, at once even when it never stops.
func TestNoiseIsTheDiagnosis(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"one line, then it ends":  {"echo usage: server FILE", "a line that is no MCP message, the first: usage: server FILE"},
		"some lines, then silent": {"echo one; echo two; read x; exit 3", "2 lines that are no MCP messages, the first: one"},
		"without end":             {"exec yes garbage", "the first: garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := config.Server{Name: "s", Type: config.TypeStdio, Command: "sh", Args: []string{"-c", c.script}}
			session, err := client.Dial(t.Context(), spec, client.Options{})
			if err == nil {
				_ = session.Close(t.Context())
			}
			e := wantError(t, err, client.PhaseHandshake, client.CodeUnavailable)
			if !strings.Contains(e.Message, c.want) || !strings.Contains(e.Hint, "writes only messages to stdout") {
				t.Errorf("message %q, hint %q", e.Message, e.Hint)
			}
			if endless := strings.Contains(e.Message, "without end"); endless != (name == "without end") {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}
