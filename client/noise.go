package client

import (
	"errors"
	"fmt"

	"github.com/usher-mcp/usher/internal/wire"
)

// explainNoise adds to a failure what the server wrote to its stdout that is no message: more often than not it is the
// reason, because the command is no MCP server, or logs where only messages belong (STD-04).
func (s *Session) explainNoise(e *Error, err error) {
	if s.conn == nil || e.RPC != nil || e.Code == CodeCancelled {
		return
	}
	st := s.conn.Stats()
	endless := errors.Is(err, wire.ErrNoise)
	if st.Noise == 0 || len(st.Samples) == 0 {
		return
	}
	if endless {
		e.Message = wire.ErrNoise.Error()
		if e.Phase == PhaseCall && e.Code == CodeUnknown {
			e.Message += "; the tool may have run"
		}
	}
	lines := "a line that is no MCP message"
	if st.Noise > 1 {
		lines = fmt.Sprintf("%d lines that are no MCP messages", st.Noise)
	}
	e.Message += fmt.Sprintf("; on stdout it wrote %s, the first: %s", lines, s.redactor.String(st.Samples[0]))
	if e.Hint == "" || endless || e.Phase == PhaseHandshake || e.Phase == PhaseProbe {
		e.Hint = "Is this command an MCP server that speaks over stdio? Such a server writes only messages to stdout; its logs belong on stderr."
	}
}
