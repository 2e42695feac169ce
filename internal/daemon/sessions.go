package daemon

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
)

const (
	defaultSessions = 50
	maxSessions     = 200
)

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := number(query, "limit", 1, maxSessions, defaultSessions)
	if err != nil {
		return err
	}
	page := conversation.Page{Limit: int(limit) + 1}
	if page.Archived, err = boolean(query, "archived"); err != nil {
		return err
	}
	if cursor := query.Get("cursor"); cursor != "" {
		if page.BeforeTime, page.BeforeID, err = parseCursor(cursor); err != nil {
			return err
		}
	}
	found, err := s.sessions.List(r.Context(), page)
	if err != nil {
		return err
	}
	list := api.SessionList{Sessions: []api.Session{}}
	for i, one := range found {
		if i == int(limit) {
			last := found[i-1]
			list.NextCursor = makeCursor(last.UpdatedAt, last.ID)
			break
		}
		list.Sessions = append(list.Sessions, s.session(one))
	}
	return respond(w, http.StatusOK, list)
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	var request api.CreateSessionRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	made, err := s.sessions.Create(r.Context(), request.Title)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/sessions/"+made.ID)
	return respond(w, http.StatusCreated, s.session(made))
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	found, err := s.sessions.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, s.session(found))
}

func (s *Server) updateSession(w http.ResponseWriter, r *http.Request) error {
	var request api.UpdateSessionRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	id := r.PathValue("id")
	if request.Title != nil {
		if err := s.sessions.Rename(r.Context(), id, *request.Title); err != nil {
			return err
		}
	}
	if request.Archived != nil {
		if err := s.sessions.Archive(r.Context(), id, *request.Archived); err != nil {
			return err
		}
	}
	return s.getSession(w, r)
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	if err := s.sessions.Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) compact(w http.ResponseWriter, r *http.Request) error {
	if err := decode(r, &struct{}{}); err != nil {
		return err
	}
	id := r.PathValue("id")
	emptied, err := s.sessions.Compact(r.Context(), id)
	if err != nil {
		return err
	}
	summarized, err := s.sessions.Summarize(r.Context(), id)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, api.Compacted{Displays: emptied, Summarized: summarized})
}

func (s *Server) session(c conversation.Session) api.Session {
	return api.Session{
		ID: c.ID, Title: c.Title, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		Archived: c.Archived, LastEventID: c.LastEventID, Questions: s.sessions.Questions(c.ID),
	}
}

// A cursor names the last session of a page. It is nothing to build on.
func makeCursor(updated time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(updated.UnixMilli(), 10) + " " + id))
}

func parseCursor(cursor string) (time.Time, string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, found := strings.Cut(string(text), " ")
	ms, numErr := strconv.ParseInt(at, 10, 64)
	if err != nil || !found || numErr != nil {
		return time.Time{}, "", invalid("cursor", "it is not the nextCursor of a page")
	}
	return time.UnixMilli(ms), id, nil
}

// number reads a whole number from the query.
func number(query url.Values, name string, least, most, otherwise int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, invalid(name, "want a whole number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return n, nil
}

func boolean(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, invalid(name, "want true or false")
	}
}
