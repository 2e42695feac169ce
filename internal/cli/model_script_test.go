//go:build unix

package cli_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/usher-mcp/usher/internal/model/modeltest"
)

// scriptedModel is the model that a script talks to.
type scriptedModel struct {
	tb      testing.TB
	current *modeltest.Server
	played  int // turns that the current one must play
}

// model start FILE starts a model that plays FILE, a JSON list of turns, and names it in the environment; the one before
// must have played all of its own. model received N REGEXP looks into the N-th request that it got. model skip takes what
// was not played.
func (m *scriptedModel) command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: model start FILE, model received N REGEXP, model skip")
	}
	switch {
	case args[0] == "start" && len(args) == 2:
		m.check(ts)
		var turns []struct {
			Text   string
			Calls  []struct{ Name, Arguments string }
			Status int
			Code   string
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &turns))
		var script []modeltest.Turn
		for _, t := range turns {
			switch {
			case t.Status != 0:
				script = append(script, modeltest.Error(t.Status, t.Code, "refused by the script"))
			case len(t.Calls) > 0:
				var calls []modeltest.Call
				for _, c := range t.Calls {
					calls = append(calls, modeltest.Call{Name: c.Name, Arguments: c.Arguments})
				}
				script = append(script, modeltest.Calls(calls...))
			default:
				script = append(script, modeltest.Text(t.Text))
			}
		}
		m.current, m.played = modeltest.NewServer(quiet{m.tb}, script...), len(script)
		ts.Setenv("USHER_MODEL_BASE_URL", m.current.URL)
		ts.Setenv("USHER_MODEL_NAME", "scripted")
		ts.Setenv("USHER_MODEL_API_KEY", "sk-of-the-script")
	case args[0] == "received" && len(args) == 3:
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		requests := m.current.Requests()
		if n < 1 || n > len(requests) {
			ts.Fatalf("the model got %d requests", len(requests))
		}
		body := string(requests[n-1].Body)
		if !regexp.MustCompile("(?s)" + args[2]).MatchString(body) {
			ts.Fatalf("request %d does not match %q: %s", n, args[2], body)
		}
	case args[0] == "skip":
		m.played = 0
	default:
		ts.Fatalf("model %s: what is that?", strings.Join(args, " "))
	}
}

func (m *scriptedModel) check(ts *testscript.TestScript) {
	if m.current != nil && m.played > 0 && len(m.current.Requests()) != m.played {
		ts.Fatalf("the model got %d requests; its script has %d", len(m.current.Requests()), m.played)
	}
}

// quiet keeps a model's server from failing the test for what model skip allows.
type quiet struct{ testing.TB }

func (quiet) Errorf(string, ...any) {}

// lastLine PATH WANT is json for the last line of the last command's standard output.
func lastLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lastline PATH WANT")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if got := valueAt(ts, json.RawMessage(lines[len(lines)-1]), args[0]); got != args[1] {
		ts.Fatalf("%s is %q in %s", args[0], got, lines[len(lines)-1])
	}
}

// session takes the session's id from the last line.
func session(ts *testscript.TestScript, _ bool, _ []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	ts.Setenv("SESSION", valueAt(ts, json.RawMessage(lines[len(lines)-1]), "session"))
}
