package apps

import "encoding/json"

// Constants of the extension (apps spec 2026-01-26).
const (
	// Extension is the extension id that clients advertise.
	Extension = "io.modelcontextprotocol/ui"
	// MIMEType is the media type of an app's HTML.
	MIMEType = "text/html;profile=mcp-app"
	// MaxHTMLBytes is the default bound of an app's decoded HTML: 1 MiB.
	MaxHTMLBytes = 1 << 20
)

// CSP are the origins an app declares it needs, by what it needs them for. Only whole ASCII origins stay.
type CSP struct {
	ConnectDomains  []string `json:"connectDomains,omitempty"`
	ResourceDomains []string `json:"resourceDomains,omitempty"`
	FrameDomains    []string `json:"frameDomains,omitempty"`
	BaseURIDomains  []string `json:"baseUriDomains,omitempty"`
}

// Permissions are the browser features an app asks for. Usher grants none of them yet.
type Permissions struct {
	Camera         json.RawMessage `json:"camera,omitempty"`
	Microphone     json.RawMessage `json:"microphone,omitempty"`
	Geolocation    json.RawMessage `json:"geolocation,omitempty"`
	ClipboardWrite json.RawMessage `json:"clipboardWrite,omitempty"`
}

// App is a validated app: what a page needs to draw it beside a tool's input and result.
type App struct {
	ResourceURI   string
	HTML          string
	CSP           *CSP
	Permissions   *Permissions
	PrefersBorder *bool
	// DroppedOrigins are declared domains that are not whole ASCII origins, for the log: the policy leaves them out.
	DroppedOrigins []string
}
