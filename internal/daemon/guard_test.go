package daemon_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/daemon"
)

// path is a path that a route matches.
func path(route daemon.Route) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(route.Pattern, "x")
}

// Every way in, on every route of the table: nothing that is not asked for properly gets past the guard.
func TestTheGuardRefusesOnEveryRoute(t *testing.T) {
	f := start(t, setup{})
	port := strconv.Itoa(f.port)
	attacks := map[string]struct {
		change func(*http.Request)
		status int
		code   string
		only   func(daemon.Route) bool
	}{
		"no token":       {func(r *http.Request) { r.Header.Del("Authorization") }, 401, "unauthorized", person},
		"a wrong token":  {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") }, 401, "unauthorized", person},
		"an empty token": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401, "unauthorized", person},
		"another scheme": {func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }, 401, "unauthorized", person},
		"a token in the query": {func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "token=" + token + "&access_token=" + token
		}, 401, "unauthorized", person},
		"a forged cookie": {func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "usher_" + port, Value: strings.Repeat("A", 75)})
		}, 401, "unauthorized", person},
		"a foreign Host":              {func(r *http.Request) { r.Host = "evil.example:" + port }, 421, "host_refused", every},
		"a foreign Host, no port":     {func(r *http.Request) { r.Host = "evil.example" }, 421, "host_refused", every},
		"a name that ends in ours":    {func(r *http.Request) { r.Host = "evil.localhost:" + port }, 421, "host_refused", every},
		"another port":                {func(r *http.Request) { r.Host = "127.0.0.1:1" }, 421, "host_refused", every},
		"another loopback address":    {func(r *http.Request) { r.Host = "127.0.0.2:" + port }, 421, "host_refused", every},
		"an opaque origin":            {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "origin_refused", guarded},
		"a foreign origin":            {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, "origin_refused", guarded},
		"the other loopback's origin": {func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+port) }, 403, "origin_refused", guarded},
		"an origin on another port":   {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403, "origin_refused", guarded},
		"two origins": {func(r *http.Request) {
			r.Header["Origin"] = []string{"http://127.0.0.1:" + port, "https://evil.example"}
		}, 403, "origin_refused", guarded},
		"another site, says the browser": {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "origin_refused", guarded},
		"the same site on another port":  {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403, "origin_refused", guarded},
		"a text/plain body":              {body("text/plain", `{"title":"x"}`), 415, "media_type_refused", writes},
		"a form":                         {body("application/x-www-form-urlencoded", `{"title":"x"}`), 415, "media_type_refused", writes},
		"a multipart form":               {body("multipart/form-data; boundary=x", "--x--"), 415, "media_type_refused", writes},
		"a body of no type":              {body("", `{"title":"x"}`), 415, "media_type_refused", writes},
		"text/plain without a body":      {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "media_type_refused", writes},
		"text that ends like JSON":       {body("text/plain; application/json", `{}`), 415, "media_type_refused", writes},
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			tried := 0
			for _, route := range daemon.Routes() {
				if !attack.only(route) {
					continue
				}
				tried++
				r := f.request(route.Method, path(route), nil)
				attack.change(r)
				a := f.send(r)
				if a.StatusCode != attack.status || a.problem().Code != attack.code {
					t.Errorf("%s %s: %s %s, want %d %s", route.Method, route.Pattern, a.Status, a.body, attack.status, attack.code)
				}
				for header := range a.Header {
					if strings.HasPrefix(header, "Access-Control-") {
						t.Errorf("%s %s sends %s", route.Method, route.Pattern, header)
					}
				}
			}
			if tried == 0 {
				t.Error("the attack was tried on no route")
			}
		})
	}
	if sessions := do[api.SessionList](f, 200, "GET", "/v1/sessions", nil).Sessions; len(sessions) != 0 {
		t.Errorf("a refused request made %d sessions", len(sessions))
	}
}

func every(daemon.Route) bool     { return true }
func guarded(r daemon.Route) bool { return r.Auth != daemon.AuthNone }
func person(r daemon.Route) bool  { return r.Auth == daemon.AuthPerson || r.Auth == daemon.AuthBearer }

func writes(r daemon.Route) bool {
	return r.Auth != daemon.AuthNone && (r.Method == "POST" || r.Method == "PATCH" || r.Method == "DELETE")
}

func body(kind, text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
	}
}

// What needs no token is the page's own files, the sandbox and the health; a route that joins them has to be added here.
func TestOnlyThesePathsAskForNoToken(t *testing.T) {
	var open []string
	for _, route := range daemon.Routes() {
		if !person(route) {
			open = append(open, route.Method+" "+route.Pattern)
		}
	}
	if got := strings.Join(open, ", "); got != "POST /v1/login, GET /healthz, GET /sandbox, GET /{path...}" {
		t.Errorf("open routes: %s", got)
	}
	f := start(t, setup{servers: nil})
	for _, p := range []string{"/", "/healthz", "/sandbox", "/assets/main-abc12.js"} {
		r := f.request("GET", p, nil)
		r.Header.Del("Authorization")
		a := f.send(r)
		if a.StatusCode != 200 {
			t.Errorf("%s: %s", p, a.Status)
		}
		if text := string(a.body) + strings.Join(a.Header.Values("Set-Cookie"), ""); strings.Contains(text, token) || strings.Contains(text, "code=") {
			t.Errorf("%s holds something secret", p)
		}
	}
	// A path that no route is for does not even say so.
	r := f.request("GET", "/v1/nothing", nil)
	r.Header.Del("Authorization")
	if a := f.send(r); a.StatusCode != 401 {
		t.Errorf("/v1/nothing: %s", a.Status)
	}
}

func TestItsOwnNamesAreAnswered(t *testing.T) {
	f := start(t, setup{daemon: daemon.Options{Hosts: []string{"usher.example", "proxy.example:8443"}}})
	port := strconv.Itoa(f.port)
	for _, host := range []string{"127.0.0.1:" + port, "LOCALHOST:" + port, "[::1]:" + port, "usher.example", "usher.example:" + port, "proxy.example:8443"} {
		r := f.request("POST", "/v1/sessions", "{}")
		r.Host = host
		r.Header.Set("Origin", "http://"+strings.ToLower(host))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/json; charset=UTF-8")
		if a := f.send(r); a.StatusCode != 201 {
			t.Errorf("%s: %s %s", host, a.Status, a.body)
		}
	}
	r := f.request("GET", "/healthz", nil)
	r.Host = "proxy.example"
	if a := f.send(r); a.StatusCode != 421 {
		t.Errorf("a name without its port: %s", a.Status)
	}
}

func TestPathsAndMethodsThatAreNotThere(t *testing.T) {
	f := start(t, setup{})
	for _, test := range []struct {
		method, path, code, allow string
		status                    int
	}{
		{"GET", "/v1/nothing", "not_found", "", 404},
		{"POST", "/v1/nothing", "not_found", "", 404},
		{"GET", "/nothing.js", "not_found", "", 404},
		{"GET", "/assets", "not_found", "", 404},
		{"PUT", "/v1/sessions", "method_not_allowed", "GET, HEAD, POST", 405},
		{"POST", "/v1/status", "method_not_allowed", "GET, HEAD", 405},
		{"GET", "/v1/login", "method_not_allowed", "POST", 405},
		{"POST", "/sandbox", "method_not_allowed", "GET, HEAD", 405},
		{"DELETE", "/healthz", "method_not_allowed", "GET, HEAD", 405},
		{"POST", "/elsewhere", "not_found", "", 404},
	} {
		a := f.send(f.request(test.method, test.path, nil))
		if a.StatusCode != test.status || a.problem().Code != test.code || a.Header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %s, Allow %q, %s", test.method, test.path, a.Status, a.Header.Get("Allow"), a.body)
		}
	}
}

func TestBodiesAreCheckedAndBounded(t *testing.T) {
	f := start(t, setup{})
	id := f.create()
	calls := "/v1/sessions/" + id + "/calls"
	large := func(n int) string {
		return `{"server":"s","tool":"t","arguments":{"x":"` + strings.Repeat("x", n) + `"}}`
	}
	for name, test := range map[string]struct {
		path, body, code, field, hint string
	}{
		"not JSON":               {"/v1/sessions", `{"title":`, "json_invalid", "", ""},
		"no object":              {"/v1/sessions", `[]`, "json_invalid", "", ""},
		"null":                   {"/v1/sessions", `null`, "json_invalid", "", ""},
		"two values":             {"/v1/sessions", `{} {}`, "json_invalid", "", ""},
		"an unknown field":       {"/v1/sessions", `{"titel":"x"}`, "unknown_field", "titel", `Did you mean "title"?`},
		"a field in other case":  {"/v1/sessions", `{"Title":"x"}`, "unknown_field", "Title", `Did you mean "title"?`},
		"a far field":            {"/v1/sessions", `{"zzz":"x"}`, "unknown_field", "zzz", "Known: title."},
		"a wrong type":           {"/v1/sessions", `{"title":7}`, "invalid_argument", "title", ""},
		"a long title":           {"/v1/sessions", `{"title":"` + strings.Repeat("x", 201) + `"}`, "invalid_argument", "title", ""},
		"no tool":                {calls, `{"server":"s"}`, "not_found", "", ""},
		"no server":              {calls, `{"tool":"t"}`, "invalid_argument", "server", ""},
		"above the bound":        {"/v1/sessions", `{"title":"` + strings.Repeat("x", 1<<20) + `"}`, "too_large", "", ""},
		"a call above its bound": {calls, large(8 << 20), "too_large", "", ""},
		"a call below it":        {calls, large(7 << 20), "not_found", "", ""}, // there is no server s
		"no code":                {"/v1/login", `{}`, "invalid_argument", "code", ""},
		"fields where none are":  {"/v1/sessions/" + id + "/compact", `{"x":1}`, "unknown_field", "x", ""},
	} {
		a := f.send(f.request("POST", test.path, test.body))
		problem := a.problem()
		if problem.Code != test.code || problem.Field != test.field || test.hint != "" && problem.Hint != test.hint {
			t.Errorf("%s: %s %s", name, a.Status, a.body)
		}
	}
	for _, query := range []string{"cursor=x", "limit=0", "limit=201", "limit=x", "archived=maybe"} {
		if a := f.send(f.request("GET", "/v1/sessions?"+query, nil)); a.StatusCode != 400 {
			t.Errorf("?%s: %s", query, a.Status)
		}
	}
	for _, query := range []string{"after=-1", "after=x", "until=later", "until=now&limit=0"} {
		if a := f.send(f.request("GET", "/v1/sessions/"+id+"/events?"+query, nil)); a.StatusCode != 400 {
			t.Errorf("?%s: %s", query, a.Status)
		}
	}
}

// docs/errors.md tells every code once, with the status that it has.
func TestErrorsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\d+) \\|").FindAllSubmatch(text, -1) {
		status, err := strconv.Atoi(string(row[2]))
		if err != nil {
			t.Fatal(err)
		}
		if documented[string(row[1])] != 0 {
			t.Errorf("%s is documented twice", row[1])
		}
		documented[string(row[1])] = status
	}
	statuses := daemon.Statuses()
	for code, status := range statuses {
		if documented[code] != status {
			t.Errorf("%s is %d, documented as %d", code, status, documented[code])
		}
	}
	if len(documented) != len(statuses) {
		t.Errorf("%d codes are documented, there are %d", len(documented), len(statuses))
	}
}

func TestTheTokenIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "token")
	first, err := daemon.LoadToken(file)
	if err != nil || len(first) < 50 {
		t.Fatalf("LoadToken = %q, %v", first, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	second, err := daemon.LoadToken(file)
	if err != nil || second != first {
		t.Errorf("LoadToken again = %q, %v", second, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	for _, content := range []string{"", "short\n", first + "\n" + first} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := daemon.LoadToken(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("LoadToken of %q = %q, %v", content, got, err)
		}
	}
}
