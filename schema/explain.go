package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Explanation is a schema before and after, and each change between.
type Explanation struct {
	Profile Profile         `json:"profile"`
	Before  json.RawMessage `json:"before,omitempty"`
	Result
}

// Explain normalises a schema and keeps the original beside it. The error is that of [Normalise].
func Explain(raw json.RawMessage, profile Profile) (Explanation, error) {
	r, err := Normalise(raw, profile)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Profile: profile, Result: r}
	if json.Valid(raw) {
		e.Before = raw
	}
	return e, nil
}

// WriteTo writes the explanation for a person: both schemas, indented, and the changes, one on a line. It implements
// [io.WriterTo].
func (e Explanation) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	section := func(title string, raw json.RawMessage) {
		fmt.Fprintf(&b, "%s:\n", title)
		start := b.Len()
		if len(raw) == 0 {
			b.WriteString("(none)")
		} else if json.Indent(&b, raw, "", "  ") != nil {
			b.Truncate(start)
			b.WriteString("(not JSON)")
		}
		b.WriteString("\n\n")
	}
	section("Before", e.Before)
	if len(e.Changes) == 0 {
		fmt.Fprintf(&b, "For %s nothing changes.\n", e.Profile)
	} else {
		section("For "+string(e.Profile), e.Schema)
		b.WriteString("Changes:\n")
		for _, c := range e.Changes {
			path := c.Path
			if path == "" {
				path = "(root)"
			}
			fmt.Fprintf(&b, "  %s: %s: %s\n", path, c.What, c.Why)
		}
	}
	if e.Profile == OpenAIStrict {
		fmt.Fprintf(&b, "\nStrict mode: %v\n", e.Strict)
	}
	return b.WriteTo(w)
}
