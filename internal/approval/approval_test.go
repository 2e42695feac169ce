package approval_test

import (
	"context"
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
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/approval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func project(name, command string) config.Server {
	return config.Server{Name: name, Command: command, Source: config.Source{Scope: config.ScopeProject}}
}

func lookup(t *testing.T, s *approval.Store, dir string, servers ...config.Server) []approval.Decision {
	t.Helper()
	decisions, err := s.Lookup(dir, servers...)
	if err != nil {
		t.Fatal(err)
	}
	return decisions
}

// stateDir is a directory as usher makes it, whatever the umask of the tests.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "usher")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDecisions(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state", "usher")
	here, there := t.TempDir(), t.TempDir()
	store := approval.Open(state)
	a, b, c := project("a", "x"), project("b", "x"), project("c", "x")
	mine := config.Server{Name: "mine", Command: "x", Source: config.Source{Scope: config.ScopeUser}}

	if got := lookup(t, store, here, a, mine); !cmp.Equal(got, []approval.Decision{approval.Undecided, approval.Approved}) {
		t.Errorf("at first: %q", got)
	}
	if err := store.Decide(t.Context(), here, approval.Approved, a, b); err != nil {
		t.Fatal(err)
	}
	if err := store.Decide(t.Context(), here, approval.Rejected, c); err != nil {
		t.Fatal(err)
	}
	if err := store.Decide(t.Context(), here, approval.Undecided, b); err != nil {
		t.Fatal(err)
	}

	again := approval.Open(state)
	changed, renamed := project("a", "y"), project("z", "x")
	want := []approval.Decision{approval.Approved, approval.Undecided, approval.Rejected, approval.Changed, approval.Undecided}
	if got := lookup(t, again, here, a, b, c, changed, renamed); !cmp.Equal(got, want) {
		t.Errorf("decisions %q, want %q", got, want)
	}
	if got := lookup(t, again, there, a); got[0] != approval.Undecided {
		t.Errorf("an approval counts in another project: %q", got)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, again, link, a); got[0] != approval.Approved {
		t.Errorf("by a link to the project: %q", got)
	}

	info, err := os.Stat(store.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "*.json.*")); len(left) != 1 { // the lock
		t.Errorf("left behind: %q", left)
	}
}

func TestUnusableFileApprovesNothing(t *testing.T) {
	for name, text := range map[string]string{"broken": "{", "newer": `{"version": 2}`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			store := approval.Open(dir)
			if err := os.WriteFile(store.Path(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := store.Lookup(dir, project("a", "x"))
			if err == nil || !strings.Contains(err.Error(), store.Path()) || got[0] != approval.Undecided {
				t.Errorf("Lookup = %q, %v", got, err)
			}
			if err := store.Decide(t.Context(), dir, approval.Approved, project("a", "x")); err == nil {
				t.Error("Decide overwrites what it cannot read")
			}
			if kept, _ := os.ReadFile(store.Path()); string(kept) != text {
				t.Errorf("the file became %q", kept)
			}
		})
	}
}

// What others can change is no decision of this person's.
func TestWhatOthersCanWriteApprovesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the mode does not show it there")
	}
	dir, server := stateDir(t), project("a", "x")
	store := approval.Open(dir)
	// A lock file that an older version left readable is closed too.
	if err := os.WriteFile(store.Path()+".lock", nil, 0o644); err != nil { //nolint:gosec // the fault that is mended
		t.Fatal(err)
	}
	if err := store.Decide(t.Context(), dir, approval.Approved, server); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(store.Path() + ".lock"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock: mode %v, %v", info.Mode(), err)
	}
	for _, path := range []string{dir, store.Path()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, bit := range []os.FileMode{0o020, 0o002} {
			if err := os.Chmod(path, info.Mode().Perm()|bit); err != nil {
				t.Fatal(err)
			}
			got, err := store.Lookup(dir, server)
			if err == nil || !strings.Contains(err.Error(), "chmod go-w '"+path+"'") || got[0] != approval.Undecided {
				t.Errorf("%s with %o: %q, %v", path, bit, got, err)
			}
			if err := store.Decide(t.Context(), dir, approval.Approved, server); err == nil {
				t.Errorf("%s with %o: decided", path, bit)
			}
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	if got := lookup(t, store, dir, server); got[0] != approval.Approved {
		t.Errorf("closed again: %q", got)
	}
}

func TestProjectIsWhatAHostAsks(t *testing.T) {
	store, dir := approval.Open(stateDir(t)), t.TempDir()
	var host usher.Approvals = store.Project(dir)
	server := project("a", "x")
	if host.Approved(server) {
		t.Error("approved before anybody said so")
	}
	if err := host.Approve(server); err != nil {
		t.Fatal(err)
	}
	if !host.Approved(server) || host.Approved(project("a", "y")) || store.Project(t.TempDir()).Approved(server) {
		t.Error("the approval is not bound to project and entry")
	}
	if err := os.WriteFile(store.Path(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if host.Approved(server) {
		t.Error("a broken file approves")
	}
}

// No decision is lost when many write at once, as several usher processes do.
func TestWritersTakeTurns(t *testing.T) {
	dir := stateDir(t)
	var servers []config.Server
	var wg sync.WaitGroup
	for i := range 20 {
		server := project(fmt.Sprint("s", i), "x")
		servers = append(servers, server)
		wg.Go(func() {
			if err := approval.Open(dir).Decide(context.Background(), dir, approval.Approved, server); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, decision := range lookup(t, approval.Open(dir), dir, servers...) {
		if decision != approval.Approved {
			t.Errorf("decision %d is lost", i)
		}
	}
}

func TestDecideObeysItsContext(t *testing.T) {
	dir := stateDir(t)
	store := approval.Open(dir)
	unlock, err := lockedfile.MutexAt(store.Path() + ".lock").Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := store.Decide(ctx, dir, approval.Approved, project("a", "x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Decide = %v", err)
	}
}
