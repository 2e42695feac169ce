package daemon_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/usher-mcp/usher/internal/daemon"
	"github.com/usher-mcp/usher/web"
)

func TestThePageIsServedUnderItsPolicy(t *testing.T) {
	f := start(t, setup{})
	for _, test := range []struct{ path, kind, cache string }{
		{"/", "text/html; charset=utf-8", "no-store"},
		{"/index.html", "text/html; charset=utf-8", "no-store"},
		{"/assets/main-abc12.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/icon.svg", "image/svg+xml", "no-store"},
	} {
		a := f.send(f.request("GET", test.path, nil))
		h := a.Header
		if a.StatusCode != 200 || h.Get("Content-Type") != test.kind || h.Get("Cache-Control") != test.cache ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %s %v", test.path, a.Status, h)
		}
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: policy %q", test.path, policy)
		}
	}
	for _, path := range []string{"/../go.mod", "/%2e%2e/go.mod", "/assets/../index.html/x", "/.env", "/assets//"} {
		if a := f.send(f.request("GET", path, nil)); a.StatusCode == 200 && !strings.Contains(string(a.body), "<title>Usher") {
			t.Errorf("%s: %s %.50s", path, a.Status, a.body)
		}
	}
}

// Frames come from the other loopback name alone, whichever name the page has (M20).
func TestThePolicyNamesTheSandboxOfItsHost(t *testing.T) {
	f := start(t, setup{})
	// A free port is free on both loopback addresses, or one of them is nowhere on this machine.
	if !swapped(f) {
		t.Fatal("sandboxSwap is false")
	}
	port := strconv.Itoa(f.port)
	for host, want := range map[string]string{
		"127.0.0.1:" + port: "http://localhost:" + port,
		"localhost:" + port: "http://127.0.0.1:" + port,
		"[::1]:" + port:     "http://localhost:" + port,
	} {
		r := f.request("GET", "/", nil)
		r.Host = host
		policy := f.send(r).Header.Get("Content-Security-Policy")
		directives := map[string]string{}
		for directive := range strings.SplitSeq(policy, "; ") {
			name, value, _ := strings.Cut(directive, " ")
			directives[name] = value
		}
		if directives["frame-src"] != want || directives["script-src"] != "'self'" || directives["style-src"] != "'self'" ||
			directives["connect-src"] != "'self'" || directives["require-trusted-types-for"] != "'script'" {
			t.Errorf("%s: %s", host, policy)
		}
		// The sandbox lets exactly this page embed it.
		r = f.request("GET", "/sandbox?host=http://"+host, nil)
		a := f.send(r)
		if a.StatusCode != 200 || a.Header.Get("Cache-Control") != "no-store" || strings.Contains(a.Header.Get("Content-Security-Policy"), "'self'") {
			t.Errorf("%s: sandbox %s %v", host, a.Status, a.Header)
		}
	}
	if a := f.send(f.request("GET", "/sandbox?host=http://evil.example", nil)); a.StatusCode != 400 {
		t.Errorf("a foreign host of the sandbox: %s", a.Status)
	}
}

func swapped(f *fixture) bool {
	return strings.Contains(f.send(f.request("GET", "/v1/status", nil)).string(), `"sandboxSwap":true`)
}

func (a answer) string() string { return string(a.body) }

// When another program answers on the other loopback address, app frames have no safe place (M24).
func TestWithoutTheOtherLoopbackThereAreNoFrames(t *testing.T) {
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no [::1]")
	}
	defer other.Close()
	_, port, err := net.SplitHostPort(other.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, setup{addr: "127.0.0.1:" + port})
	if swapped(f) {
		t.Error("sandboxSwap is true")
	}
	if policy := f.send(f.request("GET", "/", nil)).Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'none'") {
		t.Errorf("policy = %s", policy)
	}
}

// The page that is really built fits its policy: no inline script or style, nothing from elsewhere.
func TestTheBuiltPageFitsItsPolicy(t *testing.T) {
	f := start(t, setup{daemon: daemon.Options{Web: web.Dist()}})
	page := f.send(f.request("GET", "/", nil)).string()
	if !strings.Contains(page, "<div id=\"root\">") {
		t.Fatalf("the page is %.200s", page)
	}
	for rest := page; ; {
		_, after, found := strings.Cut(rest, "<script")
		if !found {
			break
		}
		tag, body, _ := strings.Cut(after, ">")
		inside, next, _ := strings.Cut(body, "</script>")
		_, src, _ := strings.Cut(tag, `src="`)
		src, _, _ = strings.Cut(src, `"`)
		if strings.TrimSpace(inside) != "" || !strings.HasPrefix(src, "/") {
			t.Errorf("an inline script, or one from elsewhere: <script%s>", tag)
		}
		if a := f.send(f.request("GET", src, nil)); a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s: %s %s", src, a.Status, a.Header.Get("Content-Type"))
		}
		rest = next
	}
	if strings.Contains(page, "<style") || strings.Contains(page, " style=") {
		t.Error("the page has inline style")
	}
}

func TestWithoutABuiltPageTheAPIWorks(t *testing.T) {
	f := start(t, setup{daemon: daemon.Options{Web: fstest.MapFS{}}})
	if a := f.send(f.request("GET", "/", nil)); a.StatusCode != 404 || !strings.Contains(a.string(), "without its WebShell") {
		t.Errorf("/: %s %s", a.Status, a.body)
	}
	f.create()
}

func TestListening(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for addr, want := range map[string]string{
		"8765":                "HOST:PORT",
		"127.0.0.1:http":      "port",
		"127.0.0.1:70000":     "port",
		"0.0.0.0:0":           "--allow-remote",
		":0":                  "--allow-remote",
		"example.invalid:0":   "--allow-remote",
		taken.Addr().String(): "usher open",
	} {
		l, err := daemon.Listen(t.Context(), addr, false)
		var refused *daemon.ListenError
		if !errors.As(err, &refused) || !strings.Contains(refused.Error()+refused.Hint, want) || refused.Hint == "" {
			t.Errorf("Listen(%s) = %v, %v; want an error about %s", addr, l, err, want)
		}
	}
	for addr, origin := range map[string]string{
		"127.0.0.1:0": "http://127.0.0.1:", "localhost:0": "http://localhost:", "[::1]:0": "http://[::1]:", "127.0.0.3:0": "http://127.0.0.3:",
	} {
		l, err := daemon.Listen(t.Context(), addr, false)
		if err != nil {
			if strings.Contains(addr, "::1") {
				continue
			}
			t.Errorf("Listen(%s): %v", addr, err)
			continue
		}
		if !strings.HasPrefix(l.URL(), origin) || l.Port() == 0 || !strings.HasSuffix(l.URL(), l.Addr()) {
			t.Errorf("Listen(%s): %s, %s", addr, l.URL(), l.Addr())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
