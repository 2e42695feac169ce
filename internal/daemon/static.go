package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// static is the WebShell's files.
type static struct{ files fs.FS }

// page serves the WebShell. Its addresses keep the place behind the #, so each file has its own path and / is the page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("path")
	if name == "" {
		name = "index.html"
	}
	h := w.Header()
	if !fs.ValidPath(name) {
		return refuse("not_found", "There is no such file.", "")
	}
	f, err := s.web.files.Open(name)
	if errors.Is(err, fs.ErrNotExist) && name == "index.html" {
		http.Error(w, "This usher was built without its WebShell. The API and the command line work.", http.StatusNotFound)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("not_found", fmt.Sprintf("There is no /%s.", name), "The WebShell is at /.")
	}
	if err != nil {
		return fmt.Errorf("opening %s of the WebShell: %w", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	content, seeks := f.(io.ReadSeeker)
	switch {
	case err != nil:
		return fmt.Errorf("reading %s of the WebShell: %w", name, err)
	case info.IsDir() || !seeks:
		return refuse("not_found", fmt.Sprintf("There is no /%s.", name), "The WebShell is at /.")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Type", mediaType(name))
	switch {
	case strings.HasPrefix(name, "assets/"):
		h.Set("Cache-Control", "public, max-age=31536000, immutable") // their names change with their content
	default:
		h.Set("Cache-Control", "no-store")
	}
	if path.Ext(name) == ".html" {
		h.Set("Content-Security-Policy", s.pagePolicy(r.Host))
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	} else {
		// Opened by itself, an image that holds a script runs none.
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	}
	http.ServeContent(w, r, name, time.Time{}, content)
	return nil
}

// pagePolicy is the WebShell's Content-Security-Policy: scripts and styles from itself alone, and frames from where the
// sandbox is for a page on this host, which is nowhere if no place is safe.
func (s *Server) pagePolicy(host string) string {
	frames := s.names.sandboxOrigin(strings.ToLower(host))
	if frames == "" {
		frames = "'none'"
	}
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self' data: blob:",
		"media-src data: blob:",
		"font-src 'self'",
		"connect-src 'self'",
		"frame-src " + frames,
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	}, "; ")
}

func (s *Server) sandboxPage(w http.ResponseWriter, r *http.Request) error {
	s.sandbox.ServeHTTP(w, r)
	return nil
}

// mediaType does not ask the system, whose answer for .js may be text/plain.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}
