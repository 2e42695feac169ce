package sqlite_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

// What a person allowed for good is there after a restart, definition and all.
func TestGrantsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	grant := func(server, tool, description string) permission.Grant {
		return permission.NewGrant(permission.Server{Name: server, Fingerprint: "f"},
			permission.Definition{Name: tool, Description: description, InputSchema: []byte(`{"type":"object"}`)}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	}
	for _, g := range []permission.Grant{grant("b", "x", "1"), grant("a", "y", "1"), grant("a", "x", "1"), grant("a", "x", "2")} {
		if err := store.Permissions().Remember(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = sqlite.Open(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	grants := store.Permissions()
	got, err := grants.Grants(t.Context())
	if diff := cmp.Diff([]permission.Grant{grant("a", "x", "2"), grant("a", "y", "1"), grant("b", "x", "1")}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if one, ok, err := grants.Grant(t.Context(), "a", "x"); err != nil || !ok || one.Definition.Description != "2" {
		t.Errorf("%+v, %v, %v", one, ok, err)
	}
	if err := grants.Forget(t.Context(), "a", "x"); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := grants.Grant(t.Context(), "a", "x"); err != nil || ok {
		t.Errorf("a forgotten grant: %v, %v", ok, err)
	}
	if err := grants.Forget(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	if got, err := grants.Grants(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
