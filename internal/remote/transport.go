package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	sessionHeader = "Mcp-Session-Id"
	eventStream   = "text/event-stream"
	// maxExcerpt is how much of an answer that is not JSON-RPC is kept for the error.
	maxExcerpt = 512
)

var bom = []byte("\xef\xbb\xbf")

// transport is the http.RoundTripper under one session.
type transport struct {
	base      http.RoundTripper
	origin    string
	headers   http.Header
	version   func() string
	maxAnswer int64
	log       *slog.Logger

	mu      sync.Mutex
	session string // the session id that the server gave first
}

// CloseIdleConnections implements the method that [http.Client.CloseIdleConnections] looks for.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(in *http.Request) (*http.Response, error) {
	if got := originOf(in.URL); got != t.origin {
		closeBody(in)
		return nil, &AnswerError{URL: in.URL.Redacted(), Reason: "the request would leave the configured origin"}
	}
	req := in.Clone(in.Context())
	for name, values := range t.headers {
		if req.Header.Get(name) == "" || name != "Authorization" { // a login's token wins over a configured one
			req.Header[name] = values
		}
	}
	if t.version != nil {
		if v := t.version(); v != "" {
			req.Header.Set("Mcp-Protocol-Version", v)
		}
	}
	var msg message
	if req.Method == http.MethodPost {
		var err error
		if msg, err = peek(req); err != nil {
			closeBody(in)
			return nil, err
		}
		setMirrored(req.Header, msg)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	t.pinSession(resp)
	return t.normalise(req, resp, msg)
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// message is what the headers mirror of a body, and what its answer must fit.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	} `json:"params"`
}

// isCall says whether the message expects an answer.
func (m message) isCall() bool { return m.Method != "" && len(m.ID) > 0 }

func peek(req *http.Request) (message, error) {
	var m message
	if req.GetBody == nil {
		return m, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return m, fmt.Errorf("read the request's body again: %w", err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if err != nil {
		return m, fmt.Errorf("read the request's body again: %w", err)
	}
	// A body whose params have another shape mirrors less; it is the server's to judge.
	_ = json.Unmarshal(data, &m)
	return m, nil
}

// setMirrored sets the headers that let a proxy see what a request is about (HDR-02, HDR-03, M13).
func setMirrored(h http.Header, m message) {
	if m.Method == "" {
		return
	}
	h.Set("Mcp-Method", headerValue(m.Method))
	switch m.Method {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", headerValue(m.Params.Name))
	case "resources/read":
		h.Set("Mcp-Name", headerValue(m.Params.URI))
	}
}

// headerValue writes a value so that it survives a header byte for byte (HDR-05, HDR-06).
func headerValue(s string) string {
	plain := strings.TrimSpace(s) == s && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// pinSession keeps the session id of the first answer: a server that changes it under way would otherwise end
// the session in the SDK.
func (t *transport) pinSession(resp *http.Response) {
	id := resp.Header.Get(sessionHeader)
	if id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }):
		t.log.Warn("session id with characters that are not visible ASCII dropped") // LEG-14
		resp.Header.Del(sessionHeader)
	case t.session == "":
		t.session = id
	case t.session != id:
		t.log.Warn("session id changed under way; the first one stays")
		resp.Header.Set(sessionHeader, t.session)
	}
}

// normalise turns every answer into one the SDK can take: well-formed JSON-RPC, or an error of this request.
func (t *transport) normalise(req *http.Request, resp *http.Response, msg message) (*http.Response, error) {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	refuse := func(reason string, body []byte) (*http.Response, error) {
		_ = resp.Body.Close()
		return nil, &AnswerError{URL: req.URL.Redacted(), Status: resp.StatusCode, Reason: reason, Excerpt: excerpt(body)}
	}
	switch {
	case req.Method == http.MethodGet && (resp.StatusCode != http.StatusOK || media != eventStream),
		req.Method == http.MethodDelete,
		resp.StatusCode >= 300 && resp.StatusCode < 400,
		resp.StatusCode == http.StatusUnauthorized:
		return resp, nil // for the stream's reader, the redirect rule and the login
	case resp.StatusCode == http.StatusNotFound && req.Header.Get(sessionHeader) != "":
		return resp, nil // the session is lost (LEG-20)
	case resp.StatusCode == http.StatusOK && media == eventStream:
		resp.Body = newEventFilter(resp.Body, msg.ID, t.maxAnswer, t.log)
		resp.ContentLength = -1
		return resp, nil
	case !msg.isCall() && resp.StatusCode >= 200 && resp.StatusCode < 300:
		return resp, nil // an accepted notification or response
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, t.maxAnswer+1))
	if err != nil {
		if ctxErr := req.Context().Err(); ctxErr != nil {
			_ = resp.Body.Close()
			return nil, ctxErr
		}
		return refuse("the body was cut off: "+err.Error(), nil)
	}
	if int64(len(body)) > t.maxAnswer {
		return refuse(fmt.Sprintf("the body is larger than %d bytes", t.maxAnswer), nil)
	}
	answers, err := parseAnswers(body, msg.ID)
	if err != nil {
		if resp.StatusCode >= 300 {
			return refuse("the request was refused", body)
		}
		return refuse(err.Error(), body)
	}
	_ = resp.Body.Close()
	// An error answer may come with any status (NEG-18); the SDK looks into bodies of 200 only.
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	out := answers[0]
	resp.Header.Set("Content-Type", "application/json")
	if len(answers) > 1 { // a batch (LEG-27) goes on as a stream of its parts
		var stream bytes.Buffer
		for _, a := range answers {
			stream.WriteString("data: ")
			if err := json.Compact(&stream, a); err != nil {
				return refuse("the body is not JSON", body)
			}
			stream.WriteString("\n\n")
		}
		out = stream.Bytes()
		resp.Header.Set("Content-Type", eventStream)
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(out))
	resp.Body = io.NopCloser(bytes.NewReader(out))
	return resp, nil
}

// parseAnswers splits a JSON body into its JSON-RPC messages and makes sure that one of them answers id. A
// message that is well-formed stays byte for byte.
func parseAnswers(body []byte, id json.RawMessage) ([][]byte, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, bom))
	if len(body) == 0 {
		return nil, errors.New("the body is empty")
	}
	parts := []json.RawMessage{body}
	if body[0] == '[' {
		if err := json.Unmarshal(body, &parts); err != nil {
			return nil, errors.New("the body is not JSON")
		}
	}
	var out [][]byte
	answered := false
	for _, p := range parts {
		part, answers, err := parseAnswer(p, id)
		if err != nil {
			return nil, err
		}
		if part != nil {
			out = append(out, part)
		}
		answered = answered || answers
	}
	if !answered {
		return nil, errors.New("the body holds no answer to the request")
	}
	return out, nil
}

// parseAnswer checks one message. It returns nil for the answer of some other request, which nobody waits for
// here. An error without an id answers the request that it came back for (BASE-10).
func parseAnswer(p, id json.RawMessage) (part []byte, answers bool, _ error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(p, &m); err != nil || m == nil {
		return nil, false, errors.New("the body is not a JSON-RPC message")
	}
	_, isResult := m["result"]
	_, isError := m["error"]
	if !isResult && !isError {
		if len(m["method"]) == 0 {
			return nil, false, errNotMessage
		}
		return p, false, nil
	}
	faithful := string(m["jsonrpc"]) == `"2.0"`
	if isError && (len(m["id"]) == 0 || string(m["id"]) == "null") {
		m["id"], faithful = id, false
	}
	if !bytes.Equal(m["id"], id) {
		return nil, false, nil
	}
	if err := checkAnswer(m); err != nil {
		return nil, false, err
	}
	if faithful {
		return p, true, nil
	}
	part, err := encodeMessage(m)
	return part, true, err
}

// excerpt is the beginning of a body as text on one line.
func excerpt(body []byte) string {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("�"))
	}
	text := strings.Join(strings.Fields(string(body[:min(len(body), 4*maxExcerpt)])), " ")
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
}
