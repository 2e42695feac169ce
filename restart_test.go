package usher_test

import (
	"slices"
	"testing"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// A modern server that is started again is asked for its lists and listened to again, and probed before that (STD-13,
// STD-14): nothing it announced meanwhile could have been heard.
func TestAServerThatIsStartedAgainIsListenedToAgain(t *testing.T) {
	spec := fx(t, "fx", "--era", "modern", "--exit-on", "tools/call=3")
	spec.VersionNegotiation = config.Auto
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeUnknown {
		t.Fatalf("the call was answered by a process that exits: %v", err)
	}
	// The server takes one request after the other: by the answer to one, what was sent before has arrived.
	var last ushertest.Log
	for ctx := within(t); !slices.Contains(last.Methods(), "subscriptions/listen"); {
		if _, err := h.Prompt(ctx, "fx", "plain", nil); err != nil {
			t.Fatal(err)
		}
		log := ushertest.ReadLog(t, spec)
		pids := log.PIDs()
		if len(pids) != 4 { // probed, session, probed again, session again
			t.Fatalf("processes %v", pids)
		}
		last = log.Of(pids[3])
	}
	if methods := last.Methods(); !slices.Contains(methods, "tools/list") || slices.Contains(methods, "server/discover") {
		t.Errorf("the new process received %v", methods)
	}
}
