package daemon_test

import (
	"net/http"
	"net/http/cookiejar"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/daemon"
)

// browser is a client as the page is one: it has cookies and no token.
func (f *fixture) browser() *fixture {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	other := *f
	other.client = &http.Client{Transport: f.client.Transport, Jar: jar}
	return &other
}

func (f *fixture) page(method, path string, body any) *http.Request {
	r := f.request(method, path, body)
	r.Header.Del("Authorization")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != "GET" {
		r.Header.Set("Origin", f.url)
	}
	return r
}

func codeOf(t *testing.T, url string) string {
	t.Helper()
	before, code, found := strings.Cut(url, "/#code=")
	if !found || strings.Contains(before, "code") {
		t.Fatalf("login address = %s: the code has to be in the fragment", url)
	}
	return code
}

func TestABrowserLogsInWithACodeOnce(t *testing.T) {
	f := start(t, setup{})
	code := codeOf(t, f.server.LoginURL())
	b := f.browser()
	if a := b.send(b.page("GET", "/v1/status", nil)); a.StatusCode != 401 || a.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("before the login: %s", a.Status)
	}
	a := b.send(b.page("POST", "/v1/login", api.LoginRequest{Code: code}))
	if a.StatusCode != 204 || len(a.Cookies()) != 1 {
		t.Fatalf("login: %s %s", a.Status, a.body)
	}
	cookie := a.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" ||
		cookie.Name != "usher_"+strconv.Itoa(f.port) || strings.Contains(cookie.Value, token) {
		t.Errorf("cookie = %+v", cookie)
	}
	if a := b.send(b.page("GET", "/v1/status", nil)); a.StatusCode != 200 {
		t.Errorf("after the login: %s", a.Status)
	}
	if a := b.send(b.page("POST", "/v1/sessions", nil)); a.StatusCode != 201 {
		t.Errorf("creating a session: %s %s", a.Status, a.body)
	}
	// The cookie is not the token: it makes no codes for others.
	if a := b.send(b.page("POST", "/v1/login-codes", nil)); a.StatusCode != 403 || a.problem().Code != "bearer_needed" {
		t.Errorf("login-codes with a cookie: %s %s", a.Status, a.body)
	}
	again := f.browser()
	if a := again.send(again.page("POST", "/v1/login", api.LoginRequest{Code: code})); a.StatusCode != 403 || a.problem().Code != "code_refused" || len(a.Cookies()) != 0 {
		t.Errorf("the code again: %s %s", a.Status, a.body)
	}
	made := do[api.LoginCode](f, 201, "POST", "/v1/login-codes", nil)
	if got := codeOf(t, made.URL); got != made.Code || time.Until(made.ExpiresAt) > 10*time.Minute {
		t.Errorf("login code = %+v", made)
	}
	if a := again.send(again.page("POST", "/v1/login", api.LoginRequest{Code: made.Code})); a.StatusCode != 204 {
		t.Errorf("another code: %s %s", a.Status, a.body)
	}
}

// A wrong token beside a good cookie is a mistake to be told of.
func TestAWrongTokenIsNotCoveredByACookie(t *testing.T) {
	f := start(t, setup{})
	b := f.browser()
	b.send(b.page("POST", "/v1/login", api.LoginRequest{Code: codeOf(t, f.server.LoginURL())}))
	r := b.page("GET", "/v1/status", nil)
	r.Header.Set("Authorization", "Bearer wrong")
	if a := b.send(r); a.StatusCode != 401 {
		t.Errorf("status = %s", a.Status)
	}
}

func TestALoginSurvivesARestart(t *testing.T) {
	f := start(t, setup{})
	b := f.browser()
	b.send(b.page("POST", "/v1/login", api.LoginRequest{Code: codeOf(t, f.server.LoginURL())}))
	id := f.create()
	f.stop()
	g := start(t, setup{dir: f.dir, addr: "127.0.0.1:" + strconv.Itoa(f.port)})
	b.url = g.url
	if a := b.send(b.page("GET", "/v1/sessions/"+id, nil)); a.StatusCode != 200 {
		t.Errorf("after the restart: %s %s", a.Status, a.body)
	}
}

func TestCodesAndCookiesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes daemon.Codes
		fresh, stale := codes.Mint(), codes.Mint()
		time.Sleep(9 * time.Minute)
		if !codes.Use(fresh) {
			t.Error("a code of nine minutes was refused")
		}
		time.Sleep(2 * time.Minute)
		if codes.Use(stale) {
			t.Error("a code of eleven minutes was taken")
		}
		first := codes.Mint()
		for range 16 {
			codes.Mint()
		}
		if codes.Use(first) {
			t.Error("more codes wait than may")
		}
		if codes.Use("") {
			t.Error("no code was taken for one")
		}

		cookies := daemon.NewCookies(token, 1)
		value := cookies.New()
		time.Sleep(29 * 24 * time.Hour)
		if !cookies.OK(value) {
			t.Error("a cookie of 29 days was refused")
		}
		if daemon.NewCookies(token+"x", 1).OK(value) || daemon.NewCookies(token, 2).OK(value) {
			t.Error("a cookie of another daemon was taken")
		}
		time.Sleep(2 * 24 * time.Hour)
		if cookies.OK(value) {
			t.Error("a cookie of 31 days was taken")
		}
	})
}
