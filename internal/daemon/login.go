package daemon

import (
	"net/http"
	"time"

	"github.com/usher-mcp/usher/internal/api"
)

func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	var request api.LoginRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if request.Code == "" {
		return invalid("code", "it is missing")
	}
	if !s.codes.use(request.Code) {
		return refuse(codeBadCode, "This code has been used already, or is too old.", "Get a new one: usher open.")
	}
	http.SetCookie(w, s.keys.newCookie(time.Now()))
	return noContent(w)
}

func (s *Server) createLoginCode(w http.ResponseWriter, _ *http.Request) error {
	code, expires := s.codes.mint()
	return respond(w, http.StatusCreated, api.LoginCode{Code: code, URL: s.loginURL(code), ExpiresAt: expires.UTC()})
}
