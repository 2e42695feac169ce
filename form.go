package usher

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/usher-mcp/usher/schema"
)

const (
	// maxFormFields bounds a form; maxURL the address of a question, in bytes.
	maxFormFields = 100
	maxURL        = 8 << 10
)

// formSchema is the flat object that a form is made from.
type formSchema struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

type formField struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Format string `json:"format"`
	Items  *struct {
		Type  string            `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
	} `json:"items"`
}

// checkForm says whether a form can be shown: a flat object of texts, numbers, switches and choices (ELI-04). secret
// says that a field looks like one for a secret, which a form must not ask for (ELI-11).
func checkForm(raw json.RawMessage) (secret bool, warnings []string, _ error) {
	var form formSchema
	if err := json.Unmarshal(raw, &form); err != nil {
		return false, nil, fmt.Errorf("its form cannot be read: %w", err)
	}
	switch {
	case form.Type != "object":
		return false, nil, fmt.Errorf("its form is of type %q, not object", form.Type)
	case len(form.Properties) > maxFormFields:
		return false, nil, fmt.Errorf("its form has %d fields; at most %d can be shown", len(form.Properties), maxFormFields)
	}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		var field formField
		if err := json.Unmarshal(form.Properties[name], &field); err != nil {
			return false, nil, fmt.Errorf("field %q of its form cannot be read: %w", name, err)
		}
		switch field.Type {
		case "string", "number", "integer", "boolean":
		case "array":
			if field.Items == nil || len(field.Items.Enum)+len(field.Items.AnyOf)+len(field.Items.OneOf) == 0 {
				return false, nil, fmt.Errorf("field %q of its form is a list of anything, which forms cannot have", name)
			}
		default:
			return false, nil, fmt.Errorf("field %q of its form is of type %q, which forms cannot have", name, field.Type)
		}
		if looksSecret(name) || looksSecret(field.Title) {
			secret = true
			warnings = append(warnings, fmt.Sprintf("The field %q looks like one for a secret. Servers must not ask for secrets this way; what you enter goes to the server as it is.", name))
		}
	}
	return secret, warnings, nil
}

func looksSecret(name string) bool {
	n := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "credential", "creditcard", "cardnumber", "cvv"},
		func(word string) bool { return strings.Contains(n, word) })
}

// checkAnswer checks a filled form against the schema of its form.
func checkAnswer(raw, content json.RawMessage) error {
	var form formSchema
	if err := json.Unmarshal(raw, &form); err != nil {
		return &FieldError{"content", "the form cannot be read"}
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(content, &values) != nil || values == nil {
		return &FieldError{"content", "want a JSON object"}
	}
	for _, name := range form.Required {
		if _, given := values[name]; !given {
			return &FieldError{"content." + name, "it is missing"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, known := form.Properties[name]
		if !known {
			return &FieldError{"content." + name, "the form has no such field"}
		}
		if reason := checkField(field, values[name]); reason != "" {
			return &FieldError{"content." + name, reason}
		}
	}
	return nil
}

// checkField says what is wrong with the value of one field, "" for nothing.
func checkField(raw, value json.RawMessage) string {
	// Which values a field takes, its own keywords say; a schema that cannot be compiled lets every value of the type by.
	if v, err := schema.Compile(raw); err == nil {
		if err := v.Validate(value); err != nil {
			return reasonOf(err.Error())
		}
	}
	var field formField
	var text string
	if json.Unmarshal(raw, &field) != nil || field.Type != "string" {
		return ""
	}
	if json.Unmarshal(value, &text) != nil {
		return "want text"
	}
	ok := true
	switch field.Format {
	case "email":
		a, err := mail.ParseAddress(text)
		ok = err == nil && a.Address == text
	case "uri":
		u, err := url.Parse(text)
		ok = err == nil && u.Scheme != ""
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	}
	if !ok {
		return "want " + map[string]string{
			"email": "an e-mail address", "uri": "a URI, such as https://example.com", "date": "a date, such as 2026-12-01",
			"date-time": "a time, such as 2026-12-01T10:00:00Z",
		}[field.Format]
	}
	return ""
}

// reasonOf leaves out where in the schema the validator was, which is always its root here.
func reasonOf(text string) string {
	for _, prefix := range []string{"validating root: ", "validating "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// checkURL says whether an address may be offered to the person, and what is to be noticed about it (ELI-16, ELI-18).
func checkURL(address string) (host string, warnings []string, _ error) {
	if len(address) > maxURL {
		return "", nil, fmt.Errorf("its address has %d bytes; at most %d can be shown", len(address), maxURL)
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r == ' ' || !unicode.IsGraphic(r) }) {
		return "", nil, fmt.Errorf("its address holds characters that do not show")
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", nil, fmt.Errorf("its address is no web address")
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", nil, fmt.Errorf("its address begins with %q; only https may be opened", u.Scheme+":")
	}
	if u.User != nil {
		warnings = append(warnings, fmt.Sprintf("What stands before the @ is not the place it leads to: that is %s.", u.Host))
	}
	if foreign(u.Hostname()) {
		warnings = append(warnings, fmt.Sprintf("The name %s holds letters that can be mistaken for others. Make sure that it is the place you mean.", u.Hostname()))
	}
	if ip != nil && !loopback {
		warnings = append(warnings, "The address is a number and not a name, so it does not tell whose it is.")
	}
	return u.Host, warnings, nil
}

// foreign reports whether a host's name is written, or encodes, letters beyond ASCII.
func foreign(host string) bool {
	for label := range strings.SplitSeq(strings.ToLower(host), ".") {
		if strings.HasPrefix(label, "xn--") || strings.ContainsFunc(label, func(r rune) bool { return r > unicode.MaxASCII }) {
			return true
		}
	}
	return false
}
