package apps

import (
	"encoding/json"
	"slices"
	"strings"
)

// MaxCSPBytes bounds the JSON of an app's [CSP], which travels in the query of the sandbox's URL: 8 KiB.
const MaxCSPBytes = 8 << 10

// HeaderOptions are the host's part of an app's policy.
type HeaderOptions struct {
	// Ancestors are the origins of the pages that may embed the app, such as "http://127.0.0.1:8765". With none,
	// no page may.
	Ancestors []string
	// Deny are origins that no app may reach whatever it declares: the host's own.
	Deny []string
}

// Header is the value of the Content-Security-Policy header that the app's frames live under (APP-08, APP-09). It
// starts from nothing: no network, no frames, no forms, no base, scripts and styles only from the app's own HTML
// (and blob: and data: URLs it makes itself). Declared origins are added where the extension says; whatever is not
// a whole ASCII origin is left out. It never holds 'self', which would match the host even from an opaque origin,
// and frames stay forbidden whatever the app declares: a frame's document would not inherit this policy. A nil CSP
// declares nothing.
func (c *CSP) Header(o HeaderOptions) string {
	if c == nil {
		c = &CSP{}
	}
	denied := parseAll(o.Deny)
	resources := allowed(c.ResourceDomains, denied)
	var b strings.Builder
	directive := func(name string, sources ...string) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name)
		for _, s := range sources {
			b.WriteByte(' ')
			b.WriteString(s)
		}
	}
	with := func(declared []string, own ...string) []string { return append(own, declared...) }

	directive("default-src", "'none'")
	directive("script-src", with(resources, "'unsafe-inline'", "blob:", "data:")...)
	directive("style-src", with(resources, "'unsafe-inline'", "blob:", "data:")...)
	directive("img-src", with(resources, "blob:", "data:")...)
	directive("font-src", with(resources, "blob:", "data:")...)
	directive("media-src", with(resources, "blob:", "data:")...)
	directive("connect-src", orNone(allowed(c.ConnectDomains, denied))...)
	directive("worker-src", "blob:")
	directive("frame-src", "'none'")
	directive("object-src", "'none'")
	directive("base-uri", orNone(allowed(c.BaseURIDomains, denied))...)
	directive("form-action", "'none'")
	directive("frame-ancestors", orNone(ancestors(o.Ancestors))...)
	directive("sandbox", "allow-scripts", "allow-forms")
	return b.String()
}

// ParseCSP reads the JSON of a CSP, such as the query of the sandbox's URL, and keeps only whole ASCII origins. ok
// is false when raw is no JSON object or longer than [MaxCSPBytes]; an empty raw declares nothing.
func ParseCSP(raw string) (csp *CSP, ok bool) {
	if raw == "" {
		return nil, true
	}
	if len(raw) > MaxCSPBytes || object(json.RawMessage(raw)) == nil {
		return nil, false
	}
	csp, _ = readCSP(json.RawMessage(raw))
	return csp, true
}

// readCSP keeps what is an origin. dropped holds the entries that are not, as the server wrote them, shortened and
// at most maxDropped of them.
func readCSP(raw json.RawMessage) (csp *CSP, dropped []string) {
	fields := object(raw)
	if fields == nil {
		return nil, nil
	}
	domains := func(name string) []string {
		var items []json.RawMessage
		if json.Unmarshal(fields[name], &items) != nil {
			return nil
		}
		var kept []string
		seen := map[string]bool{}
		for _, item := range items {
			var s string
			err := json.Unmarshal(item, &s)
			o, ok := parseOrigin(s)
			switch {
			case err != nil || !ok || o.ipv6:
				if err != nil {
					s = string(item) // no string at all
				}
				if len(dropped) < maxDropped {
					dropped = append(dropped, name+": "+brief(s))
				}
			case !seen[s]:
				seen[s] = true
				kept = append(kept, s)
			}
		}
		return kept
	}
	csp = &CSP{
		ConnectDomains: domains("connectDomains"), ResourceDomains: domains("resourceDomains"),
		FrameDomains: domains("frameDomains"), BaseURIDomains: domains("baseUriDomains"),
	}
	if csp.empty() {
		return nil, dropped
	}
	return csp, dropped
}

const maxDropped = 20

func (c *CSP) empty() bool {
	return len(c.ConnectDomains) == 0 && len(c.ResourceDomains) == 0 && len(c.FrameDomains) == 0 && len(c.BaseURIDomains) == 0
}

func (c *CSP) encodedSize() int {
	if c == nil {
		return 0
	}
	b, err := json.Marshal(c)
	if err != nil {
		return MaxCSPBytes + 1
	}
	return len(b)
}

// allowed are the declared origins that a policy can name and that reach none of the denied ones.
func allowed(declared []string, denied []origin) []string {
	var kept []string
	for _, s := range declared {
		o, ok := parseOrigin(s)
		if !ok || o.ipv6 || slices.Contains(kept, s) || slices.ContainsFunc(denied, o.covers) {
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

func parseAll(origins []string) []origin {
	var parsed []origin
	for _, s := range origins {
		if o, ok := parseOrigin(s); ok {
			parsed = append(parsed, o)
		}
	}
	return parsed
}

// ancestors are page origins as frame-ancestors can name them. A policy has no form for an IPv6 address, so such a
// page is named by its scheme and port; the sandbox's own check of the origin stays exact.
func ancestors(pages []string) []string {
	var kept []string
	for _, s := range pages {
		o, ok := parseOrigin(s)
		if !ok || o.wildcard || (o.scheme != "http" && o.scheme != "https") {
			continue
		}
		if o.ipv6 {
			s = o.scheme + "://*:" + o.port
		}
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func orNone(sources []string) []string {
	if len(sources) == 0 {
		return []string{"'none'"}
	}
	return sources
}
