package client

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/wire"
)

func TestProbeBudget(t *testing.T) {
	for _, c := range []struct{ window, want time.Duration }{
		{-time.Second, 0},
		{0, 0},
		{100 * time.Millisecond, 0},
		{5 * time.Second, 0},
		{5*time.Second + time.Millisecond, time.Millisecond},
		{7 * time.Second, 2 * time.Second},
		{10*time.Second - time.Millisecond, 5*time.Second - time.Millisecond},
		{10 * time.Second, 5 * time.Second},
		{30 * time.Second, 5 * time.Second},
		{300 * time.Second, 5 * time.Second},
	} {
		if got := probeBudget(c.window); got != c.want {
			t.Errorf("probeBudget(%s) = %s, want %s", c.window, got, c.want)
		}
	}
}

func refusal(code int64, data string) evidence {
	return evidence{refusal: &wire.RemoteError{Code: code, Message: "no", Data: json.RawMessage(data)}}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name string
		evidence
		kind      string
		supported []string
		described bool // the verdict carries the server's description
		guess     bool
	}{
		{name: "NEG-06 discovery", evidence: evidence{result: json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)}, kind: VerdictModern, supported: []string{"2026-07-28"}, described: true},
		{name: "DISC-05 both eras", evidence: evidence{result: json.RawMessage(`{"supportedVersions":["2025-11-25","2026-07-28"]}`)}, kind: VerdictModern, supported: []string{"2025-11-25", "2026-07-28"}, described: true},
		{name: "odd hints", evidence: evidence{result: json.RawMessage(`{"supportedVersions":["2026-07-28"],"ttlMs":"x","capabilities":{"tools":true},"instructions":[1]}`)}, kind: VerdictModern, supported: []string{"2026-07-28"}, described: true},
		{name: "NEG-27 legacy versions only", evidence: evidence{result: json.RawMessage(`{"supportedVersions":["2025-06-18"]}`)}, kind: VerdictLegacy, supported: []string{"2025-06-18"}},
		{name: "NEG-27 no version in common", evidence: evidence{result: json.RawMessage(`{"supportedVersions":["2030-01-01"]}`)}, kind: VerdictIncompatible, supported: []string{"2030-01-01"}},
		{name: "NEG-28 empty object", evidence: evidence{result: json.RawMessage(`{}`)}, kind: VerdictLegacy},
		{name: "NEG-28 null", evidence: evidence{result: json.RawMessage(`null`)}, kind: VerdictLegacy},
		{name: "NEG-28 list", evidence: evidence{result: json.RawMessage(`[]`)}, kind: VerdictLegacy},
		{name: "NEG-28 string", evidence: evidence{result: json.RawMessage(`"2026-07-28"`)}, kind: VerdictLegacy},
		{name: "versions empty", evidence: evidence{result: json.RawMessage(`{"supportedVersions":[]}`)}, kind: VerdictLegacy},
		{name: "versions no list", evidence: evidence{result: json.RawMessage(`{"supportedVersions":"2026-07-28"}`)}, kind: VerdictLegacy},
		{name: "versions no strings", evidence: evidence{result: json.RawMessage(`{"supportedVersions":[2026]}`)}, kind: VerdictLegacy},
		{name: "not JSON", evidence: evidence{result: json.RawMessage(`{"supportedVersions":[}`)}, kind: VerdictLegacy},
		{name: "NEG-07 -32022 with ours", evidence: refusal(-32022, `{"supported":["2026-07-28"],"requested":"x"}`), kind: VerdictModern, supported: []string{"2026-07-28"}},
		{name: "NEG-07 -32022 without ours", evidence: refusal(-32022, `{"supported":["2027-01-01"]}`), kind: VerdictIncompatible, supported: []string{"2027-01-01"}},
		{name: "NEG-25 -32022 legacy only", evidence: refusal(-32022, `{"supported":["2025-11-25"]}`), kind: VerdictLegacy, supported: []string{"2025-11-25"}},
		{name: "NEG-26 -32022 without data", evidence: refusal(-32022, ``), kind: VerdictIncompatible},
		{name: "NEG-26 -32022 with a number", evidence: refusal(-32022, `{"supported":5}`), kind: VerdictIncompatible},
		{name: "NEG-07 -32021", evidence: refusal(-32021, `{"requiredCapabilities":{"sampling":{}}}`), kind: VerdictModern},
		{name: "NEG-07 -32020", evidence: refusal(-32020, ``), kind: VerdictModern},
		{name: "NEG-08 silence", evidence: evidence{silent: 5 * time.Second}, kind: VerdictLegacy, guess: true},
		{name: "NEG-13 exit", evidence: evidence{exited: "exit status 1"}, kind: VerdictLegacy},
		{name: "answer too long", evidence: evidence{unusable: wire.ErrFrameTooLong}, kind: VerdictLegacy},
		{name: "not carried out", evidence: evidence{failed: errors.New("cancelled")}, kind: VerdictInconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(c.evidence)
			if got.kind != c.kind || got.guess != c.guess || (got.discover != nil) != c.described || got.reason == "" {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff(c.supported, got.supported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEveryOtherRefusalIsLegacy: the fallback must not depend on particular codes (NEG-09), nor on the codes of old
// drafts (BASE-12).
func TestEveryOtherRefusalIsLegacy(t *testing.T) {
	codes := []int64{0, 1, -1, 404, 1 << 40}
	for code := int64(-33000); code <= -31000; code++ {
		codes = append(codes, code)
	}
	for _, code := range codes {
		want := VerdictLegacy
		switch code {
		case -32020, -32021:
			want = VerdictModern
		case -32022:
			want = VerdictIncompatible // without data
		}
		if got := judge(refusal(code, "")); got.kind != want {
			t.Errorf("code %d: %s, want %s", code, got.kind, want)
		}
	}
}

func TestClampMs(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		"60000": time.Minute, "60000.0": time.Minute, "6e4": time.Minute,
		"0": 0, "-1": 0, `"5"`: 0, "1.5": 0, "null": 0, "": 0, "{}": 0, "true": 0,
		"9e18": maxTTL, "9223372036854775807": maxTTL, "1e400": 0,
	} {
		if got := clampMs([]byte(raw), maxTTL); got != want {
			t.Errorf("clampMs(%s) = %s, want %s", raw, got, want)
		}
	}
}
