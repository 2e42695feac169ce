package apps_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/apps"
)

const uri = "ui://dashboard"

func text(s string) apps.Content {
	return apps.Content{URI: uri, MIMEType: apps.MIMEType, Text: &s}
}

func blob(s string) apps.Content {
	return apps.Content{URI: uri, MIMEType: apps.MIMEType, Blob: &s}
}

func typed(mediaType string) apps.Content {
	c := text("<p>hi")
	c.MIMEType = mediaType
	return c
}

func named(uri, html string) apps.Content {
	c := text(html)
	c.URI = uri
	return c
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	both := text("<p>text")
	both.Blob = blob("!").Blob
	emptyText := blob("PHA+YmxvYg==")
	emptyText.Text = new("")
	for name, tt := range map[string]struct {
		contents []apps.Content
		html     string
	}{
		"text":                       {[]apps.Content{text("<p>hi")}, "<p>hi"},
		"blob":                       {[]apps.Content{blob("PHA+aGk=")}, "<p>hi"},
		"blob in lines":              {[]apps.Content{blob("PHA+\r\naGk=\n")}, "<p>hi"},
		"text before blob":           {[]apps.Content{both}, "<p>text"},
		"blob behind an empty text":  {[]apps.Content{emptyText}, "<p>blob"},
		"the named one of several":   {[]apps.Content{named("ui://a", "a"), text("<p>mine"), named("ui://b", "b")}, "<p>mine"},
		"the only one, another name": {[]apps.Content{named("ui://dashboard/", "<p>hi")}, "<p>hi"},
		"a byte order mark":          {[]apps.Content{text("\uFEFF<!doctype html><p>")}, "<!doctype html><p>"},
		"letter case":                {[]apps.Content{typed("Text/HTML;Profile=mcp-app")}, "<p>hi"},
		"spaces":                     {[]apps.Content{typed(" text/html ; profile=mcp-app ")}, "<p>hi"},
		"a quoted profile":           {[]apps.Content{typed(`text/html; profile="mcp-app"`)}, "<p>hi"},
		"a charset":                  {[]apps.Content{typed("text/html; charset=UTF-8; profile=mcp-app")}, "<p>hi"},
		"exactly the limit":          {[]apps.Content{text(strings.Repeat("x", apps.MaxHTMLBytes))}, strings.Repeat("x", apps.MaxHTMLBytes)},
		"beyond ASCII":               {[]apps.Content{text("<p>日本 €")}, "<p>日本 €"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := apps.Validate(uri, tt.contents, nil, apps.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if want := (&apps.App{ResourceURI: uri, HTML: tt.html}); !cmp.Equal(got, want) {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	long := base64.StdEncoding.EncodeToString(make([]byte, apps.MaxHTMLBytes+1))
	for name, tt := range map[string]struct {
		contents []apps.Content
		reason   error
		says     []string
	}{
		"nothing":           {nil, apps.ErrMissing, []string{uri, "nothing"}},
		"none of several":   {[]apps.Content{named("ui://a", "a"), named("ui://b", "b")}, apps.ErrMissing, []string{"2 contents", "ui://a"}},
		"no media type":     {[]apps.Content{typed("")}, apps.ErrMediaType, []string{"no media type", apps.MIMEType}},
		"plain HTML":        {[]apps.Content{typed("text/html")}, apps.ErrMediaType, []string{`"text/html"`, apps.MIMEType}},
		"another type":      {[]apps.Content{typed("application/json;profile=mcp-app")}, apps.ErrMediaType, []string{"application/json"}},
		"another profile":   {[]apps.Content{typed("text/html;profile=mcp-app2")}, apps.ErrMediaType, []string{"mcp-app2"}},
		"a suffixed type":   {[]apps.Content{typed("text/html+skybridge")}, apps.ErrMediaType, []string{"skybridge"}},
		"two profiles":      {[]apps.Content{typed("text/html;profile=x;profile=mcp-app")}, apps.ErrMediaType, nil},
		"garbage":           {[]apps.Content{typed(";;;")}, apps.ErrMediaType, []string{";;;"}},
		"another charset":   {[]apps.Content{typed("text/html;profile=mcp-app;charset=utf-16")}, apps.ErrMediaType, []string{"utf-16"}},
		"one byte too many": {[]apps.Content{text(strings.Repeat("x", apps.MaxHTMLBytes+1))}, apps.ErrTooLarge, []string{"1,048,577", "1,048,576"}},
		"too large decoded": {[]apps.Content{blob(long)}, apps.ErrTooLarge, []string{"1,048,577", "1,048,576"}},
		"neither":           {[]apps.Content{{URI: uri, MIMEType: apps.MIMEType}}, apps.ErrMalformed, []string{"neither text nor blob"}},
		"empty text":        {[]apps.Content{text("")}, apps.ErrMalformed, []string{"empty"}},
		"only space":        {[]apps.Content{text("\n\t ")}, apps.ErrMalformed, []string{"empty"}},
		"empty blob":        {[]apps.Content{blob("")}, apps.ErrMalformed, []string{"empty"}},
		"no base64":         {[]apps.Content{blob("<p>hi</p>")}, apps.ErrMalformed, []string{"base64"}},
		"cut base64":        {[]apps.Content{blob("PHA+aGk")}, apps.ErrMalformed, []string{"base64"}},
		"not UTF-8 in blob": {[]apps.Content{blob("//79")}, apps.ErrMalformed, []string{"UTF-8"}},
		"not UTF-8 in text": {[]apps.Content{text("<p>\xff")}, apps.ErrMalformed, []string{"UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := apps.Validate(uri, tt.contents, nil, apps.Limits{})
			if got != nil || !errors.Is(err, tt.reason) {
				t.Fatalf("Validate = %v, %v; want the reason %v", got, err, tt.reason)
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if len(err.Error()) > 600 {
				t.Errorf("the reason has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestValidateRefusesAForeignURI(t *testing.T) {
	t.Parallel()
	if _, err := apps.Validate("https://evil.example/", []apps.Content{text("<p>")}, nil, apps.Limits{}); !errors.Is(err, apps.ErrMissing) {
		t.Errorf("err = %v", err)
	}
}

func TestValidateKeepsToTheGivenLimit(t *testing.T) {
	t.Parallel()
	limits := apps.Limits{MaxHTMLBytes: 5}
	if _, err := apps.Validate(uri, []apps.Content{text("<p>ab")}, nil, limits); err != nil {
		t.Errorf("five bytes: %v", err)
	}
	if _, err := apps.Validate(uri, []apps.Content{text("<p>abc")}, nil, limits); !errors.Is(err, apps.ErrTooLarge) {
		t.Errorf("six bytes: %v", err)
	}
	if _, err := apps.Validate(uri, []apps.Content{text(strings.Repeat("x", 2<<20))}, nil, apps.Limits{MaxHTMLBytes: 2 << 20}); err != nil {
		t.Errorf("a limit raised on purpose: %v", err)
	}
}

func TestMetadataComesFromTheContentThenTheListEntry(t *testing.T) {
	t.Parallel()
	const onContent = `{"ui":{"csp":{"connectDomains":["https://content.example"]},"prefersBorder":true}}`
	const onEntry = `{"ui":{"csp":{"connectDomains":["https://entry.example"]},"permissions":{"camera":{}}}}`
	content := &apps.App{
		ResourceURI: uri, HTML: "<p>", PrefersBorder: new(true),
		CSP: &apps.CSP{ConnectDomains: []string{"https://content.example"}},
	}
	entry := &apps.App{
		ResourceURI: uri, HTML: "<p>", Permissions: &apps.Permissions{Camera: json.RawMessage(`{}`)},
		CSP: &apps.CSP{ConnectDomains: []string{"https://entry.example"}},
	}
	bare := &apps.App{ResourceURI: uri, HTML: "<p>"}
	for name, tt := range map[string]struct {
		content, entry string
		want           *apps.App
	}{
		"both":                     {onContent, onEntry, content},
		"content only":             {onContent, "", content},
		"entry only":               {"", onEntry, entry},
		"content has other _meta":  {`{"x":1}`, onEntry, entry},
		"content's ui is null":     {`{"ui":null}`, onEntry, entry},
		"content's ui is a string": {`{"ui":"x"}`, onEntry, entry},
		"content's ui is empty":    {`{"ui":{}}`, onEntry, bare},
		"neither":                  {"", "", bare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := text("<p>")
			c.Meta = json.RawMessage(tt.content)
			got, err := apps.Validate(uri, []apps.Content{c}, json.RawMessage(tt.entry), apps.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetadataOfTheWrongShapeIsLeftOut(t *testing.T) {
	t.Parallel()
	c := text("<p>")
	c.Meta = json.RawMessage(`{"ui":{
		"csp":{"connectDomains":"https://a.example","resourceDomains":["https://b.example",7,"https://b.example","b.example"],"frameDomains":null},
		"permissions":{"camera":true,"microphone":{"x":1},"clipboardWrite":null},
		"prefersBorder":"yes"}}`)
	got, err := apps.Validate(uri, []apps.Content{c}, nil, apps.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := &apps.App{
		ResourceURI: uri, HTML: "<p>",
		CSP:            &apps.CSP{ResourceDomains: []string{"https://b.example"}},
		Permissions:    &apps.Permissions{Microphone: json.RawMessage(`{}`)},
		DroppedOrigins: []string{`resourceDomains: "7"`, `resourceDomains: "b.example"`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyOriginsAreRefused(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 500 {
		list = append(list, fmt.Sprintf("https://%d.example.com", i))
	}
	domains, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	c := text("<p>")
	c.Meta = json.RawMessage(`{"ui":{"csp":{"connectDomains":` + string(domains) + `}}}`)
	if _, err := apps.Validate(uri, []apps.Content{c}, nil, apps.Limits{}); !errors.Is(err, apps.ErrTooManyOrigins) {
		t.Errorf("err = %v", err)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	in := `{"type":"mcp_app","fallbackText":"Revenue: <4 rows>","html":"<p>","csp":{},"permissions":{},"toolInput":{},"toolResult":{"content":[]},"server":"tour","resourceUri":"ui://x","later":1}`
	out, ok := apps.Compact(json.RawMessage(in))
	var got, want any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"type":"mcp_app","fallbackText":"Revenue: <4 rows>","html":"","server":"tour","resourceUri":"ui://x","later":1}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("ok = %v\n%s", ok, diff)
	}
	if !strings.Contains(string(out), "<4 rows>") {
		t.Errorf("the text is written another way: %s", out)
	}
	for _, other := range []string{string(out), `{"type":"mcp_app"}`, `{"type":"text","fallbackText":"x","html":"<p>"}`, `{}`, `[]`, `nonsense`, ``} {
		if out, ok := apps.Compact(json.RawMessage(other)); ok || string(out) != other {
			t.Errorf("Compact(%s) = %s, %v; want it untouched", other, out, ok)
		}
	}
}
