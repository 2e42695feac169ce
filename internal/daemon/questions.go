package daemon

import (
	"net/http"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
)

func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	var request api.AnswerRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := require("action", request.Action); err != nil {
		return err
	}
	err := s.sessions.Answer(r.Context(), r.PathValue("id"), usher.Answer{
		Action: request.Action, Content: request.Content, By: request.By,
	})
	if err != nil {
		return err
	}
	return noContent(w)
}
