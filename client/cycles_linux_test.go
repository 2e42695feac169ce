package client_test

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

// cyclesVar says how many times to connect; the default is short enough for every run.
const cyclesVar = "USHER_CYCLES"

// A session that is closed leaves nothing: no goroutine, no descriptor, no process, in either era.
func TestConnectingAndClosingLeavesNothing(t *testing.T) {
	cycles := 40
	if v := os.Getenv(cyclesVar); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("%s: %v", cyclesVar, err)
		}
		cycles = n
	}
	for _, policy := range []config.Negotiation{config.Legacy, config.Auto} {
		t.Run(string(policy), func(t *testing.T) {
			spec := ushertest.Command(t)
			spec.VersionNegotiation = policy
			round := func() {
				t.Helper()
				sess, err := client.Dial(t.Context(), spec, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := sess.Call(t.Context(), "echo", json.RawMessage(`{"message":"hi"}`), client.CallOptions{}); err != nil {
					t.Fatal(err)
				}
				if err := sess.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			round() // what the first use sets up may stay
			goroutines, descriptors := runtime.NumGoroutine(), open(t)
			for range cycles {
				round()
			}
			if n := runtime.NumGoroutine(); n > goroutines {
				t.Errorf("%d goroutines after %d cycles, %d before", n, cycles, goroutines)
			}
			if n := open(t); n > descriptors {
				t.Errorf("%d descriptors after %d cycles, %d before", n, cycles, descriptors)
			}
			for _, pid := range ushertest.ReadLog(t, spec).PIDs() {
				if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
					t.Errorf("process %d is still there", pid)
				}
			}
		})
	}
}

// open counts the descriptors of this process.
func open(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
