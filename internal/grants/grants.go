// Package grants keeps the tools that a person allowed for good in a file of the state directory.
//
// The file is readable by its owner only and lies outside every project, so that no project can allow its own tools.
// It is replaced in one step: a reader sees the old or the new one, and a crash loses neither.
package grants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/usher-mcp/usher/permission"
)

// FileName is the name of the file in the state directory.
const FileName = "grants.json"

const (
	// MaxGrants bounds the file; the oldest grants go first, which asks the person again.
	MaxGrants = 2000
	// maxFile bounds what is read and written, in bytes.
	maxFile = 32 << 20
)

// ledger is the file.
type ledger struct {
	Version int                `json:"version"`
	Grants  []permission.Grant `json:"grants"`
}

// Store is the file of one state directory. It keeps nothing in memory: several processes may use one file, each
// sees the grants of the others, and writers take turns. It is safe for concurrent use.
type Store struct{ dir string }

var _ permission.Store = (*Store)(nil)

// Open returns the store in the state directory dir, which need not exist yet.
func Open(dir string) *Store { return &Store{dir: dir} }

// Path is the file's path, for messages.
func (s *Store) Path() string { return filepath.Join(s.dir, FileName) }

// Grant returns what is remembered about a tool; false when nothing is. A file that cannot be read allows nothing,
// and the error says why.
func (s *Store) Grant(ctx context.Context, server, tool string) (permission.Grant, bool, error) {
	list, err := s.Grants(ctx)
	if err != nil {
		return permission.Grant{}, false, err
	}
	for _, g := range list {
		if g.Server == server && g.Tool == tool {
			return g, true, nil
		}
	}
	return permission.Grant{}, false, nil
}

// Grants returns all grants, by server and tool.
func (s *Store) Grants(ctx context.Context) ([]permission.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	permission.SortGrants(l.Grants)
	return l.Grants, nil
}

// Remember keeps a grant in the place of an earlier one about the same tool.
func (s *Store) Remember(ctx context.Context, g permission.Grant) error {
	return s.change(ctx, func(list []permission.Grant) []permission.Grant {
		list = slices.DeleteFunc(list, func(old permission.Grant) bool { return old.Server == g.Server && old.Tool == g.Tool })
		list = append(list, g)
		for len(list) > MaxGrants {
			oldest := 0
			for i := range list {
				if list[i].Time.Before(list[oldest].Time) {
					oldest = i
				}
			}
			list = slices.Delete(list, oldest, oldest+1)
		}
		return list
	})
}

// Forget drops the grant of a tool, or of all tools of a server when tool is empty.
func (s *Store) Forget(ctx context.Context, server, tool string) error {
	return s.change(ctx, func(list []permission.Grant) []permission.Grant {
		return slices.DeleteFunc(list, func(g permission.Grant) bool {
			return g.Server == server && (tool == "" || g.Tool == tool)
		})
	})
}

func (s *Store) change(ctx context.Context, do func([]permission.Grant) []permission.Grant) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("storing what is allowed: %w", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return fmt.Errorf("storing what is allowed: %w", err)
	}
	defer unlock()
	l, err := s.read()
	if err != nil {
		return err
	}
	l.Grants = do(l.Grants)
	permission.SortGrants(l.Grants)
	if err := s.write(l); err != nil {
		return fmt.Errorf("storing what is allowed: %w", err)
	}
	return nil
}

// lock waits for the other writers, as long as ctx lasts.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	type outcome struct {
		unlock func()
		err    error
	}
	locked := make(chan outcome, 1)
	mutex := lockedfile.MutexAt(s.Path() + ".lock")
	go func() {
		unlock, err := mutex.Lock()
		locked <- outcome{unlock, err}
	}()
	select {
	case o := <-locked:
		return o.unlock, o.err
	case <-ctx.Done():
		go func() { // the system's lock cannot be abandoned: take it and give it back
			if o := <-locked; o.err == nil {
				o.unlock()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func (s *Store) read() (ledger, error) {
	f, err := os.Open(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return ledger{Version: 1}, nil
	}
	if err != nil {
		return ledger{}, fmt.Errorf("reading what is allowed: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return ledger{}, fmt.Errorf("reading what is allowed: %w", err)
	}
	var l ledger
	switch err := json.Unmarshal(data, &l); {
	case len(data) > maxFile:
		return ledger{}, s.unusable("it is too large")
	case err != nil:
		return ledger{}, s.unusable(err.Error())
	case l.Version != 1:
		return ledger{}, s.unusable(fmt.Sprintf("it is of version %d, and this program knows version 1", l.Version))
	}
	return l, nil
}

func (s *Store) unusable(why string) error {
	return fmt.Errorf("%s cannot be used: %s; remove it to be asked afresh", s.Path(), why)
}

func (s *Store) write(l ledger) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if len(data) >= maxFile {
		return errors.New("the file would be too large; forget some grants")
	}
	f, err := os.CreateTemp(s.dir, FileName+".*") // created with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.Path())
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
