package grants_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/usher-mcp/usher/internal/grants"
	"github.com/usher-mcp/usher/permission"
)

func grant(server, tool string) permission.Grant {
	return permission.NewGrant(
		permission.Server{Name: server, Fingerprint: "f"},
		permission.Definition{Name: tool, Description: "<d>", InputSchema: json.RawMessage(`{"type": "object", "b": 1.0, "a": "&"}`)},
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	)
}

func TestGrantsOutliveTheProcessThatStoredThem(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	ctx := t.Context()
	for _, g := range []permission.Grant{grant("b", "x"), grant("a", "y"), grant("a", "x"), grant("a", "x")} {
		if err := grants.Open(dir).Remember(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
	again := grants.Open(dir)
	g, ok, err := again.Grant(ctx, "a", "x")
	if err != nil || !ok || g.Hash != grant("a", "x").Hash || g.Definition.Hash() != g.Hash {
		t.Errorf("%+v %v %v", g, ok, err)
	}
	// What was stored is what the gate decides by.
	gate := permission.NewGate(permission.GateOptions{Store: again})
	request := permission.Request{Server: permission.Server{Name: "a", Fingerprint: "f"}, Tool: *grant("a", "x").Definition}
	if d, err := gate.Decide(ctx, request); err != nil || d.Source != permission.ByRemembered {
		t.Errorf("%+v %v", d, err)
	}
	names := func() (list []string) {
		all, err := again.Grants(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range all {
			list = append(list, g.Server+"/"+g.Tool)
		}
		return list
	}
	if diff := cmp.Diff([]string{"a/x", "a/y", "b/x"}, names()); diff != "" {
		t.Error(diff)
	}
	if err := again.Forget(ctx, "a", "x"); err != nil || strings.Join(names(), " ") != "a/y b/x" {
		t.Error(names(), err)
	}
	if err := again.Forget(ctx, "a", ""); err != nil || strings.Join(names(), " ") != "b/x" {
		t.Error(names(), err)
	}
	info, err := os.Stat(again.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	left, err := filepath.Glob(again.Path() + ".*[0-9]")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestTheOldestGrantsGoFirst(t *testing.T) {
	t.Parallel()
	s := grants.Open(t.TempDir())
	var full struct {
		Version int                `json:"version"`
		Grants  []permission.Grant `json:"grants"`
	}
	full.Version = 1
	for i := range grants.MaxGrants {
		g := permission.Grant{Server: "s", Tool: fmt.Sprint(i), Time: time.Unix(int64(1000+i), 0)}
		full.Grants = append(full.Grants, g)
	}
	full.Grants[7].Time = time.Unix(1, 0)
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Remember(t.Context(), grant("s", "new")); err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"7": false, "0": true, "new": true} {
		if _, ok, err := s.Grant(t.Context(), "s", tool); err != nil || ok != want {
			t.Errorf("tool %s is kept: %v, %v", tool, ok, err)
		}
	}
}

func TestAnUnusableFileAllowsNothingAndIsKept(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"broken": `{"version":1,"grants":[`, "newer": `{"version":2}`, "empty": ``} {
		s := grants.Open(t.TempDir())
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Grant(t.Context(), "a", "x"); ok || err == nil || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		if err := s.Remember(t.Context(), grant("a", "x")); err == nil {
			t.Errorf("%s: a file that cannot be read was written over", name)
		}
		if data, err := os.ReadFile(s.Path()); err != nil || string(data) != text {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
}

func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := grants.Open(dir).Remember(t.Context(), grant("s", fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := grants.Open(dir).Grants(t.Context()); err != nil || len(all) != 16 {
		t.Errorf("%d grants, %v", len(all), err)
	}
}

func TestWaitingForAnotherWriterEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := grants.Open(t.TempDir())
	unlock, err := lockedfile.MutexAt(s.Path() + ".lock").Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Remember(ctx, grant("a", "x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
