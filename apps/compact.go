package apps

import (
	"bytes"
	"encoding/json"
)

// displayType is the type of a display that carries an app.
const displayType = "mcp_app"

// Compact empties an app's display for a session's compacted history (M25): type, names and fallbackText stay as
// they were, html becomes empty, and the tool's input and result, csp and permissions go, since no frame is ever
// made from it again. ok is false, and display comes back untouched, when it is not an app's display or has no html
// to lose. Fields that this version does not know are kept.
func Compact(display json.RawMessage) (compacted json.RawMessage, ok bool) {
	fields := object(display)
	if string(fields["type"]) != `"`+displayType+`"` {
		return display, false
	}
	if html := string(fields["html"]); html == "" || html == `""` {
		return display, false
	}
	fields["html"] = json.RawMessage(`""`)
	for _, name := range []string{"csp", "permissions", "toolInput", "toolResult"} {
		delete(fields, name)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // what stays is kept as it was written
	if err := encoder.Encode(fields); err != nil {
		return display, false
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true
}
