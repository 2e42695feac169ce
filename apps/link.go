package apps

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scheme starts the URI of every app.
const Scheme = "ui://"

// maxURIBytes bounds an app's URI. It travels in events, logs and sentences for people.
const maxURIBytes = 2048

// Link is what a tool's _meta says about its app and about who may see the tool.
type Link struct {
	// URI is the ui:// resource of the tool's app; empty without one.
	URI string
	// ForModel is false for a tool that models must not be shown (APP-03), ForApp for one that apps must not
	// call (APP-04). Both are true when the tool does not say.
	ForModel, ForApp bool
	// Problem says why a declared app was dropped, in one sentence. The tool itself stands.
	Problem string
}

// FromTool reads a tool's _meta (APP-02, APP-03): ui.resourceUri, else the older flat key "ui/resourceUri", and
// ui.visibility. A csp or permissions on a tool count for nothing. It never fails: a tool with an unusable link is
// a tool without an app, with the reason in Problem.
func FromTool(meta json.RawMessage) Link {
	link := Link{ForModel: true, ForApp: true}
	fields := object(meta)
	ui := object(fields["ui"])
	link.ForModel, link.ForApp = visibility(ui["visibility"])

	name, raw := "_meta.ui.resourceUri", ui["resourceUri"]
	if raw == nil {
		name, raw = `_meta["ui/resourceUri"]`, fields["ui/resourceUri"]
	}
	if raw == nil {
		return link
	}
	var uri string
	if err := json.Unmarshal(raw, &uri); err != nil {
		link.Problem = "the tool's app cannot be shown: " + name + " is not a string"
		return link
	}
	if why := badURI(uri); why != "" {
		link.Problem = fmt.Sprintf("the tool's app cannot be shown: %s is %s, which %s", name, brief(uri), why)
		return link
	}
	link.URI = uri
	return link
}

// visibility reads who may see a tool. An array means what it lists, the empty one nobody. Anything else that is
// not absent is a mistake: the model keeps the tool, apps do not get it.
func visibility(raw json.RawMessage) (forModel, forApp bool) {
	if raw == nil {
		return true, true
	}
	var listed []json.RawMessage
	if json.Unmarshal(raw, &listed) != nil {
		return true, false
	}
	for _, item := range listed {
		var who string
		if json.Unmarshal(item, &who) != nil {
			continue
		}
		forModel = forModel || who == "model"
		forApp = forApp || who == "app"
	}
	return forModel, forApp
}

// badURI says what is wrong with an app's URI, to follow "which"; empty when nothing is.
func badURI(uri string) string {
	rest, ok := strings.CutPrefix(uri, Scheme)
	switch {
	case !ok:
		return "does not start with " + Scheme
	case rest == "":
		return "names nothing"
	case len(uri) > maxURIBytes:
		return fmt.Sprintf("is longer than %d bytes", maxURIBytes)
	case !utf8.ValidString(uri):
		return "is not UTF-8"
	case strings.ContainsFunc(uri, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return "contains a space or a control character"
	}
	return ""
}

// object reads a JSON object one level deep; anything else has no fields. A field that is null counts as absent.
func object(raw json.RawMessage) map[string]json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return fields
}

// brief quotes what a server sent so that it fits into a sentence.
func brief(s string) string {
	const most = 120
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", s[:cut])
}
