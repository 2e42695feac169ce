package conversation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/model"
)

const (
	// resultCap bounds the text of one result that a model sees, in bytes; stepCap that of all results of a step. A
	// model with a small context gets less.
	resultCap = 64 << 10
	stepCap   = 256 << 10
	leastCap  = 2 << 10
	// directCap bounds what a model sees of a result that the person got by running a tool themselves.
	directCap = 8 << 10
	// maxImage bounds an image that goes to the model, in bytes of base64.
	maxImage = 8 << 20
	// imageTokens is about what a model counts for an image.
	imageTokens = 1500
)

// view is what a model sees of a result: its text whole, and its images.
type view struct {
	text   string
	images []model.Image
}

// block is a content block of a CallToolResult, as far as a model sees it.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Resource *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     *string `json:"blob"`
	} `json:"resource"`
}

// viewOf is a model's view of a CallToolResult: its text where there is any, else its structured content; never both,
// since servers put the same into both. What is neither text nor an image becomes a line that names it. It depends on
// the result alone; apps are no part of it.
func viewOf(raw json.RawMessage) view {
	var result struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		IsError           bool              `json:"isError"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return view{text: "[a result that cannot be read]"}
	}
	var (
		v      view
		parts  []string
		usable bool
	)
	if result.IsError {
		parts = append(parts, "The tool reported an error:")
	}
	for _, one := range result.Content {
		var b block
		if json.Unmarshal(one, &b) != nil {
			parts = append(parts, "[content that cannot be read]")
			continue
		}
		text, isText, image := b.view()
		if image != nil {
			v.images = append(v.images, *image)
		}
		if text == "" {
			continue
		}
		usable = usable || isText
		parts = append(parts, text)
	}
	if structured := string(result.StructuredContent); !usable && structured != "" && structured != "null" {
		parts = append(parts, structured)
	}
	if v.text = strings.Join(parts, "\n\n"); v.text == "" && len(v.images) == 0 {
		v.text = "[an empty result]"
	}
	return v
}

func (b block) view() (text string, isText bool, image *model.Image) {
	switch b.Type {
	case "text":
		return b.Text, strings.TrimSpace(b.Text) != "", nil
	case "image":
		if why := unusable(b.MIMEType, b.Data); why != "" {
			return fmt.Sprintf("[an image, %s, %s: %s]", orUnknown(b.MIMEType), size(decoded(b.Data)), why), false, nil
		}
		return "", false, &model.Image{MIMEType: b.MIMEType, Data: b.Data}
	case "audio":
		return fmt.Sprintf("[a sound, %s, %s]", orUnknown(b.MIMEType), size(decoded(b.Data))), false, nil
	case "resource_link":
		name := b.Title
		if name == "" {
			name = b.Name
		}
		return fmt.Sprintf("[a resource: %s, %s, %s]", name, orUnknown(b.MIMEType), b.URI), false, nil
	case "resource":
		switch r := b.Resource; {
		case r == nil:
			return "[a resource without content]", false, nil
		case r.Text != nil:
			return fmt.Sprintf("[the resource %s]\n%s", r.URI, *r.Text), true, nil
		case r.Blob != nil && unusable(r.MIMEType, *r.Blob) == "":
			return fmt.Sprintf("[the resource %s]", r.URI), false, &model.Image{MIMEType: r.MIMEType, Data: *r.Blob}
		case r.Blob != nil:
			return fmt.Sprintf("[the resource %s, %s, %s]", r.URI, orUnknown(r.MIMEType), size(decoded(*r.Blob))), false, nil
		default:
			return fmt.Sprintf("[the resource %s]", r.URI), false, nil
		}
	}
	return fmt.Sprintf("[content of the type %.40q]", b.Type), false, nil
}

// unusable says why models cannot take an image, "" when they can.
func unusable(mime, data string) string {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return "models do not take this kind"
	}
	if len(data) > maxImage {
		return "it is too large for a model"
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		return "it is damaged"
	}
	return ""
}

func decoded(data string) int { return base64.StdEncoding.DecodedLen(len(data)) }

func orUnknown(s string) string {
	if s == "" {
		return "unknown kind"
	}
	return s
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// endText is a model's view of a call that ended without a result.
func endText(f api.CallFinished) string {
	why := ""
	if f.Error != nil {
		why = " " + f.Error.Message
		if f.Error.Hint != "" {
			why += " " + f.Error.Hint
		}
	}
	switch f.Outcome {
	case api.OutcomeDenied:
		return "This call was not allowed, so nothing ran." + why
	case api.OutcomeCancelled:
		return "This call was cancelled before it had a result; part of its work may be done." + why
	case api.OutcomeUnknown:
		return "OUTCOME UNKNOWN: the connection was lost before the answer, so the tool may or may not have done its work. Find out before running it again." + why
	default:
		return "This call failed; there is no result." + why
	}
}

// capText shortens a text to about limit bytes, and to a quarter of that in tokens: its head and its tail stay, and a
// line between them says how to read the rest.
func capText(text string, limit int, name string) string {
	if tokens := estimate(text); tokens > limit/4 {
		limit = min(limit, int(int64(len(text))*int64(limit/4)/int64(tokens)))
	}
	if len(text) <= limit {
		return text
	}
	head := backTo(text, limit*3/4)
	tail := backTo(text, len(text)-limit/4)
	return text[:head] + leftOut(tail-head, len(text), head, name) + "\n\n" + text[tail:]
}

// capHead is capText for the beginning of a text of total bytes.
func capHead(beginning string, total, limit int, name string) string {
	if tokens := estimate(beginning); tokens > limit/4 {
		limit = min(limit, int(int64(len(beginning))*int64(limit/4)/int64(tokens)))
	}
	head := backTo(beginning, min(limit, len(beginning)-len("…")))
	return beginning[:head] + leftOut(total-head, total, head, name)
}

func leftOut(n, total, offset int, name string) string {
	return fmt.Sprintf("\n\n[… %d of %d bytes are left out here. All of it is kept: %s with {\"name\":%q,\"offset\":%d} reads on. …]",
		n, total, readOutputName, name, offset)
}

// backTo is the last place at or before n where a character begins.
func backTo(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// estimate is about how many tokens a text has: a quarter of its ASCII, and one for each other character.
func estimate(text string) int {
	ascii, other := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(c):
			other++
		}
	}
	return (ascii+3)/4 + other
}
