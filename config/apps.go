package config

import (
	"time"

	"github.com/tailscale/hujson"
)

// The defaults of AppsSettings.
const (
	// DefaultMaxHTMLBytes is both the default and the highest value of AppsSettings.MaxHTMLBytes (M18).
	DefaultMaxHTMLBytes = 1 << 20
	DefaultReadyTimeout = 10 * time.Second
	// MaxMaxParallel is the highest value of Server.MaxParallel.
	MaxMaxParallel = 1000
	// MaxAppHTMLBytes is the highest value of Server.AppMaxHTMLBytes: a bound raised on purpose for one server.
	MaxAppHTMLBytes = 8 << 20
)

// AppsSettings are the settings of MCP Apps: "mcpApps" in usher.json. The zero value is the default.
type AppsSettings struct {
	// Disabled is true for "enabled": false.
	Disabled bool
	// RequireServerCapability keeps an app only when its server advertises the extension itself (M16).
	RequireServerCapability bool
	// MaxHTMLBytes bounds an app's decoded HTML; 0 means 1 MiB, which is also the most.
	MaxHTMLBytes int64
	// ReadyTimeout is how long an app may take to be ready before its text is shown; 0 means 10 s.
	ReadyTimeout time.Duration
}

func appsFields() []string {
	return []string{"enabled", "requireServerCapability", "maxHtmlBytes", "readyTimeout"}
}

func (p *parser) apps(path string, v hujson.Value) {
	r := &reader{parser: p}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		r.fail(v, path, "want an object, got "+kindOf(v))
		return
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		name := memberName(m)
		at := join(path, name)
		if seen[name] {
			r.fail(m.Name, at, "is given twice")
			continue
		}
		seen[name] = true
		a := &p.config.Apps
		switch name {
		case "enabled":
			// A value of the wrong type turns nothing off.
			if k := m.Value.Value.Kind(); k != 't' {
				a.Disabled = !r.boolean(at, m.Value) && k == 'f'
			}
		case "requireServerCapability":
			a.RequireServerCapability = r.boolean(at, m.Value)
		case "maxHtmlBytes":
			a.MaxHTMLBytes = r.integer(at, m.Value, DefaultMaxHTMLBytes)
		case "readyTimeout":
			a.ReadyTimeout = r.duration(at, m.Value)
		default:
			p.unknown(m.Name, path, name, "", appsFields())
		}
	}
}

// tighten adds the settings of a file of higher precedence. Such a file is nearer to the project and less
// trusted, so it can switch apps off, require more and allow fewer bytes, and not the reverse.
func (a AppsSettings) tighten(b AppsSettings) AppsSettings {
	a.Disabled = a.Disabled || b.Disabled
	a.RequireServerCapability = a.RequireServerCapability || b.RequireServerCapability
	if b.MaxHTMLBytes > 0 && (a.MaxHTMLBytes == 0 || b.MaxHTMLBytes < a.MaxHTMLBytes) {
		a.MaxHTMLBytes = b.MaxHTMLBytes
	}
	if b.ReadyTimeout > 0 {
		a.ReadyTimeout = b.ReadyTimeout
	}
	return a
}
