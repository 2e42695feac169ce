package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/usher-mcp/usher/config"
)

// Kind is what went wrong, as far as the next step goes.
type Kind string

// The kinds of errors.
const (
	KindConfig    Kind = "config"     // something is missing in the configuration
	KindNetwork   Kind = "network"    // the server cannot be reached
	KindAddress   Kind = "address"    // something is there, but not this API
	KindKey       Kind = "key"        // the key is missing, wrong, or not allowed to do this
	KindModel     Kind = "model"      // the server has no such model
	KindContext   Kind = "context"    // the conversation is longer than the model takes
	KindRateLimit Kind = "rate_limit" // too much at once
	KindQuota     Kind = "quota"      // no credit left
	KindRequest   Kind = "request"    // the server refuses the request for another reason
	KindServer    Kind = "server"     // the server has a problem of its own
	KindTimeout   Kind = "timeout"    // nothing came for too long
	KindStream    Kind = "stream"     // the answer broke off, or cannot be read
	KindTooLarge  Kind = "too_large"  // the answer is larger than is taken
)

// Error is a failed step. It holds no secret.
type Error struct {
	Kind    Kind
	Model   string
	URL     string // without secrets
	Status  int    // of HTTP; 0 without an answer
	Message string // what happened, in the server's words where it has some
	Hint    string // the next step
	// RetryAfter is how long the server asks to wait; 0 when it does not say.
	RetryAfter time.Duration
	err        error
}

// Error is what happened and the next step.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s at %s: %s", e.Model, e.URL, e.Message)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Hint != "" {
		b.WriteString(". " + e.Hint)
	}
	return b.String()
}

// Unwrap is the cause, where there is one below.
func (e *Error) Unwrap() error { return e.err }

// retryable reports whether the same request may succeed later.
func (e *Error) retryable() bool {
	switch e.Kind {
	case KindRateLimit, KindServer, KindStream:
		return true
	case KindNetwork:
		return e.err != nil && !refused(e.err)
	}
	return e.Status == http.StatusRequestTimeout
}

func (c *Client) fail(kind Kind, status int, message, hint string) *Error {
	return &Error{
		Kind: kind, Model: c.config.Name, URL: config.DisplayURL(c.endpoint), Status: status,
		Message: c.clean(message), Hint: hint,
	}
}

// keyLike matches what servers repeat of a key, whole or with its middle starred out.
var keyLike = regexp.MustCompile(`\b(sk|pk|rk|key|xai|gsk)-[A-Za-z0-9_*.-]{4,}`)

const maxMessage = 600

// clean makes a server's text fit to be shown: without the key, on one line, and not too long.
func (c *Client) clean(text string) string {
	if key := c.config.APIKey.Reveal(); len(key) >= 4 {
		text = strings.ReplaceAll(text, key, config.Mask)
		text = strings.ReplaceAll(text, url.QueryEscape(key), config.Mask)
	}
	text = keyLike.ReplaceAllString(text, config.Mask)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// network says why no answer came.
func (c *Client) network(err error) *Error {
	cause := err
	if u, ok := errors.AsType[*url.Error](err); ok { // its text repeats the address, secrets and all
		cause = u.Err
	}
	hint := "Check the network and model.baseUrl."
	if refused(cause) {
		hint = "Nothing listens there: start the model's server, or correct model.baseUrl."
	}
	e := c.fail(KindNetwork, 0, "no answer: "+cause.Error(), hint)
	e.err = cause
	return e
}

// apiError is what servers put into error bodies, each in its way.
type apiError struct{ message, code string }

func readError(body []byte) apiError {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if len(body) > 0 && body[0] == '[' && json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return apiError{}
	}
	inner := outer
	if raw, ok := outer["error"]; ok {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return apiError{message: text}
		}
		if json.Unmarshal(raw, &inner) != nil || inner == nil {
			inner = outer
		}
	}
	text := func(name string) string {
		var s string
		if json.Unmarshal(inner[name], &s) != nil && len(inner[name]) > 0 {
			s = string(inner[name])
		}
		if s == "null" {
			s = ""
		}
		return s
	}
	e := apiError{message: text("message"), code: text("code") + " " + text("type") + " " + text("status")}
	if e.message == "" {
		e.message = text("detail")
	}
	return e
}

var (
	contextWords = regexp.MustCompile(`(?i)context.{0,3}(length|window|size)|maximum.{0,12}context|too many (input )?tokens|prompt is too long|input.{0,10}too long|exceeds? the.{0,30}token`)
	modelWords   = regexp.MustCompile(`(?i)\bmodels?\b.{0,80}(not (be )?found|does not exist|unknown|not available|not supported|invalid|not loaded)|(no such|unknown|invalid|unsupported) model`)
	quotaWords   = regexp.MustCompile(`(?i)insufficient_quota|insufficient.{0,5}(credit|balance|quota)|billing|payment`)
)

// refusal is the error for an answer that is not the one wanted.
func (c *Client) refusal(resp *http.Response, body []byte) *Error {
	status := resp.StatusCode
	if status >= 300 && status < 400 {
		to := resp.Header.Get("Location")
		if u, err := resp.Request.URL.Parse(to); err == nil {
			to = u.String()
		}
		return c.fail(KindAddress, status, "the server sends requests on to "+config.DisplayURL(to), "Set model.baseUrl to the address that it should be.")
	}
	if page(resp.Header.Get("Content-Type"), body) && status != http.StatusUnauthorized && status != http.StatusForbidden && status < 500 {
		return c.fail(KindAddress, status, "a web page answers, not a model", "Check model.baseUrl: it usually ends in /v1.")
	}
	a := readError(body)
	if a.message == "" && !page(resp.Header.Get("Content-Type"), body) {
		a.message = string(body)
	}
	if strings.TrimSpace(a.message) == "" {
		a.message = strings.ToLower(http.StatusText(status))
	}
	e := c.classify(status, a)
	e.RetryAfter = retryAfter(resp.Header, c.now())
	return e
}

func page(contentType string, body []byte) bool {
	return strings.HasPrefix(contentType, "text/html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// classify finds the kind of an error that a server reported, with a status or within a stream (status 0).
func (c *Client) classify(status int, a apiError) *Error {
	text := a.code + " " + a.message
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusPaymentRequired, status != http.StatusBadRequest && quotaWords.MatchString(text):
		return c.fail(KindQuota, status, a.message, "Add credit to the account behind the key, or use another one.")
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has("invalid_api_key", "api key not valid", "authentication_error"):
		hint := "Check the key: model.apiKey, USHER_MODEL_API_KEY or OPENAI_API_KEY."
		if c.config.APIKey == "" {
			hint = "No key is set: give one as model.apiKey, USHER_MODEL_API_KEY or OPENAI_API_KEY."
		}
		return c.fail(KindKey, status, a.message, hint)
	case status == http.StatusTooManyRequests, has("rate_limit_exceeded", "rate_limit_error", "resource_exhausted"):
		return c.fail(KindRateLimit, status, a.message, "Wait a little, or lower the load.")
	case has("context_length_exceeded"), status == http.StatusRequestEntityTooLarge, status < 500 && contextWords.MatchString(text):
		return c.fail(KindContext, status, a.message, "Compact the conversation, or start a new one.")
	case has("model_not_found"), status >= 400 && status < 500 && modelWords.MatchString(a.message):
		return c.fail(KindModel, status, a.message, "Check model.name: the server at this address has no model of that name for this key.")
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return c.fail(KindAddress, status, a.message, "Check model.baseUrl: it usually ends in /v1.")
	case status >= 500, status == 0:
		return c.fail(KindServer, status, a.message, "Try again later.")
	}
	return c.fail(KindRequest, status, a.message, "")
}
