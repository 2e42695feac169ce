package ushertest

import (
	"encoding/base64"
	"strings"
)

const (
	readmeURI   = "fx://readme"
	pixelURI    = "fx://pixel"
	templateURI = "fx://item/{id}"
	appURI      = "ui://fx/dashboard"
)

// pixel is a PNG of one transparent pixel, in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func (s *server) resources() []object {
	list := []object{
		{"uri": readmeURI, "name": "readme", "title": "Read me", "mimeType": "text/plain", "size": len(readme)},
		{"uri": pixelURI, "name": "pixel", "mimeType": "image/png"},
	}
	if a := s.opts.app; a != nil && !a.missing {
		entry := object{"uri": appURI, "name": "dashboard", "mimeType": a.mime}
		switch {
		case a.listed:
			entry["_meta"] = appMeta()
		case a.csp:
			entry["_meta"] = object{"ui": object{"prefersBorder": true}}
		}
		list = append(list, entry)
	}
	return list
}

func templates() []object {
	return []object{{"uriTemplate": templateURI, "name": "item", "title": "Item", "mimeType": "text/plain"}}
}

const readme = "This server is made for tests."

func (c *call) read() {
	uri := c.params.URI
	content := object{"uri": uri, "mimeType": "text/plain"}
	item, isItem := strings.CutPrefix(uri, "fx://item/")
	switch {
	case uri == readmeURI:
		content["text"] = readme
	case uri == pixelURI:
		content["mimeType"], content["blob"] = "image/png", pixel
	case isItem && item != "":
		content["text"] = "item " + item
	case uri == appURI && c.srv.opts.app != nil && !c.srv.opts.app.missing:
		if c.srv.opts.app.fails {
			c.fail(-32603, "the resource cannot be read", nil)
			return
		}
		content = c.srv.opts.app.content()
	default:
		code := int64(codeInvalidParams)
		if !c.modern {
			code = codeOldNotFound
		}
		c.fail(code, "no such resource", object{"uri": uri})
		return
	}
	c.reply(object{"contents": []object{content}}, true)
}

// appPage is an app without a bundler: it announces itself, sizes itself, and shows the text of the tool's result.
const appPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Dashboard</title></head>
<body>
<h1>Dashboard</h1>
<p id="input">no input</p>
<p id="result">no result</p>
<script>
"use strict";
const send = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
const put = (id, text) => { document.getElementById(id).textContent = text; };
addEventListener("message", (event) => {
  if (event.source !== parent) return;
  const m = event.data;
  if (m.id === 1 && m.result) {
    send({ method: "ui/notifications/initialized", params: {} });
    send({ method: "ui/notifications/size-changed", params: { height: document.documentElement.scrollHeight } });
  } else if (m.method === "ui/notifications/tool-input") {
    put("input", JSON.stringify(m.params.arguments));
  } else if (m.method === "ui/notifications/tool-result") {
    put("result", m.params.content.map((c) => c.text || c.type).join(" "));
  } else if (m.method === "ui/notifications/tool-cancelled") {
    put("result", "cancelled");
  } else if (m.method === "ui/resource-teardown" || m.method === "ping") {
    send({ id: m.id, result: {} });
  }
});
send({ id: 1, method: "ui/initialize", params: {
  appInfo: { name: "fx dashboard", version: "1.0.0" }, appCapabilities: {}, protocolVersion: "2026-01-26" } });
</script>
</body>
</html>
`

func (a *appOptions) content() object {
	page := appPage
	if pad := a.size - len(page); pad > 0 {
		page += "<!--" + strings.Repeat("x", max(pad-len("<!---->"), 0)) + "-->"
	}
	if a.binary {
		page = "\xff\xfe" + page
	}
	content := object{"uri": appURI, "mimeType": a.mime}
	if a.uri != "" {
		content["uri"] = a.uri
	}
	if a.blob {
		content["blob"] = base64.StdEncoding.EncodeToString([]byte(page))
	} else {
		content["text"] = page
	}
	if a.csp {
		content["_meta"] = appMeta()
	}
	return content
}

func appMeta() object {
	return object{"ui": object{
		"csp":           object{"connectDomains": []string{"https://api.example.com"}, "resourceDomains": []string{"https://cdn.example.com"}},
		"prefersBorder": true,
	}}
}
