package client_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/ushertest"
)

// A running process stands in the ledger, so that the next host can end it if this one is killed.
func TestARunningProcessIsRecorded(t *testing.T) {
	dir := t.TempDir() + "/processes"
	l, err := client.NewLauncher(t.Context(), client.LauncherOptions{LedgerDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	records := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := records(); n != 0 {
		t.Fatalf("%d records before the start", n)
	}
	sess, err := client.Dial(t.Context(), ushertest.Command(t), client.Options{Launcher: l})
	if err != nil {
		t.Fatal(err)
	}
	if n := records(); n != 1 {
		t.Errorf("%d records while it runs, want 1", n)
	}
	if err := sess.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := records(); n != 0 {
		t.Errorf("%d records after it ended, want none", n)
	}
}

func TestALedgerThatCannotBeKeptIsAnError(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := client.NewLauncher(t.Context(), client.LauncherOptions{LedgerDir: file}); err == nil {
		t.Errorf("NewLauncher = %v, want an error", l)
	}
}
