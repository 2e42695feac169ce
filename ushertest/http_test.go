package ushertest_test

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/ushertest"
)

func TestSDKClientTalksToFxOverHTTP(t *testing.T) {
	for _, tc := range []struct{ name, era, version, first string }{
		{"legacy", "legacy", "2025-11-25", "initialize"},
		{"modern", "modern", "2026-07-28", "server/discover"},
		{"both, asked the old way", "both", "2025-11-25", "initialize"},
		{"both, asked the new way", "both", "2026-07-28", "server/discover"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fx := ushertest.NewHTTP(t, "--era", tc.era, "--elicit", "--app")
			client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
			})
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			session, err := client.Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: fx.URL, HTTPClient: &http.Client{Transport: transport}},
				&mcp.ClientSessionOptions{ProtocolVersion: tc.version})
			if err != nil {
				t.Fatal(err)
			}
			talk(t, session)
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			log := fx.Log(t)
			if got := log.Methods(); got[0] != tc.first {
				t.Errorf("the first message was %s, want %s", got[0], tc.first)
			}
			if diff := cmp.Diff([]string(nil), log.Violations()); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// post sends one message and gives the response with its body read.
func post(t *testing.T, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		data = append(data, "!cut"...)
	}
	return resp, string(data)
}

func TestHTTPSessionsAreForgotten(t *testing.T) {
	fx := ushertest.NewHTTP(t, "--era", "legacy", "--forget-session-after", "2")
	resp, _ := post(t, fx.URL, initialize, nil)
	session := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id")}
	if resp, _ := post(t, fx.URL, initialized, session); resp.StatusCode != http.StatusAccepted {
		t.Errorf("initialized: %s", resp.Status)
	}
	if resp, body := post(t, fx.URL, request(1, "ping", `{}`), session); resp.StatusCode != http.StatusOK {
		t.Errorf("ping: %s %s", resp.Status, body)
	}
	if resp, _ := post(t, fx.URL, request(2, "ping", `{}`), session); resp.StatusCode != http.StatusNotFound {
		t.Errorf("after two requests: %s, want 404", resp.Status)
	}
	if resp, _ := post(t, fx.URL, request(3, "tools/list", `{}`), nil); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a session: %s, want 400", resp.Status)
	}
}

func TestHTTPModernHeadersMustAgreeWithTheBody(t *testing.T) {
	fx := ushertest.NewHTTP(t, "--era", "modern")
	good := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?ZWNobw==?="}
	body := modern(1, "tools/call", `,"name":"echo","arguments":{"message":"x"}`)
	if resp, text := post(t, fx.URL, body, good); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, text)
	}
	for _, header := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		bad := maps.Clone(good)
		bad[header] = "other"
		if resp, text := post(t, fx.URL, body, bad); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "-32020") {
			t.Errorf("wrong %s: %s %s", header, resp.Status, text)
		}
	}
	unknown := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "nonsense"}
	if resp, text := post(t, fx.URL, modern(2, "nonsense", ""), unknown); resp.StatusCode != http.StatusNotFound || !strings.Contains(text, "-32601") {
		t.Errorf("unknown method: %s %s", resp.Status, text)
	}
	if got := len(fx.Log(t).Violations()); got != 3 {
		t.Errorf("%d violations, want 3", got)
	}
}

func TestHTTPStreamIsCut(t *testing.T) {
	fx := ushertest.NewHTTP(t, "--era", "modern", "--drop-stream-after", "20ms")
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
	resp, body := post(t, fx.URL, modern(1, "subscriptions/listen", `,"notifications":{"toolsListChanged":true}`), header)
	if resp.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(body, "acknowledged") || !strings.HasSuffix(body, "!cut") {
		t.Errorf("%s: %q", resp.Header.Get("Content-Type"), body)
	}
}

func TestHTTPLeavingCancelsAModernCall(t *testing.T) {
	fx := ushertest.NewHTTP(t, "--era", "modern")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := strings.Replace(modern(1, "tools/call", `,"name":"slow","arguments":{"ms":600000,"steps":100000}`), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fx.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "slow",
	} {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "notifications/progress") {
		t.Errorf("got %q, %v", line, err)
	}
	_ = resp.Body.Close()
	cancel() // the test's cleanup waits for the call, so a call that went on would hang here
}

func TestHTTPRedirect(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	fx := ushertest.NewHTTP(t, "--redirect", other.URL)
	resp, _ := post(t, fx.URL, initialize, map[string]string{"Authorization": "Bearer x"})
	if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != other.URL {
		t.Errorf("%s to %q", resp.Status, resp.Header.Get("Location"))
	}
	if got := fx.Log(t).Events("request"); len(got) != 1 || got[0].Header["Authorization"][0] != "Bearer x" {
		t.Errorf("logged %+v", got)
	}
}
