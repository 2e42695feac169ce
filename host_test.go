package usher_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/ushertest"
)

func TestOpenRefusesNamesThatCannotWork(t *testing.T) {
	for want, servers := range map[string][]config.Server{
		"no name":                 {{Command: "x"}},
		`"a" is configured twice`: {{Name: "a", Command: "x"}, {Name: "a", Command: "y"}},
	} {
		if h, err := usher.Open(t.Context(), usher.Options{Servers: servers}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, %v; want an error with %q", h, err, want)
		}
	}
}

// One server that never answers, one that is not there, one whose entry is broken: the good one works at once.
func TestABadServerCostsNobodyElseAnything(t *testing.T) {
	silent := fx(t, "silent", "--silent", "initialize")
	silent.DiscoveryTimeout = 300 * time.Second
	h := open(t, usher.Options{Servers: []config.Server{
		silent,
		{Name: "missing", Command: "usher-test-no-such-command"},
		{Name: "broken", Problem: errors.New("usher.json:3:7: servers.broken.command: want text, got a number")},
		fx(t, "good"),
	}})
	if err := h.Wait(within(t), "good"); err != nil {
		t.Fatal(err)
	}
	res, err := h.Call(within(t), usher.Call{Server: "good", Tool: "echo", Arguments: []byte(`{"message":"hi"}`)})
	if err != nil || res.Content[0].Text != "hi" {
		t.Errorf("call = %+v, %v", res, err)
	}
	if got := state(h, "silent"); got != usher.StateConnecting {
		t.Errorf("the silent server is %s, want connecting", got)
	}
	for name, want := range map[string]struct {
		code   client.Code
		phase  client.Phase
		phrase string
	}{
		"missing": {client.CodeUnavailable, client.PhaseSpawn, "usher-test-no-such-command"},
		"broken":  {client.CodeConfig, client.PhaseConfig, "usher.json:3:7"},
	} {
		err := h.Wait(within(t), name)
		var e *client.Error
		if !errors.As(err, &e) || e.Code != want.code || e.Phase != want.phase || e.Server != name || !strings.Contains(e.Error(), want.phrase) || e.Hint == "" {
			t.Errorf("%s: %+v", name, e)
		}
		if got := state(h, name); got != usher.StateFailed {
			t.Errorf("%s is %s, want failed", name, got)
		}
	}
	if err := h.Wait(within(t), "goood"); err == nil || !strings.Contains(hintOf(err), `"good"`) {
		t.Errorf("Wait for a misspelt name = %v, hint %q", err, hintOf(err))
	}
	// The host ends in bounded time although one server never answered.
}

func TestADisabledServerIsNotStarted(t *testing.T) {
	spec := fx(t, "fx")
	spec.Disabled = true
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if err := h.Wait(within(t)); err != nil {
		t.Errorf("Wait for every enabled server = %v", err)
	}
	if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeUnavailable {
		t.Errorf("call = %v", err)
	}
	if err := h.Reconnect(within(t), "fx"); codeOf(err) != client.CodeUnavailable {
		t.Errorf("reconnect = %v", err)
	}
	if log := ushertest.ReadLog(t, spec); len(log) != 0 {
		t.Fatalf("it ran: %+v", log)
	}
	if err := h.SetEnabled(within(t), "fx", true); err != nil {
		t.Fatal(err)
	}
	if got := state(h, "fx"); got != usher.StateReady || len(h.Catalog().Tools) == 0 {
		t.Errorf("enabled: %s with %d tools", got, len(h.Catalog().Tools))
	}
	if err := h.SetEnabled(within(t), "fx", false); err != nil {
		t.Fatal(err)
	}
	if got := state(h, "fx"); got != usher.StateDisabled || len(h.Catalog().Tools) != 0 {
		t.Errorf("disabled again: %s with %d tools", got, len(h.Catalog().Tools))
	}
	if log := ushertest.ReadLog(t, spec); len(log.Events("eof"))+len(log.Events("signal")) == 0 {
		t.Errorf("the process was not asked to leave: %+v", log)
	}
}

// approvals is the person who says yes only when asked.
type approvals map[string]bool

func (a approvals) Approved(s config.Server) bool { return a[s.Name] }
func (a approvals) Approve(s config.Server) error { a[s.Name] = true; return nil }

func TestAServerThatNobodyApprovedIsNotStarted(t *testing.T) {
	spec := fx(t, "fx")
	asked := approvals{}
	h := open(t, usher.Options{Servers: []config.Server{spec}, Approvals: asked})
	err := h.Wait(within(t))
	if codeOf(err) != client.CodeDenied || !strings.Contains(hintOf(err), "usher approve fx") {
		t.Errorf("Wait = %v, hint %q", err, hintOf(err))
	}
	if log := ushertest.ReadLog(t, spec); len(log) != 0 || state(h, "fx") != usher.StateAwaitingApproval {
		t.Fatalf("%s, log %+v", state(h, "fx"), log)
	}
	if err := h.Approve(within(t), "fx"); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(within(t), "fx"); err != nil || !asked["fx"] {
		t.Errorf("after the approval: %v, remembered %v", err, asked)
	}
}

func TestALostSessionIsStartedAgainAndItsCatalogStands(t *testing.T) {
	spec := fx(t, "fx", "--exit-on", "tools/call=3")
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	before := h.Catalog()
	if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo"}); codeOf(err) != client.CodeUnknown {
		t.Fatalf("the call was answered by a process that exits: %v", err)
	}
	// The next request does not fail because the server is on its way back; it waits.
	if _, err := h.Prompt(within(t), "fx", "plain", nil); err != nil {
		t.Errorf("prompt after the loss: %v", err)
	}
	s, _ := h.Server("fx")
	if s.Starts != 2 || s.State != usher.StateReady {
		t.Errorf("%s after %d starts, want ready after 2", s.State, s.Starts)
	}
	if got := h.Catalog(); len(got.Tools) != len(before.Tools) || got.Revision <= before.Revision {
		t.Errorf("catalog %d with %d tools, before %d with %d", got.Revision, len(got.Tools), before.Revision, len(before.Tools))
	}
}

func TestReconnectStartsANewProcessAfterTheOldOneIsGone(t *testing.T) {
	spec := fx(t, "fx", "--lock", t.TempDir()+"/lock") // refuses to run twice
	h := open(t, usher.Options{Servers: []config.Server{spec}})
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := h.Reconnect(within(t), "fx"); err != nil {
			t.Fatal(err)
		}
	}
	log := ushertest.ReadLog(t, spec)
	if n := len(log.PIDs()); n != 4 || len(log.Events("refused")) != 0 {
		t.Errorf("%d processes, refused %v", n, log.Events("refused"))
	}
}

func TestAChangedListIsReadAgain(t *testing.T) {
	for _, policy := range []config.Negotiation{config.Legacy, config.Auto} {
		t.Run(string(policy), func(t *testing.T) {
			spec := fx(t, "fx")
			spec.VersionNegotiation = policy
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			if err := h.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			before := h.Catalog()
			lists := len(ushertest.ReadLog(t, spec).Received("tools/list"))
			if lists != 1 { // M10
				t.Errorf("tools/list was sent %d times to connect", lists)
			}
			if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "change_tools", Arguments: []byte(`{"name":"extra"}`)}); err != nil {
				t.Fatal(err)
			}
			until(t, h, "the new tool is in the catalog", func() bool { return len(h.Catalog().Tools) != len(before.Tools) })
			if h.Catalog().Revision <= before.Revision {
				t.Errorf("revision %d, before %d", h.Catalog().Revision, before.Revision)
			}
			if i := slices.IndexFunc(before.Tools, func(tool usher.Tool) bool { return tool.Name == "change_tools" }); i < 0 {
				t.Error("the old snapshot lost a tool: it must never change")
			}
		})
	}
}

func TestTheCatalogIsFilteredSortedAndLabelled(t *testing.T) {
	b, a := fx(t, "b"), fx(t, "a.b")
	b.IncludeTools = []string{"echo", "add", "ecoh"}
	b.ExcludeTools = []string{"add"}
	h := open(t, usher.Options{Servers: []config.Server{b, a}})
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	cat := h.Catalog()
	if !slices.IsSortedFunc(cat.Tools, func(x, y usher.Tool) int {
		return strings.Compare(x.Server+"\x00"+x.Name, y.Server+"\x00"+y.Name)
	}) {
		t.Error("the tools are not in the order of server and name")
	}
	labels := map[string]bool{}
	var ofB []string
	for _, tool := range cat.Tools {
		if labels[tool.Label] {
			t.Errorf("label %q twice", tool.Label)
		}
		labels[tool.Label] = true
		if tool.Server == "b" {
			ofB = append(ofB, tool.Name)
		}
	}
	if !slices.Equal(ofB, []string{"echo"}) || !labels["b__echo"] {
		t.Errorf("tools of b = %v, labels %v", ofB, labels)
	}
	s, _ := h.Server("b")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], `"ecoh"`) || !strings.Contains(s.Warnings[0], `"echo"`) {
		t.Errorf("warnings = %q, want one about the misspelt name", s.Warnings)
	}
	for tool, want := range map[string]client.Code{"add": client.CodeDenied, "slow": client.CodeDenied, "eco": client.CodeNotFound} {
		if _, err := h.Call(within(t), usher.Call{Server: "b", Tool: tool}); codeOf(err) != want {
			t.Errorf("call of %s = %v, want %s", tool, err, want)
		}
	}
	if got := ushertest.ReadLog(t, b).Received("tools/call"); len(got) != 0 {
		t.Errorf("the server received %+v", got)
	}
}

func TestCloseEndsEveryProcess(t *testing.T) {
	specs := []config.Server{fx(t, "one"), fx(t, "two", "--ignore-eof"), fx(t, "three")}
	h, err := usher.Open(t.Context(), usher.Options{Servers: specs})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	events := h.Events(ctx)
	if err := h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for range events { // ends because the host is closed
	}
	if ctx.Err() != nil {
		t.Error("the events did not end with the host")
	}
	for _, s := range h.Servers() {
		if s.State != usher.StateClosed {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
	if _, err := h.Call(ctx, usher.Call{Server: "one", Tool: "echo"}); codeOf(err) != client.CodeUnavailable {
		t.Errorf("call after Close = %v", err)
	}
	if err := h.Close(ctx); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

func codeOf(err error) client.Code {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Code
	}
	return ""
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Hint
	}
	return ""
}

// A list that never comes delays nothing but itself.
func TestASilentListDelaysNoOther(t *testing.T) {
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
		t.Run(method, func(t *testing.T) {
			spec := fx(t, "fx", "--silent", method)
			h := open(t, usher.Options{Servers: []config.Server{spec}})
			if err := h.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "echo", Arguments: []byte(`{"message":"hi"}`)}); err != nil {
				t.Error(err)
			}
			short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := h.WaitLists(short); codeOf(err) != client.CodeTimeout {
				t.Errorf("WaitLists = %v, want that a list has not arrived", err)
			}
			// The change of another list is read all the same.
			before := len(h.Catalog().Tools)
			if _, err := h.Call(within(t), usher.Call{Server: "fx", Tool: "change_tools", Arguments: []byte(`{"name":"extra"}`)}); err != nil {
				t.Fatal(err)
			}
			until(t, h, "the new tool is in the catalog", func() bool { return len(h.Catalog().Tools) == before+1 })
		})
	}
}

func TestAListThatFailsIsAWarning(t *testing.T) {
	h := open(t, usher.Options{Servers: []config.Server{fx(t, "fx", "--error", "prompts/list=-32000:no prompts today")}})
	if err := h.WaitLists(within(t)); err != nil {
		t.Fatal(err)
	}
	s, _ := h.Server("fx")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "no prompts today") || s.Resources == 0 || s.Tools == 0 {
		t.Errorf("%d tools, %d resources, warnings %q", s.Tools, s.Resources, s.Warnings)
	}
}
