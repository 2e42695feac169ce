package client_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/wire"
	"github.com/usher-mcp/usher/ushertest"
)

// TestFramesServerByServer is the table of docs/protocol.md: what crosses the wire with each kind of server, one list and
// one call. A listen and its acknowledgement are left out, because they come beside the call and not in an order.
func TestFramesServerByServer(t *testing.T) {
	legacy := "→ initialize ← result → notifications/initialized → tools/list ← result → tools/call ← result"
	modern := "→ tools/list ← result → tools/call ← result"
	for _, c := range []struct {
		name           string
		flags          []string
		policy         config.Negotiation
		window         time.Duration
		probe, session string
		fails          client.Code
	}{
		{name: "both eras, legacy", policy: config.Legacy, session: legacy},
		{name: "both eras, auto", policy: config.Auto, probe: "→ server/discover ← result", session: modern},
		{name: "modern only, auto", flags: []string{"--era", "modern"}, policy: config.Auto, probe: "→ server/discover ← result", session: modern},
		{name: "modern only, legacy", flags: []string{"--era", "modern"}, policy: config.Legacy, session: "→ initialize ← -32022", fails: client.CodeIncompat},
		{name: "legacy, auto", flags: []string{"--era", "legacy"}, policy: config.Auto, probe: "→ server/discover ← -32601", session: legacy},
		{
			name: "silent", flags: []string{"--era", "legacy", "--silent", "server/discover"}, policy: config.Auto, window: 5500 * time.Millisecond,
			probe: "→ server/discover → notifications/cancelled", session: legacy,
		},
		{name: "exits", flags: []string{"--era", "legacy", "--exit-on", "server/discover"}, policy: config.Auto, probe: "→ server/discover", session: legacy},
		{name: "lock file", flags: []string{"--lock", filepath.Join(t.TempDir(), "lock")}, policy: config.Auto, probe: "→ server/discover ← result", session: modern},
		{name: "banner, legacy", flags: []string{"--era", "legacy", "--banner"}, policy: config.Auto, probe: "→ server/discover ← -32601", session: legacy},
		{name: "banner, modern", flags: []string{"--era", "modern", "--banner"}, policy: config.Auto, probe: "→ server/discover ← result", session: modern},
		{name: "after 2 s", flags: []string{"--era", "modern", "--delay", "server/discover=2s"}, policy: config.Auto, probe: "→ server/discover ← result", session: modern},
		{
			name: "after 2 s, too late", flags: []string{"--era", "modern", "--delay", "server/discover=2s"}, policy: config.Auto, window: 6 * time.Second,
			probe: "→ server/discover → notifications/cancelled", session: "→ initialize ← -32022 → server/discover ← result " + modern,
		},
		{
			name: "another modern version", flags: []string{"--error", "server/discover=-32022", "--error-data", `server/discover={"supported":["2027-01-01"]}`},
			policy: config.Auto, probe: "→ server/discover ← -32022", fails: client.CodeIncompat,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			got := make(map[string][]string)
			spec := ushertest.Command(t, c.flags...)
			spec.VersionNegotiation, spec.DiscoveryTimeout = c.policy, c.window
			s, err := client.Dial(t.Context(), spec, client.Options{Trace: func(f client.Frame) {
				word := describe(f)
				if strings.Contains(word, "subscriptions/") {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				got[f.Process] = append(got[f.Process], word)
			}})
			if c.fails != "" {
				phase := client.PhaseHandshake
				if c.session == "" {
					phase = client.PhaseProbe
				}
				wantError(t, err, phase, c.fails)
			} else {
				if err != nil {
					t.Fatal(err)
				}
				defer closeSession(t, s)
				use(t, s)
			}
			mu.Lock()
			defer mu.Unlock()
			for process, want := range map[string]string{"probe": c.probe, "session": c.session} {
				if diff := cmp.Diff(want, strings.Join(got[process], " ")); diff != "" {
					t.Errorf("%s:\n%s", process, diff)
				}
			}
		})
	}
}

// describe puts a frame into a word or two.
func describe(f client.Frame) string {
	arrow, what := "← ", "result"
	if f.Sent {
		arrow = "→ "
	}
	if method := wire.Text(wire.Member(f.Data, "method")); method != "" {
		what = method
	} else if e := wire.Member(f.Data, "error"); e != nil {
		what = member(e, "code")
	}
	return arrow + what
}
