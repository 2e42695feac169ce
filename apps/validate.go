package apps

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"
)

// Content is one entry of a resources/read result, as the server sent it.
type Content struct {
	URI, MIMEType string
	// Text and Blob (base64) are nil where the entry has no such field.
	Text, Blob *string
	// Meta is the entry's _meta.
	Meta json.RawMessage
}

// Limits bound an app. The zero value means the defaults.
type Limits struct {
	// MaxHTMLBytes bounds the decoded HTML; 0 means [MaxHTMLBytes], 1 MiB (M18).
	MaxHTMLBytes int
}

// Reasons an app is refused. Each error of [Validate] wraps one and says what was seen.
var (
	ErrMissing        = errors.New("the app's resource was not returned")
	ErrMediaType      = errors.New("the app's media type is wrong")
	ErrTooLarge       = errors.New("the app is too large")
	ErrMalformed      = errors.New("the app's content is malformed")
	ErrTooManyOrigins = errors.New("the app declares too many origins")
)

// Validate checks what resources/read returned for an app (APP-07, M17, M18): the content with that URI, else the
// only one; its media type, compared as a media type; text or base64 that is UTF-8, not empty and within the limit.
// csp, permissions and prefersBorder come from the content's _meta.ui, or when it has none from that of listed, the
// _meta of the resource's entry in resources/list; never from the tool (APP-10). Each refusal says why, in words
// for a person.
func Validate(uri string, contents []Content, listed json.RawMessage, limits Limits) (*App, error) {
	if why := badURI(uri); why != "" {
		return nil, reject(ErrMissing, "%s, which %s, is no app", brief(uri), why)
	}
	content, err := choose(uri, contents)
	if err != nil {
		return nil, err
	}
	if err := checkMediaType(content.MIMEType); err != nil {
		return nil, err
	}
	limit := limits.MaxHTMLBytes
	if limit <= 0 {
		limit = MaxHTMLBytes
	}
	html, err := decode(content, limit)
	if err != nil {
		return nil, err
	}
	app := &App{ResourceURI: uri, HTML: html}
	ui := object(object(content.Meta)["ui"])
	if ui == nil {
		ui = object(object(listed)["ui"])
	}
	app.CSP, app.DroppedOrigins = readCSP(ui["csp"])
	if size := app.CSP.encodedSize(); size > MaxCSPBytes {
		return nil, reject(ErrTooManyOrigins, "the app's csp takes %d bytes; the limit is %d", size, MaxCSPBytes)
	}
	app.Permissions = readPermissions(ui["permissions"])
	if raw := ui["prefersBorder"]; raw != nil {
		var prefers bool
		if json.Unmarshal(raw, &prefers) == nil {
			app.PrefersBorder = &prefers
		}
	}
	return app, nil
}

// rejection is a sentence for a person over one of the reasons above.
type rejection struct {
	reason error
	text   string
}

func (r *rejection) Error() string { return r.text }
func (r *rejection) Unwrap() error { return r.reason }

func reject(reason error, format string, args ...any) error {
	return &rejection{reason: reason, text: fmt.Sprintf(format, args...)}
}

// choose finds the entry that was asked for. Some servers return one under another spelling of its URI, so a lone
// entry needs no name.
func choose(uri string, contents []Content) (Content, error) {
	for _, c := range contents {
		if c.URI == uri {
			return c, nil
		}
	}
	switch len(contents) {
	case 0:
		return Content{}, reject(ErrMissing, "the server returned nothing for the app %s", brief(uri))
	case 1:
		return contents[0], nil
	}
	return Content{}, reject(ErrMissing, "the server returned %d contents for the app %s, and none under that URI (the first is %s)",
		len(contents), brief(uri), brief(contents[0].URI))
}

// checkMediaType compares as RFC 2045 does: letter case, spaces and quotes do not matter, nor do parameters other
// than profile and charset.
func checkMediaType(got string) error {
	if strings.TrimSpace(got) == "" {
		return reject(ErrMediaType, "the app's resource has no media type; it must be %s", MIMEType)
	}
	mediaType, params, err := mime.ParseMediaType(got)
	if err != nil || mediaType != "text/html" || params["profile"] != "mcp-app" {
		return reject(ErrMediaType, "the app's media type is %s; it must be %s", brief(got), MIMEType)
	}
	switch charset := strings.ToLower(params["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	default:
		return reject(ErrMediaType, "the app's charset is %s; it must be utf-8", brief(charset))
	}
}

// byteOrderMark before a doctype would put the page into quirks mode.
const byteOrderMark = "\uFEFF"

func decode(c Content, limit int) (string, error) {
	var html string
	switch {
	case c.Text != nil && *c.Text != "":
		html = *c.Text
	case c.Blob != nil && *c.Blob != "":
		// Judged before it is decoded: a refusal must not cost the memory that it saves.
		if size := base64Size(*c.Blob); size > limit {
			return "", tooLarge(size, limit)
		}
		raw, err := base64.StdEncoding.DecodeString(*c.Blob)
		if err != nil {
			return "", reject(ErrMalformed, "the app's blob is not base64 (%v)", err)
		}
		html = string(raw)
	case c.Text != nil || c.Blob != nil:
		return "", reject(ErrMalformed, "the app's resource is empty")
	default:
		return "", reject(ErrMalformed, "the app's resource has neither text nor blob")
	}
	if len(html) > limit {
		return "", tooLarge(len(html), limit)
	}
	if !utf8.ValidString(html) {
		return "", reject(ErrMalformed, "the app's HTML is not UTF-8")
	}
	html = strings.TrimPrefix(html, byteOrderMark)
	if strings.TrimSpace(html) == "" {
		return "", reject(ErrMalformed, "the app's resource is empty")
	}
	return html, nil
}

// base64Size is how many bytes a base64 text decodes to, line breaks and padding aside.
func base64Size(s string) int {
	n := len(s) - strings.Count(s, "\n") - strings.Count(s, "\r") - strings.Count(s, "=")
	return n * 3 / 4
}

func tooLarge(size, limit int) error {
	return reject(ErrTooLarge, "the app's HTML is %s bytes; the limit is %s", grouped(size), grouped(limit))
}

// grouped writes a count with its thousands apart: 1,174,015.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// readPermissions keeps the features whose value is an object, as the extension writes them.
func readPermissions(raw json.RawMessage) *Permissions {
	fields := object(raw)
	if fields == nil {
		return nil
	}
	asked := func(name string) json.RawMessage {
		if object(fields[name]) == nil {
			return nil
		}
		return json.RawMessage(`{}`)
	}
	p := Permissions{
		Camera: asked("camera"), Microphone: asked("microphone"),
		Geolocation: asked("geolocation"), ClipboardWrite: asked("clipboardWrite"),
	}
	if p.Camera == nil && p.Microphone == nil && p.Geolocation == nil && p.ClipboardWrite == nil {
		return nil
	}
	return &p
}
