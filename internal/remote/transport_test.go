package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/remote"
)

const callBody = `{"jsonrpc":"2.0","id":"u1","method":"tools/call","params":{"name":"echo","arguments":{}}}`

// post sends one body through a client for a server with the given handler.
func post(t *testing.T, o remote.Options, body string, handler http.HandlerFunc) (status int, contentType, answer string, _ error) {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	o.URL = srv.URL
	c, err := remote.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return send(t, c, srv.URL, body)
}

func send(t *testing.T, c *http.Client, url, body string) (status int, contentType, answer string, _ error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(data), err
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// M13, HDR-02, HDR-03, HDR-05, HDR-06: what the server received is what counts.
func TestEveryPostMirrorsItsMessage(t *testing.T) {
	for _, c := range []struct {
		name, body, method, subject string
	}{
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, "initialize", ""},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "notifications/initialized", ""},
		{"list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "tools/list", ""},
		{"call", callBody, "tools/call", "echo"},
		{"prompt", `{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"greet"}}`, "prompts/get", "greet"},
		{"read", `{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"file:///a%20b"}}`, "resources/read", "file:///a%20b"},
		{"non-ASCII", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"tøol"}}`, "tools/call", "=?base64?dMO4b2w=?="},
		{"line break", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a\r\nX: y"}}`, "tools/call", "=?base64?YQ0KWDogeQ==?="},
		{"trailing blank", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a "}}`, "tools/call", "=?base64?YSA=?="},
		{"inner blank", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a b"}}`, "tools/call", "a b"},
		{"tab", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a\tb"}}`, "tools/call", "=?base64?YQli?="},
		{"looks encoded", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"=?base64?eA==?="}}`, "tools/call", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got http.Header
			_, _, _, _ = post(t, remote.Options{Version: func() string { return "2025-06-18" }, Headers: map[string]string{"X-Api-Key": "k"}}, c.body,
				func(w http.ResponseWriter, r *http.Request) {
					got = r.Header.Clone()
					w.WriteHeader(http.StatusAccepted)
				})
			want := map[string]string{"Mcp-Protocol-Version": "2025-06-18", "Mcp-Method": c.method, "Mcp-Name": c.subject, "X-Api-Key": "k"}
			for name, value := range want {
				if got.Get(name) != value {
					t.Errorf("%s = %q, want %q", name, got.Get(name), value)
				}
			}
		})
	}
}

func TestAnswersThatAreNotJSONRPCFailTheirRequestOnly(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		reason  string
	}{
		{"400 text", answer(400, "text/plain", "no such thing"), "refused"},
		{"403 page", answer(403, "text/html", "<html>Forbidden</html>"), "refused"},
		{"404 without a session", answer(404, "text/html", "not here"), "refused"},
		{"413", answer(413, "text/plain", "too big"), "refused"},
		{"501", answer(501, "text/plain", ""), "refused"},
		{"500 page", answer(500, "text/html", "<h1>oops</h1>"), "refused"},
		{"200 page", answer(200, "text/html", "<html>Please log in</html>"), "not a JSON-RPC"},
		{"200 empty", answer(200, "application/json", ""), "empty"},
		{"202 to a call", answer(202, "application/json", ""), "empty"},
		{"cut JSON", answer(200, "application/json", `{"jsonrpc":"2.0","id":"u1","resu`), "not a JSON-RPC"},
		{"JSON that is no message", answer(200, "application/json", `{"status":"ok"}`), "not a JSON-RPC"},
		{"JSON null", answer(200, "application/json", `null`), "not a JSON-RPC"},
		{"another's answer", answer(200, "application/json", `{"jsonrpc":"2.0","id":"u2","result":{}}`), "no answer to the request"},
		{"the id as a number", answer(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`), "no answer to the request"},
		{"a result and an error", answer(200, "application/json", `{"jsonrpc":"2.0","id":"u1","result":{},"error":{"code":1,"message":"m"}}`), "a result and an error"},
		{"neither of them", answer(200, "application/json", `{"jsonrpc":"2.0","id":"u1"}`), "not a JSON-RPC"},
		{"an error that is a text", answer(200, "application/json", `{"jsonrpc":"2.0","id":"u1","error":"no"}`), "no JSON-RPC error"},
		{"a code that is a text", answer(400, "application/json", `{"jsonrpc":"2.0","id":"u1","error":{"code":"E","message":"no"}}`), "refused"},
		{"empty batch", answer(200, "application/json", `[]`), "no answer to the request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := post(t, remote.Options{}, callBody, c.handler)
			var bad *remote.AnswerError
			if !errors.As(err, &bad) {
				t.Fatalf("error = %v, want an AnswerError", err)
			}
			if !strings.Contains(bad.Reason, c.reason) {
				t.Errorf("reason = %q, want %q in it", bad.Reason, c.reason)
			}
		})
	}
}

func TestGoodAnswersStayByteForByte(t *testing.T) {
	const body = `{"result":{"a":9007199254740993,"z":"<&>","b":1.0},  "jsonrpc":"2.0","id":"u1"}`
	_, _, got, err := post(t, remote.Options{}, callBody, answer(200, "application/json; charset=utf-8", body))
	if err != nil || got != body {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSloppyAnswersAreRepaired(t *testing.T) {
	const wantError = `{"error":{"code":-32000,"message":"no"},"id":"u1","jsonrpc":"2.0"}`
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"BOM", answer(200, "application/json", "\xef\xbb\xbf"+`{"jsonrpc":"2.0","id":"u1","result":{}}`), `{"jsonrpc":"2.0","id":"u1","result":{}}`},
		{"no jsonrpc", answer(200, "application/json", `{"id":"u1","result":{"h":"<b>"}}`), `{"id":"u1","jsonrpc":"2.0","result":{"h":"<b>"}}`},
		{"wrong content type", answer(200, "text/plain", `{"jsonrpc":"2.0","id":"u1","result":{}}`), `{"jsonrpc":"2.0","id":"u1","result":{}}`},
		{"error without id, 400", answer(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}`), wantError},
		{"error with null id, 500", answer(500, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`), wantError},
		{
			"batch", answer(200, "application/json", "[{\"jsonrpc\":\"2.0\",\n\"method\":\"notifications/message\"},{\"jsonrpc\":\"2.0\",\"id\":\"u1\",\"result\":{}}]"),
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"u1\",\"result\":{}}\n\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, got, err := post(t, remote.Options{}, callBody, c.handler)
			if err != nil || status != 200 || got != c.want {
				t.Errorf("got %d %q, %v\nwant %q", status, got, err, c.want)
			}
		})
	}
}

func TestTheEventStreamIsFiltered(t *testing.T) {
	const good = "data: {\"jsonrpc\":\"2.0\",\"id\":\"u1\",\"result\":{}}\n\n"
	for _, c := range []struct{ name, stream, want string }{
		{"as it should be", good, good},
		{"BOM and CR LF", "\xef\xbb\xbf" + strings.ReplaceAll(good, "\n", "\r\n"), good},
		{"comments and heartbeats", ": ping\n\nevent: ping\ndata: 12:00\n\n" + good, good},
		{"a line that is no field", "oops\n" + good, good},
		{"an event that is not JSON", "data: hello\n\n" + good, good},
		{"an array", "data: [1]\n\n" + good, good},
		{"data over lines", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"u1\",\ndata: \"result\":{}}\n\n", good},
		{"priming event (LEG-16)", "id: 7\nretry: 500\ndata:\n\n" + good, "id: 7\nretry: 500\n\n" + good},
		{"no blank after the colon", "id:9\n" + strings.Replace(good, ": ", ":", 1), "id: 9\n" + good},
		{"an object that is no message", "data: {\"a\":1}\n\n" + good, good},
		{"no jsonrpc", "data: {\"id\":\"u1\",\"result\":{\"h\":\"<b>\"}}\n\n", "data: {\"id\":\"u1\",\"jsonrpc\":\"2.0\",\"result\":{\"h\":\"<b>\"}}\n\n"},
		{"an id that is none", "data: {\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}\n\n" + good, good},
		{"a method that is none", "data: {\"jsonrpc\":\"2.0\",\"method\":5}\n\n" + good, good},
		{
			"an error without an id", "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"no\"}}\n\n",
			"data: {\"error\":{\"code\":-1,\"message\":\"no\"},\"id\":\"u1\",\"jsonrpc\":\"2.0\"}\n\n",
		},
		{"an error that is none", "data: {\"jsonrpc\":\"2.0\",\"id\":\"u1\",\"error\":\"no\"}\n\n", "data: {\"id\":\"u1\",\"jsonrpc\":\"2.0\"}\n\n"},
		{"a result and an error", "data: {\"jsonrpc\":\"2.0\",\"id\":\"u1\",\"result\":{},\"error\":{\"code\":-1,\"message\":\"no\"}}\n\n", "data: {\"id\":\"u1\",\"jsonrpc\":\"2.0\"}\n\n"},
		{"cut in the middle", good + "data: {\"a\"", good},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, got, err := post(t, remote.Options{}, callBody, answer(200, "text/event-stream", c.stream))
			if err != nil || got != c.want {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	big := strings.Repeat("x", 5000)
	const small = "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n"
	t.Run("body", func(t *testing.T) {
		_, _, _, err := post(t, remote.Options{MaxAnswer: 4096}, callBody, answer(200, "application/json", `{"jsonrpc":"2.0","id":"u1","result":"`+big+`"}`))
		var bad *remote.AnswerError
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "4096") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("event", func(t *testing.T) {
		_, _, got, err := post(t, remote.Options{MaxAnswer: 4096}, callBody, answer(200, "text/event-stream", small+"data: \""+big+"\"\n\n"))
		if err == nil || got != small {
			t.Errorf("got %q, %v; want the small event and an error", got, err)
		}
	})
	t.Run("a long stream of small events is not too large", func(t *testing.T) {
		stream := strings.Repeat(small, 2000)
		_, _, got, err := post(t, remote.Options{MaxAnswer: 4096}, callBody, answer(200, "text/event-stream", stream))
		if err != nil || got != stream {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

func TestRedirectsStayInTheOrigin(t *testing.T) {
	var leaked http.Header
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = r.Header.Clone() }))
	defer foreign.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			_, _, _, err := post(t, remote.Options{Headers: map[string]string{"Authorization": "Bearer secret", "X-Api-Key": "secret"}}, callBody,
				func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, foreign.URL+"/mcp", status) })
			var bad *remote.AnswerError
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "another origin") {
				t.Errorf("error = %v", err)
			}
			if leaked != nil {
				t.Errorf("the other origin received %v", leaked)
			}
		})
	}
	t.Run("within the origin", func(t *testing.T) {
		_, _, got, err := post(t, remote.Options{Headers: map[string]string{"X-Api-Key": "k"}}, callBody, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/moved" {
				http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"u1","result":{"key":%q}}`, r.Header.Get("X-Api-Key"))
		})
		if err != nil || !strings.Contains(got, `"key":"k"`) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("losing the body", func(t *testing.T) {
		_, _, _, err := post(t, remote.Options{}, callBody, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/mcp/", http.StatusMovedPermanently)
		})
		var bad *remote.AnswerError
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "/mcp/; configure that URL") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		_, _, _, err := post(t, remote.Options{}, callBody, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusTemporaryRedirect) })
		var bad *remote.AnswerError
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "more than 5") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestTheFirstSessionIDStays(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", n))
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"u1","result":{}}`)
	}))
	defer srv.Close()
	c, err := remote.NewClient(remote.Options{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(callBody))
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Mcp-Session-Id"); got != "s1" {
			t.Errorf("session id = %q, want s1", got)
		}
	}
}

func TestALostSessionAndALoginPassThrough(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		w.Header().Set("Www-Authenticate", `Bearer resource_metadata="x"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
	}))
	defer srv.Close()
	c, err := remote.NewClient(remote.Options{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	for session, want := range map[string]int{"s1": 404, "": 401} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(callBody))
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status = %d, want %d", resp.StatusCode, want)
		}
	}
}

func TestACancelledRequestSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":`)
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	c, err := remote.NewClient(remote.Options{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(callBody))
	resp, err := c.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name string
		o    remote.Options
		want string
	}{
		{"scheme", remote.Options{URL: "ftp://x/"}, "http:// or https://"},
		{"no host", remote.Options{URL: "http://"}, "with a host"},
		{"protocol header", remote.Options{URL: "http://x", Headers: map[string]string{"mcp-session-id": "secret"}}, "belongs to the protocol"},
		{"content type", remote.Options{URL: "http://x", Headers: map[string]string{"Content-Type": "secret"}}, "belongs to the protocol"},
		{"proxy", remote.Options{URL: "http://x", Proxy: "::secret"}, "proxy"},
		{"no CA file", remote.Options{URL: "http://x", CAFile: "/does/not/exist"}, "caFile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := remote.NewClient(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error = %v, want %q in it and no secret", err, c.want)
			}
		})
	}
}
