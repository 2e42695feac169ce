package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/internal/sandbox"
)

const hostPage = "http://127.0.0.1:8765"

var origins = []string{hostPage, "http://localhost:8765", "http://[::1]:8765"}

// get asks a real server; change, when given, edits the request.
func get(t *testing.T, method, query string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	srv := httptest.NewServer(sandbox.Handler(sandbox.Options{Origins: origins}))
	t.Cleanup(srv.Close)
	r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/sandbox?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	res, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func query(host, csp string) string {
	v := url.Values{}
	if host != "" {
		v.Set("host", host)
	}
	if csp != "" {
		v.Set("csp", csp)
	}
	return v.Encode()
}

func checkHeaders(t *testing.T, res *http.Response) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Access-Control-Allow-Origin": "", "Set-Cookie": "", "Location": "", "X-Injected": "",
	} {
		if got := strings.Join(res.Header.Values(name), "|"); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	policies := res.Header.Values("Content-Security-Policy")
	if len(policies) != 1 || strings.Contains(policies[0], "'self'") || !strings.Contains(policies[0], "sandbox allow-scripts allow-forms") {
		t.Errorf("policies %q", policies)
	}
}

func TestThePageIsStaticAndOpen(t *testing.T) {
	t.Parallel()
	_, bare := get(t, http.MethodGet, "", nil)
	for _, q := range []string{"", query(hostPage, ""), query(hostPage, `{"connectDomains":["https://a.example"]}`)} {
		res, body := get(t, http.MethodGet, q, nil)
		checkHeaders(t, res)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%q: %s, %s", q, res.Status, res.Header.Get("Content-Type"))
		}
		if body != bare {
			t.Errorf("%q changes the page", q)
		}
	}
	for _, unwanted := range []string{"127.0.0.1", "allow-same-origin", "token", "cookie", "http-equiv"} {
		if strings.Contains(bare, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	res, body := get(t, http.MethodHead, query(hostPage, ""), nil)
	checkHeaders(t, res)
	if res.StatusCode != http.StatusOK || body != "" || res.ContentLength <= 0 {
		t.Errorf("%s, %d bytes, Content-Length %d", res.Status, len(body), res.ContentLength)
	}
}

func TestThePolicyFollowsTheQuery(t *testing.T) {
	t.Parallel()
	csp := &apps.CSP{ConnectDomains: []string{"https://api.example"}, ResourceDomains: []string{"https://*.cdn.example"}}
	raw, err := json.Marshal(csp)
	if err != nil {
		t.Fatal(err)
	}
	for host, ancestor := range map[string]string{
		"": "'none'", hostPage: hostPage, "http://localhost:8765": "http://localhost:8765", "http://[::1]:8765": "http://*:8765",
	} {
		res, _ := get(t, http.MethodGet, query(host, string(raw)), nil)
		checkHeaders(t, res)
		policy := res.Header.Get("Content-Security-Policy") + ";"
		for _, want := range []string{
			"default-src 'none';", "script-src 'unsafe-inline' blob: data: https://*.cdn.example;", "connect-src https://api.example;", "frame-src 'none';",
			"frame-ancestors " + ancestor + ";",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("host %q: the policy %q lacks %q", host, policy, want)
			}
		}
	}
}

func TestNothingIsInjected(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"https://evil.example; script-src *", "https://evil.example,https://b.example", "https://evil.example 'unsafe-eval'", "'self'", "*", "https:",
		"https://evil.example\r\nX-Injected: 1", "https://evil.example.", "https://u@evil.example", "https://evil.example:0", "https://[::1]", "https://\u212aevil.example", "http\u017f://evil.example",
	} {
		raw, err := json.Marshal(map[string][]string{"connectDomains": {s}, "resourceDomains": {s}, "frameDomains": {s}, "baseUriDomains": {s}})
		if err != nil {
			t.Fatal(err)
		}
		res, _ := get(t, http.MethodGet, query(hostPage, string(raw)), nil)
		checkHeaders(t, res)
		want := (*apps.CSP)(nil).Header(apps.HeaderOptions{Ancestors: []string{hostPage}})
		if got := res.Header.Get("Content-Security-Policy"); res.StatusCode != http.StatusOK || got != want {
			t.Errorf("%q: %s\n got %q\nwant %q", s, res.Status, got, want)
		}
	}
}

func TestNoAppReachesTheDaemon(t *testing.T) {
	t.Parallel()
	csp := `{"connectDomains":["http://localhost:8765","http://127.0.0.1:8765","ws://localhost:8765","http://SELF","https://a.example"]}`
	res, _ := get(t, http.MethodGet, "", nil)
	self := res.Request.URL.Host
	res, _ = get(t, http.MethodGet, query(hostPage, strings.ReplaceAll(csp, "SELF", self)), func(r *http.Request) { r.Host = self })
	if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src https://a.example;") {
		t.Errorf("the policy is %q", policy)
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	deny := (*apps.CSP)(nil).Header(apps.HeaderOptions{})
	for _, q := range []string{
		query("https://evil.example", ""), query("http://127.0.0.1:9999", ""), query("http://127.0.0.1:8765/", ""), query("null", ""), "host=",
		query(hostPage+"; script-src *", ""), query("HTTP://127.0.0.1:8765", ""),
		query(hostPage, "x"), query(hostPage, "[]"), query(hostPage, `"x"`), query(hostPage, "null"),
		query(hostPage, `{"connectDomains":["`+strings.Repeat("x", apps.MaxCSPBytes)+`"]}`),
		query(hostPage, "") + "&" + query(hostPage, ""), query("", "{}") + "&csp={}", query(hostPage, "") + "&token=x", query(hostPage, "") + ";csp={}", "host=%zz",
	} {
		res, body := get(t, http.MethodGet, q, nil)
		checkHeaders(t, res)
		if res.StatusCode != http.StatusBadRequest || res.Header.Get("Content-Security-Policy") != deny {
			t.Errorf("%.80q: %s, %q", q, res.Status, res.Header.Get("Content-Security-Policy"))
		}
		if strings.Contains(body, "evil") || strings.Contains(body, "<") {
			t.Errorf("%.80q is echoed: %q", q, body)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch, "PROPFIND"} {
		res, _ := get(t, method, query(hostPage, ""), nil)
		checkHeaders(t, res)
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s, Allow %q", method, res.Status, res.Header.Get("Allow"))
		}
	}
}

func TestOnlyDocumentsAndFramesAreServed(t *testing.T) {
	t.Parallel()
	for dest, want := range map[string]int{
		"": http.StatusOK, "iframe": http.StatusOK, "document": http.StatusOK, "empty": http.StatusOK,
		"script": http.StatusForbidden, "image": http.StatusForbidden, "style": http.StatusForbidden, "worker": http.StatusForbidden,
		"serviceworker": http.StatusForbidden, "object": http.StatusForbidden, "embed": http.StatusForbidden, "frame": http.StatusForbidden,
	} {
		res, _ := get(t, http.MethodGet, query(hostPage, ""), func(r *http.Request) {
			if dest != "" {
				r.Header.Set("Sec-Fetch-Dest", dest)
			}
		})
		checkHeaders(t, res)
		if res.StatusCode != want {
			t.Errorf("Sec-Fetch-Dest %q: %s, want %d", dest, res.Status, want)
		}
	}
}
