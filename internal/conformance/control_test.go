package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/internal/conformance"
)

// Clients that are no part of this project, to see that the verdicts of this test mean something.
const (
	controlGood  = "good"         // does what the scenario asks for
	controlDies  = "good-dies"    // does it, and exits with an error
	controlIdler = "does-nothing" // exits well without connecting
)

// control is such a client, on the bare SDK.
func control(kind string) func(context.Context, conformance.Scenario) error {
	return func(ctx context.Context, c conformance.Scenario) error {
		if kind == controlIdler {
			return nil
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "control", Version: "1"}, nil)
		s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.URL}, &mcp.ClientSessionOptions{ProtocolVersion: c.Version})
		if err != nil {
			return err
		}
		_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "add_numbers", Arguments: map[string]any{"a": 5, "b": 3}})
		err = errors.Join(err, s.Close())
		if kind == controlDies {
			return errors.Join(err, errors.New("dying as told"))
		}
		return err
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		client   string
		scenario scenario
		problem  string // part of it; empty: it passes
	}{
		{controlGood, scenario{"tools_call", "2025-11-25"}, ""},
		{controlGood, scenario{"tools_call", "2026-07-28"}, ""},
		{controlDies, scenario{"tools_call", "2025-11-25"}, "the client or the suite failed"},
		{controlIdler, scenario{"tools_call", "2025-11-25"}, "1 checks failed"},
		{controlIdler, scenario{"sep-2640-client-verify-digest", "extension"}, "nothing was checked"},
		{controlGood, scenario{"no-such-scenario", "2025-11-25"}, "no result"},
	} {
		t.Run(c.client+" "+c.scenario.String(), func(t *testing.T) {
			t.Parallel()
			got := newSuite(t, c.client).run(t, c.scenario)
			switch {
			case c.problem == "" && (got.problem != "" || got.passed == 0):
				t.Errorf("got %q with %d checks passed, want a pass\n%s", got.problem, got.passed, got.output)
			case !strings.Contains(got.problem, c.problem):
				t.Errorf("got %q, want %q\n%s", got.problem, c.problem, got.output)
			}
		})
	}
}
