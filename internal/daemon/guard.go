package daemon

import (
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds a request's body unless its route says otherwise, in bytes.
const maxBody = 1 << 20

// ServeHTTP is the way every request goes: whose name it asks for, then to its route, which asks who it is from.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if !s.names.allowed(r.Host) {
		s.fail(w, r, refuse(codeHost, "This is not a name of this daemon.",
			"Use the address that it printed, or allow this name with --allow-host."))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serve answers one request of a route.
func (s *Server) serve(route Route, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	err := s.admit(route, w, r)
	if err == nil {
		err = route.handle(s, w, r)
	}
	if err != nil {
		s.fail(w, r, err)
	}
	s.log.Debug("request", slog.String("route", route.Method+" "+route.Pattern), slog.Duration("took", time.Since(began)), slog.Any("error", err))
}

// admit checks everything about a request that does not depend on what it asks for.
func (s *Server) admit(route Route, w http.ResponseWriter, r *http.Request) error {
	if route.Auth == AuthNone {
		return nil
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("Cache-Control", "no-store")
	if err := s.checkOrigin(r); err != nil {
		return err
	}
	if err := s.checkPerson(route, w, r); err != nil {
		return err
	}
	if err := checkMediaType(r); err != nil {
		return err
	}
	limit := route.MaxBody
	if limit == 0 {
		limit = maxBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	control := http.NewResponseController(w)
	// A response that is no real connection's has no deadlines; nothing waits for it either.
	_ = control.SetReadDeadline(time.Now().Add(readBodyTimeout))
	return nil
}

// checkOrigin refuses what a page of another origin asks for, and what an app in its opaque frame does. Browsers leave
// Origin out of some requests that read; there they say what the request comes from in Sec-Fetch-Site.
func (s *Server) checkOrigin(r *http.Request) error {
	refused := refuse(codeOrigin, "Requests from other pages are not answered.", "Open the WebShell at the address that the daemon printed.")
	for _, origin := range r.Header.Values("Origin") {
		scheme, host, found := strings.Cut(origin, "://")
		if !found || scheme != "http" && scheme != "https" || !strings.EqualFold(host, r.Host) {
			return refused
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return refused
		}
	}
	return nil
}

func (s *Server) checkPerson(route Route, w http.ResponseWriter, r *http.Request) error {
	if route.Auth == AuthCode {
		return nil // the code in the body is what it asks for
	}
	given, ok := s.keys.bearer(r)
	switch {
	case ok:
		return nil
	case !given && s.keys.cookieOK(r, time.Now()):
		if route.Auth == AuthBearer {
			return refuse(codeBearerOnly, "This needs the bearer token; a browser's cookie is not enough.", "")
		}
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="usher"`)
	return refuse(codeNoLogin, "Log in first.", "Run: usher open. Programs send the token from the token file: Authorization: Bearer TOKEN.")
}

// checkMediaType refuses bodies that are not JSON: a form of another page can send text/plain without being asked.
func checkMediaType(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	header := r.Header.Get("Content-Type")
	if header == "" && r.ContentLength == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refuse(codeMediaType, "The body must be JSON.", "Send Content-Type: application/json.")
	}
	return nil
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, wire := describe(err)
	if wire.Code == codeInternal {
		s.log.Error("request failed", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	writeProblem(w, status, wire)
}
