package daemon

import (
	"net/http"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
)

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	sessions, err := s.sessions.Count(r.Context())
	if err != nil {
		return err
	}
	status := api.Status{
		Version: s.version, StartedAt: s.started, Sessions: sessions, CallsRunning: s.sessions.Running(),
		EventClients: int(s.streams.Load()), CatalogVersion: s.host.Catalog().Revision, SandboxSwap: s.listeners.SandboxSwap(),
		AppReadyMs:    s.appReady.Milliseconds(),
		QuestionsOpen: s.sessions.Questions(""), TurnsRunning: s.sessions.Turns(),
	}
	if m, ok := s.sessions.ModelInfo(); ok {
		status.Model = &api.ModelStatus{Name: m.Name, ContextTokens: int64(m.ContextTokens), Vision: m.Vision}
	}
	for _, server := range s.host.Servers() {
		status.Servers++
		if server.State == usher.StateReady {
			status.ServersReady++
		}
	}
	return respond(w, http.StatusOK, status)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return respond(w, http.StatusOK, api.Health{Status: "ok"})
}
