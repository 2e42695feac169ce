package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/conversation/storetest"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) conversation.Store { return open(t, t.TempDir()) })
}

func TestSessionsSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20", "data")
	first, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = first.Create(t.Context(), conversation.Session{ID: "a", Title: "kept"}, conversation.Entry{Type: "x", Data: []byte(`1`), Opens: "w"})
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir)
	if got, err := second.Session(t.Context(), "a"); err != nil || got.Title != "kept" || got.LastEventID != 1 {
		t.Errorf("Session = %+v, %v", got, err)
	}
	if work, err := second.Open(t.Context()); err != nil || len(work) != 1 || work[0].Name != "w" {
		t.Errorf("Open = %v, %v", work, err)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other rights")
	}
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	if _, err := s.Create(t.Context(), conversation.Session{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if rights := info.Mode().Perm(); rights&0o077 != 0 {
			t.Errorf("%s has the rights %v", path, rights)
		}
		seen++
		return nil
	})
	if err != nil || seen < 4 { // directory, database, its log, lock
		t.Errorf("saw %d files, %v", seen, err)
	}
}

func TestADirectoryHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	first, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), dir)
	var refused *sqlite.OpenError
	if !errors.As(err, &refused) || !strings.Contains(refused.Hint, "--data-dir") {
		t.Errorf("a second Open = %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestUnusableFilesAreExplained(t *testing.T) {
	damage := func(t *testing.T, dir, statement string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), dir)
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), statement)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"not a database": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		"a newer version": {func(t *testing.T, dir string) {
			damage(t, dir, `INSERT INTO migration VALUES (999, '', 0)`)
		}, "newer usher"},
		"another history": {func(t *testing.T, dir string) {
			damage(t, dir, `UPDATE migration SET checksum = 'x'`)
		}, "another migrations/0001"},
		"a directory in its place": {func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, sqlite.FileName), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.prepare(t, dir)
			_, err := sqlite.Open(t.Context(), dir)
			var refused *sqlite.OpenError
			if !errors.As(err, &refused) || !strings.Contains(refused.Error(), test.want) ||
				!strings.Contains(refused.Error(), sqlite.FileName) || refused.Hint == "" {
				t.Errorf("Open = %v, want an OpenError with %q", err, test.want)
			}
		})
	}
}

// SQLite's Go translation works with the libc that it was made with, and no other.
func TestLibcIsTheOneThatSQLiteWasTestedWith(t *testing.T) {
	list := func(format, module string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	mod, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(mod)
	if want == nil {
		t.Fatal("the go.mod of modernc.org/sqlite names no modernc.org/libc")
	}
	if got := list("{{.Version}}", "modernc.org/libc"); got != string(want[1]) {
		t.Errorf("modernc.org/libc is %s; this modernc.org/sqlite was made with %s", got, want[1])
	}
}
