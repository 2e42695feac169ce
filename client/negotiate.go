package client

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/wire"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"

	maxProbe        = 5 * time.Second
	fallbackReserve = 5 * time.Second
)

// legacyVersions are the versions a server may answer initialize with. The oldest is from before the first release
// and differs in nothing this client uses.
var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// The verdicts of a probe.
const (
	VerdictModern       = "modern"
	VerdictIncompatible = "incompatible" // modern, with no version in common
	VerdictLegacy       = "legacy"
	VerdictInconclusive = "inconclusive" // the probe could not be carried out
)

// The codes with which only modern servers refuse (NEG-07).
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// probeBudget divides the window for connecting: the probe may take so long, and what is kept back still covers
// the initialize fallback (M4). Zero means that the window does not cover both and there is no probe.
func probeBudget(window time.Duration) time.Duration {
	return max(0, min(maxProbe, window-fallbackReserve))
}

// evidence is what a probe brought back: one of its fields is set.
type evidence struct {
	result   json.RawMessage
	refusal  *wire.RemoteError
	exited   string // how the process ended instead of answering
	silent   time.Duration
	unusable error // the answer could not be read
	failed   error // the probe could not be carried out
}

// verdict is what the evidence means.
type verdict struct {
	kind   string
	reason string
	// supported are the versions the server named.
	supported []string
	// discover is the server's description of itself; nil when it refused to give one.
	discover *discovery
	// guess marks a verdict drawn from silence.
	guess bool
}

// judge decides the era from what answered a server/discover request on stdio (NEG-05 to NEG-09, NEG-13, NEG-25 to
// NEG-28). Only what a modern server alone would say is modern; everything else a server does is legacy.
func judge(e evidence) verdict {
	switch {
	case e.failed != nil:
		return verdict{kind: VerdictInconclusive, reason: "the probe could not be carried out: " + e.failed.Error()}
	case e.exited != "":
		return verdict{kind: VerdictLegacy, reason: "the server ended on server/discover (" + e.exited + ")"}
	case e.silent > 0:
		return verdict{kind: VerdictLegacy, guess: true, reason: fmt.Sprintf("no answer to server/discover within %s", e.silent)}
	case e.unusable != nil:
		return verdict{kind: VerdictLegacy, reason: "the answer to server/discover is unusable: " + e.unusable.Error()}
	case e.refusal != nil:
		return judgeRefusal(e.refusal)
	}
	d, err := parseDiscovery(e.result)
	if err != nil {
		return verdict{kind: VerdictLegacy, reason: "the answer to server/discover is no discovery: " + err.Error()}
	}
	v := judgeVersions(d.SupportedVersions)
	if v.kind == VerdictModern {
		v.discover, v.reason = d, "the server answered server/discover"
	}
	return v
}

func judgeRefusal(r *wire.RemoteError) verdict {
	switch r.Code {
	case codeUnsupportedVersion:
		supported, ok := supportedVersions(r.Data)
		if !ok {
			return verdict{
				kind: VerdictIncompatible, supported: supported,
				reason: "the server refuses version " + modernVersion + " and names none that it speaks",
			}
		}
		v := judgeVersions(supported)
		if v.kind == VerdictModern {
			v.reason = "the server refused server/discover as a modern one does"
		}
		return v
	case codeMissingCapability, codeHeaderMismatch:
		return verdict{kind: VerdictModern, reason: fmt.Sprintf("the server refused server/discover as only a modern one does (%d)", r.Code)}
	}
	return verdict{kind: VerdictLegacy, reason: fmt.Sprintf("the server refused server/discover (%d)", r.Code)}
}

// judgeVersions picks the era from the versions a server says it speaks; ours wins when it is among them.
func judgeVersions(supported []string) verdict {
	v := verdict{supported: supported}
	legacy := slices.ContainsFunc(supported, func(s string) bool { return slices.Contains(legacyVersions, s) })
	switch {
	case slices.Contains(supported, modernVersion):
		v.kind = VerdictModern
	case legacy:
		v.kind, v.reason = VerdictLegacy, "the server speaks "+strings.Join(supported, ", ")
	default:
		v.kind, v.reason = VerdictIncompatible, "the server speaks "+strings.Join(supported, ", ")
	}
	return v
}

// supportedVersions reads the versions a refusal names. ok is false when there is no usable list.
func supportedVersions(data json.RawMessage) (versions []string, ok bool) {
	wire.Elements(wire.Member(data, "supported"), func(value []byte) {
		if s := wire.Text(value); s != "" {
			versions = append(versions, s)
		}
	})
	return versions, len(versions) > 0
}

// discovery is a server's description of itself, in either era, read as leniently as it can be.
type discovery struct {
	SupportedVersions []string        // modern
	ProtocolVersion   string          // legacy
	Capabilities      json.RawMessage // nil when none were given
	Instructions      string
	Info              Implementation
}

type parseError string

func (e parseError) Error() string { return string(e) }

// parseDiscovery reads a DiscoverResult (DISC-02, DISC-03): a list of versions makes it one, hints may be odd.
func parseDiscovery(raw json.RawMessage) (*discovery, error) {
	if !json.Valid(raw) {
		return nil, parseError("it is not JSON")
	}
	d := new(discovery)
	list := wire.Member(raw, "supportedVersions")
	if list == nil || list[0] != '[' {
		return nil, parseError("it has no list of supportedVersions")
	}
	wire.Elements(list, func(value []byte) {
		if s := wire.Text(value); s != "" {
			d.SupportedVersions = append(d.SupportedVersions, s)
		}
	})
	if len(d.SupportedVersions) == 0 {
		return nil, parseError("its list of supportedVersions is empty")
	}
	d.describe(raw)
	if info := wire.Member(wire.Member(raw, "_meta"), "io.modelcontextprotocol/serverInfo"); info != nil {
		d.Info = implementation(info)
	}
	return d, nil
}

// parseInitialize reads an InitializeResult (LEG-06).
func parseInitialize(raw json.RawMessage) *discovery {
	d := &discovery{ProtocolVersion: wire.Text(wire.Member(raw, "protocolVersion"))}
	d.describe(raw)
	return d
}

func (d *discovery) describe(raw json.RawMessage) {
	d.Instructions = wire.Text(wire.Member(raw, "instructions"))
	d.Info = implementation(wire.Member(raw, "serverInfo"))
	if c := wire.Member(raw, "capabilities"); len(c) > 0 && c[0] == '{' {
		d.Capabilities = json.RawMessage(slices.Clone(c))
	}
}

func implementation(raw []byte) Implementation {
	return Implementation{
		Name:    wire.Text(wire.Member(raw, "name")),
		Title:   wire.Text(wire.Member(raw, "title")),
		Version: scalar(wire.Member(raw, "version")),
	}
}

// scalar reads a string, or a number as it is written.
func scalar(raw []byte) string {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return string(raw)
	}
	return wire.Text(raw)
}

// declares reports whether the server's capabilities have the member at path, in any shape but false and null:
// servers write true and {} and [] alike.
func (d *discovery) declares(path ...string) bool {
	raw := []byte(d.Capabilities)
	for _, name := range path {
		raw = wire.Member(raw, name)
		if raw == nil || string(raw) == "null" || string(raw) == "false" {
			return false
		}
	}
	return true
}

// clampMs turns a hint in milliseconds into a duration: whole, positive, at most limit. Anything else is 0
// (CACHE-05, CACHE-06).
func clampMs(raw []byte, limit time.Duration) time.Duration {
	var f float64
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &f) != nil || f <= 0 || f != math.Trunc(f) {
		return 0
	}
	if f >= float64(limit.Milliseconds()) {
		return limit
	}
	return time.Duration(f) * time.Millisecond
}
