package apps_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/apps"
)

// parse reads a policy as browsers do: directives at ';', sources at ASCII whitespace.
func parse(t testing.TB, header string) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	for directive := range strings.SplitSeq(header, ";") {
		words := strings.FieldsFunc(directive, func(r rune) bool { return strings.ContainsRune("\t\n\f\r ", r) })
		if len(words) == 0 {
			t.Fatalf("an empty directive in %q", header)
		}
		if _, twice := got[words[0]]; twice {
			t.Fatalf("%s stands twice in %q", words[0], header)
		}
		got[words[0]] = words[1:]
	}
	return got
}

func bare() map[string][]string {
	return map[string][]string{
		"default-src":     {"'none'"},
		"script-src":      {"'unsafe-inline'", "blob:", "data:"},
		"style-src":       {"'unsafe-inline'", "blob:", "data:"},
		"img-src":         {"blob:", "data:"},
		"font-src":        {"blob:", "data:"},
		"media-src":       {"blob:", "data:"},
		"connect-src":     {"'none'"},
		"worker-src":      {"blob:"},
		"frame-src":       {"'none'"},
		"object-src":      {"'none'"},
		"base-uri":        {"'none'"},
		"form-action":     {"'none'"},
		"frame-ancestors": {"'none'"},
		"sandbox":         {"allow-scripts", "allow-forms"},
	}
}

func TestHeaderWithNothingDeclared(t *testing.T) {
	t.Parallel()
	for _, csp := range []*apps.CSP{nil, {}} {
		if diff := cmp.Diff(bare(), parse(t, csp.Header(apps.HeaderOptions{}))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestHeaderMapsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	csp := &apps.CSP{
		ConnectDomains:  []string{"https://api.example.com", "wss://live.example.com:8443"},
		ResourceDomains: []string{"https://*.cdn.example.com", "https://*.cdn.example.com"},
		FrameDomains:    []string{"https://www.example.com"},
		BaseURIDomains:  []string{"https://base.example.com"},
	}
	want := bare()
	want["connect-src"] = csp.ConnectDomains
	for _, name := range []string{"script-src", "style-src", "img-src", "font-src", "media-src"} {
		want[name] = append(want[name], "https://*.cdn.example.com")
	}
	want["base-uri"] = csp.BaseURIDomains
	want["frame-ancestors"] = []string{"http://127.0.0.1:8765"}
	got := parse(t, csp.Header(apps.HeaderOptions{Ancestors: []string{"http://127.0.0.1:8765"}}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames stay forbidden, all else follows the extension: %s", diff)
	}
}

// Every one of these is dropped, and nothing of it shows in the header.
var notOrigins = []string{
	"", " ", "*", "https:", "https://", "//evil.example", "evil.example", "evil.example:443", "https://*", "https://*.com", "*.evil.example",
	"'self'", "'none'", "'unsafe-eval'", "'strict-dynamic'", "data:", "blob:", "filesystem:", "javascript://evil.example", "file://evil.example", "ftp://evil.example", "chrome-extension://evil",
	"https://evil.example; script-src *", "https://evil.example;", ";", "https://evil.example,https://b.example", ",", "https://evil.example https://b.example",
	"https://evil.example\tx", "https://evil.example\nx", "https://evil.example\r\nX-Injected: 1", "https://evil.example\x00", "https://evil.example\u00a0x", "\u2028https://evil.example",
	" https://evil.example", "https://evil.example ", "https://evil\"", "https://evil'", "https://evil`", "https://evil.example\\", "https://evil<b>", "https://evil%2eexample", "https://e*il.example", "https://**.evil.example", "https://*.*.evil.example",
	"https://evil.example.", "https://.evil.example", "https://evil..example", "https://-evil.example", "https://evil-.example", "https://-", "https://..", "https://evil_1.example",
	"https://user@evil.example", "https://user:pw@evil.example", "https://@evil.example",
	"https://evil.example/", "https://evil.example/path", "https://evil.example?q", "https://evil.example#f", "https:/evil.example", "https:///evil.example",
	"https://evil.example:", "https://evil.example:0", "https://evil.example:65536", "https://evil.example:99999999", "https://evil.example:*", "https://evil.example:80:80", "https://evil.example:+80", "https://evil.example:8o", "https://evil.example:٨٠", "https://evil.example:000443",
	"https://[::1]", "https://[::1]:8765", "https://[fe80::1%25eth0]", "https://[::1", "https://::1", "https://[::ffff:127.0.0.1]",
	"https://1.2.3.4", "http://127.1", "http://2130706433", "http://0x7f.1", "http://127.0.0.0x1", "http://*.0.0.1", "http://0.0.0.0",
	"https://\u212a.example", "https://evil.ex\u0430mple", "http\u017f://evil.example", "https://ev\u0131l.example", "https://evil\u3002example", "https://evil\uff0eexample", "https\uff1a//evil.example", "https://evil.example\uff1b", "HTTP\u017f://evil.example", "https://ﬁ.example", "https://evil\u00ad.example", "https://évil.example",
	"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 127) + "example",
}

func TestHeaderDropsWhatIsNoWholeOrigin(t *testing.T) {
	t.Parallel()
	for _, s := range notOrigins {
		csp := &apps.CSP{ConnectDomains: []string{s}, ResourceDomains: []string{s}, FrameDomains: []string{s}, BaseURIDomains: []string{s}}
		if diff := cmp.Diff(bare(), parse(t, csp.Header(apps.HeaderOptions{}))); diff != "" {
			t.Errorf("%q got into the header: %s", s, diff)
		}
		raw, err := json.Marshal(csp)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := apps.ParseCSP(string(raw)); !ok || got != nil {
			t.Errorf("ParseCSP with %q = %+v, %v", s, got, ok)
		}
	}
}

func TestOneBadEntryCostsOnlyItself(t *testing.T) {
	t.Parallel()
	csp := &apps.CSP{ConnectDomains: append([]string{"https://good.example"}, notOrigins...)}
	want := bare()
	want["connect-src"] = []string{"https://good.example"}
	if diff := cmp.Diff(want, parse(t, csp.Header(apps.HeaderOptions{}))); diff != "" {
		t.Error(diff)
	}
}

func TestOriginsAreKeptAsWritten(t *testing.T) {
	t.Parallel()
	origins := []string{
		"https://a.example", "HTTPS://A.Example:443", "http://localhost", "http://localhost:3000", "http://127.0.0.1:3000", "ws://a.example:1",
		"wss://xn--bcher-kva.example", "https://*.openstreetmap.org", "https://a-b.c-d.example:65535", "https://1st.example", "https://intranet",
	}
	got := parse(t, (&apps.CSP{ConnectDomains: origins}).Header(apps.HeaderOptions{}))["connect-src"]
	if diff := cmp.Diff(origins, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoAppReachesADeniedOrigin(t *testing.T) {
	t.Parallel()
	options := apps.HeaderOptions{Deny: []string{"http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765", "https://usher.example"}}
	denied := []string{
		"http://localhost:8765", "HTTP://LocalHost:8765", "ws://localhost:8765", "wss://127.0.0.1:8765", "https://localhost:08765", "http://*.localhost:8765",
		"http://a.localhost:8765", "http://*.b.localhost:8765", "https://usher.example", "https://usher.example:443", "http://usher.example", "wss://usher.example",
	}
	for _, s := range denied {
		csp := &apps.CSP{ConnectDomains: []string{s}, ResourceDomains: []string{s}, BaseURIDomains: []string{s}}
		if diff := cmp.Diff(bare(), parse(t, csp.Header(options))); diff != "" {
			t.Errorf("%q reaches the host: %s", s, diff)
		}
	}
	free := []string{"http://localhost:3000", "http://127.0.0.1", "https://usher.example:8443", "https://other.example", "http://notlocalhost:8765", "https://*.usher.example"}
	got := parse(t, (&apps.CSP{ConnectDomains: free}).Header(options))["connect-src"]
	if diff := cmp.Diff(free, got); diff != "" {
		t.Errorf("others stay reachable: %s", diff)
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	got := parse(t, (*apps.CSP)(nil).Header(apps.HeaderOptions{Ancestors: []string{
		"http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765", "http://127.0.0.1:8765", "https://usher.example",
		"https://*.example.com", "ws://localhost:8765", "http://x; script-src *", "null", "*",
	}}))["frame-ancestors"]
	want := []string{"http://127.0.0.1:8765", "http://localhost:8765", "http://*:8765", "https://usher.example"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseCSP(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"x", "[]", "7", "null", `"x"`, `{"connectDomains":`, `{"a":"` + strings.Repeat("x", apps.MaxCSPBytes) + `"}`} {
		if csp, ok := apps.ParseCSP(bad); ok || csp != nil {
			t.Errorf("ParseCSP(%.40q) = %v, %v", bad, csp, ok)
		}
	}
	for _, empty := range []string{"", "{}", `{"connectDomains":"https://a.example"}`, `{"connectDomains":[1,{}]}`} {
		if csp, ok := apps.ParseCSP(empty); !ok || csp != nil {
			t.Errorf("ParseCSP(%q) = %v, %v", empty, csp, ok)
		}
	}
}

// One source expression as CSP 3 writes it, classes spelt out.
var expression = regexp.MustCompile(`^[A-Za-z]+://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]+)?$`)

// FuzzHeader: whatever the metadata says, the header parses back to exactly the directives intended.
func FuzzHeader(f *testing.F) {
	for _, s := range notOrigins {
		f.Add(s, "https://good.example")
	}
	f.Add("https://a.example", "wss://b.example:1")
	f.Fuzz(func(t *testing.T, a, b string) {
		raw, err := json.Marshal(map[string]any{
			"connectDomains": []string{a, b}, "resourceDomains": []string{b, a}, "frameDomains": []string{a}, "baseUriDomains": []string{b},
		})
		if err != nil {
			t.Skip()
		}
		parsed, _ := apps.ParseCSP(string(raw))
		direct := &apps.CSP{ConnectDomains: []string{a, b}, ResourceDomains: []string{b, a}, FrameDomains: []string{a}, BaseURIDomains: []string{b}}
		for _, csp := range []*apps.CSP{parsed, direct} {
			header := csp.Header(apps.HeaderOptions{Deny: []string{"http://localhost:8765"}})
			if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' || r == ',' }) {
				t.Fatalf("not printable ASCII, or a second policy: %q", header)
			}
			got, want := parse(t, header), bare()
			if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
				t.Fatalf("directives %q", g)
			}
			for name, sources := range got {
				own, declared := want[name], sources
				switch {
				case name == "connect-src" || name == "base-uri":
					if slices.Equal(sources, own) {
						continue
					}
				case len(sources) >= len(own) && slices.Equal(sources[:len(own)], own):
					declared = sources[len(own):]
				default:
					t.Fatalf("%s lost its own sources: %q", name, sources)
				}
				open := slices.Contains([]string{"connect-src", "base-uri", "script-src", "style-src", "img-src", "font-src", "media-src"}, name)
				for _, s := range declared {
					if !open || !expression.MatchString(s) || s != a && s != b {
						t.Fatalf("%s has the source %q", name, s)
					}
				}
			}
		}
	})
}
