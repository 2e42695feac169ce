package permission_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/permission"
)

func request(owner string) permission.Request {
	return permission.Request{Owner: owner, Server: permission.Server{Name: "files", Fingerprint: "1"}, Tool: tool("")}
}

func TestAnswersHoldAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer                    permission.Answer
		runs                      bool
		same, other, later, again permission.Verdict // the same session, another, the same after its end, a new gate
	}{
		{permission.No, false, "asked", "asked", "asked", "asked"},
		{permission.Once, true, "asked", "asked", "asked", "asked"},
		{permission.Session, true, "allowed", "asked", "asked", "asked"},
		{permission.Always, true, "allowed", "allowed", "allowed", "allowed"},
	} {
		store := permission.NewMemoryStore()
		gate := permission.NewGate(permission.GateOptions{Store: store})
		runs, err := gate.Answer(t.Context(), request("one"), c.answer)
		if err != nil || runs != c.runs {
			t.Errorf("%s: runs %v, %v", c.answer, runs, err)
		}
		check := func(when string, g *permission.Gate, owner string, want permission.Verdict) {
			t.Helper()
			if d, err := g.Decide(t.Context(), request(owner)); err != nil || d.Verdict != want {
				t.Errorf("after %s, %s: %+v, %v, want %s", c.answer, when, d, err, want)
			}
		}
		check("the same session", gate, "one", c.same)
		check("another session", gate, "two", c.other)
		gate.End("one")
		check("after the session's end", gate, "one", c.later)
		check("after a restart", permission.NewGate(permission.GateOptions{Store: store}), "one", c.again)
	}
	gate := permission.NewGate(permission.GateOptions{})
	if _, err := gate.Answer(t.Context(), request(""), "maybe"); err == nil {
		t.Error("an unknown answer was taken")
	}
	if _, err := gate.Answer(t.Context(), request(""), permission.Session); err != nil {
		t.Error(err)
	}
	if d, err := gate.Decide(t.Context(), request("")); err != nil || d.Verdict != permission.Asked {
		t.Errorf("an answer for a session outlived a call without one: %+v, %v", d, err)
	}
}

func TestTheModeOfACallReplacesThePolicys(t *testing.T) {
	t.Parallel()
	gate := permission.NewGate(permission.GateOptions{})
	r := request("one")
	r.Mode = permission.Auto
	if d, err := gate.Decide(t.Context(), r); err != nil || d.Verdict != permission.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := gate.Decide(t.Context(), request("one")); err != nil || d.Verdict != permission.Asked {
		t.Errorf("the mode stuck: %+v, %v", d, err)
	}
}

func TestANewPolicyHoldsAtOnceAndKeepsAnswers(t *testing.T) {
	t.Parallel()
	gate := permission.NewGate(permission.GateOptions{})
	if _, err := gate.Answer(t.Context(), request("one"), permission.Session); err != nil {
		t.Fatal(err)
	}
	deny := rules(t, "files/write")
	gate.SetPolicy(permission.Policy{Deny: deny})
	deny[0] = permission.Rule{} // the caller's slice is the caller's
	if d, err := gate.Decide(t.Context(), request("one")); err != nil || d.Source != permission.ByDenyRule {
		t.Errorf("%+v, %v", d, err)
	}
	gate.SetPolicy(permission.Policy{})
	if d, err := gate.Decide(t.Context(), request("one")); err != nil || d.Source != permission.BySession {
		t.Errorf("%+v, %v", d, err)
	}
}

// broken is a store whose disk is gone.
type broken struct{ permission.Store }

var errDisk = errors.New("no disk")

func (broken) Grant(context.Context, string, string) (permission.Grant, bool, error) {
	return permission.Grant{}, false, errDisk
}
func (broken) Remember(context.Context, permission.Grant) error { return errDisk }

func TestABrokenStoreAsksAndAllowsForTheSession(t *testing.T) {
	t.Parallel()
	gate := permission.NewGate(permission.GateOptions{Store: broken{}})
	if d, err := gate.Decide(t.Context(), request("one")); !errors.Is(err, errDisk) || d.Verdict != permission.Asked {
		t.Errorf("%+v, %v", d, err)
	}
	if ok, err := gate.Answer(t.Context(), request("one"), permission.Always); !ok || !errors.Is(err, errDisk) {
		t.Errorf("%v, %v", ok, err)
	}
	if d, err := gate.Decide(t.Context(), request("one")); err != nil || d.Verdict != permission.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestASessionForgetsItsOldestAnswers(t *testing.T) {
	t.Parallel()
	gate := permission.NewGate(permission.GateOptions{})
	ask := func(i int) permission.Request {
		r := request("one")
		r.Tool.Name = fmt.Sprint("tool", i)
		return r
	}
	for i := range permission.MaxSessionGrants + 1 {
		if _, err := gate.Answer(t.Context(), ask(i), permission.Session); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]permission.Verdict{0: "asked", 1: "allowed", permission.MaxSessionGrants: "allowed"} {
		if d, err := gate.Decide(t.Context(), ask(i)); err != nil || d.Verdict != want {
			t.Errorf("answer %d: %+v, %v, want %s", i, d, err, want)
		}
	}
}

func TestGateIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	gate := permission.NewGate(permission.GateOptions{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			owner := fmt.Sprint(i % 2)
			for _, a := range []permission.Answer{permission.Session, permission.Always} {
				if _, err := gate.Answer(t.Context(), request(owner), a); err != nil {
					t.Error(err)
				}
				if _, err := gate.Decide(t.Context(), request(owner)); err != nil {
					t.Error(err)
				}
			}
			gate.End(owner)
		})
	}
	wg.Wait()
}

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	s := permission.NewMemoryStore()
	for _, g := range []permission.Grant{{Server: "b", Tool: "1"}, {Server: "a", Tool: "2"}, {Server: "a", Tool: "1"}, {Server: "a", Tool: "2", Hash: "new"}} {
		if err := s.Remember(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	show := func() (names []string) {
		list, err := s.Grants(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			names = append(names, g.Server+g.Tool+g.Hash)
		}
		return names
	}
	if got := fmt.Sprint(show()); got != "[a1 a2new b1]" {
		t.Error(got)
	}
	if err := s.Forget(t.Context(), "a", "1"); err != nil || fmt.Sprint(show()) != "[a2new b1]" {
		t.Error(show(), err)
	}
	if err := s.Forget(t.Context(), "a", ""); err != nil || fmt.Sprint(show()) != "[b1]" {
		t.Error(show(), err)
	}
}
