package usher_test

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
)

// The bound on an app's HTML can be set for one server, to more than all have and to less.
func TestAppBoundOfOneServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		own     int64
		size    string
		problem string
	}{
		{"raised", 2 << 20, "2097152", ""},
		{"raised, and passed", 2 << 20, "2097153", "2,097,152"},
		{"lowered", 4096, "5000", "4,096"},
		{"beyond the most there is", 1 << 40, "8388609", "8,388,608"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := fx(t, "fx", "--app=size="+c.size)
			spec.AppMaxHTMLBytes = c.own
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			res, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "app_dashboard", Arguments: []byte(`{"year":2026}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Display.Problem; !strings.Contains(got, c.problem) || (c.problem == "") != (res.Display.Type == usher.DisplayApp) {
				t.Errorf("type %q, problem %q", res.Display.Type, got)
			}
		})
	}
}
