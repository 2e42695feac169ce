// Package sandbox serves the page that stands between the WebShell and an app: a static document, open before
// authentication, that holds nothing but a message relay. The response header, not the page, is what confines the
// app, so the header is built here, from what the app declares, by the rules of package apps.
package sandbox

import (
	_ "embed" // the page
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/usher-mcp/usher/apps"
)

//go:embed page.html
var page []byte

// Options configure the route.
type Options struct {
	// Origins are the origins that the WebShell's page may have, such as "http://127.0.0.1:8765". Only they may
	// embed an app, and no app may reach them.
	Origins []string
}

// Handler serves GET and HEAD (M19, M22, V8). The query may hold host, the origin of the embedding page, which must
// be one of Options.Origins, and csp, the JSON of an [apps.CSP] of at most [apps.MaxCSPBytes]. Without a host the
// page does nothing and may not be framed. A query that is none of that, and a request made to load the page as
// anything but a document or a frame, are refused. No response is stored, and none holds anything secret.
func Handler(o Options) http.Handler {
	origins := slices.Clone(o.Origins)
	denied := withLoopbacks(origins)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-DNS-Prefetch-Control", "off")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=(), display-capture=(), payment=()")
		h.Set("Vary", "Sec-Fetch-Dest")
		// Until the query is known to be good, nothing is allowed to anyone.
		h.Set("Content-Security-Policy", (*apps.CSP)(nil).Header(apps.HeaderOptions{}))

		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the sandbox page is only read", http.StatusMethodNotAllowed)
			return
		}
		if !loadedAsPage(r.Header.Values("Sec-Fetch-Dest")) {
			http.Error(w, "the sandbox page is a document, nothing else", http.StatusForbidden)
			return
		}
		query, problem := parseQuery(r.URL.RawQuery, origins)
		if problem != "" {
			http.Error(w, problem, http.StatusBadRequest)
			return
		}
		options := apps.HeaderOptions{Deny: append(slices.Clone(denied), "http://"+r.Host, "https://"+r.Host)}
		if query.host != "" {
			options.Ancestors = []string{query.host}
		}
		h.Set("Content-Security-Policy", query.csp.Header(options))
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(page)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(page) // the reader left; there is nobody to tell
		}
	})
}

type request struct {
	host string
	csp  *apps.CSP
}

// parseQuery refuses whatever the page's own reading of the same query could understand otherwise: broken escapes,
// ';' and a name that stands twice.
func parseQuery(raw string, origins []string) (q request, problem string) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, "the query is malformed"
	}
	for name, given := range values {
		if name != "host" && name != "csp" {
			return q, "the query may hold host and csp"
		}
		if len(given) > 1 {
			return q, name + " is given twice"
		}
	}
	q.host = values.Get("host")
	if values.Has("host") && !slices.Contains(origins, q.host) {
		return q, "host is no origin of this daemon's page"
	}
	csp, ok := apps.ParseCSP(values.Get("csp"))
	if !ok {
		return q, "csp must be a JSON object of at most " + strconv.Itoa(apps.MaxCSPBytes) + " bytes"
	}
	q.csp = csp
	return q, ""
}

// loadedAsPage looks at what the browser says the request is for. Clients that are no browsers do not say.
func loadedAsPage(dest []string) bool {
	return len(dest) == 0 || len(dest) == 1 && slices.Contains([]string{"iframe", "document", "empty"}, dest[0])
}

// withLoopbacks adds, to an origin on a loopback name, the other two on its port: they reach the same daemon.
func withLoopbacks(origins []string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	all := slices.Clone(origins)
	for _, s := range origins {
		u, err := url.Parse(s)
		if err != nil || !slices.Contains(names, u.Hostname()) {
			continue
		}
		for _, host := range []string{"localhost", "127.0.0.1"} { // a policy cannot name [::1]
			other := u.Scheme + "://" + host
			if u.Port() != "" {
				other += ":" + u.Port()
			}
			all = append(all, other)
		}
	}
	return all
}
