// Package approval remembers which servers of a project's files a person has agreed to run.
//
// A project's files come with the project, so what they name is someone else's wish until the person says yes.
// A decision is bound to the project's directory, the server's name and a hash of the entry; a changed entry is
// undecided again. Decisions live in one file outside the project, readable by its owner only.
package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/usher-mcp/usher/config"
)

// Decision is what a person said about a server.
type Decision string

// The decisions. Changed is what an entry is that was decided about and is not what it was then: it needs a new
// decision as much as one that is Undecided.
const (
	Undecided Decision = ""
	Approved  Decision = "approved"
	Rejected  Decision = "rejected"
	Changed   Decision = "changed"
)

// FileName is the name of the file in the state directory.
const FileName = "approvals.json"

// maxFile bounds the file, in bytes; an approval takes about 150.
const maxFile = 4 << 20

// record is one decision in the file.
type record struct {
	Digest   string    `json:"digest"`
	Decision Decision  `json:"decision"`
	Time     time.Time `json:"time"`
}

// ledger is the file: project directory → server name → decision.
type ledger struct {
	Version  int                          `json:"version"`
	Projects map[string]map[string]record `json:"projects"`
}

// Store is the file of decisions of one state directory. It keeps nothing in memory: several processes may use
// one file, each sees the decisions of the others, and writers take turns. It is safe for concurrent use.
type Store struct {
	dir string
	now func() time.Time
}

// Open returns the store in the state directory dir, which need not exist yet.
func Open(dir string) *Store { return &Store{dir: dir, now: time.Now} }

// Path is the file's path, for messages.
func (s *Store) Path() string { return filepath.Join(s.dir, FileName) }

// Needed reports whether a server runs only after a person approved it: whether it comes from a project's file
// that was found rather than named.
func Needed(server config.Server) bool { return server.Source.Scope == config.ScopeProject }

// Lookup returns the decision about each server of a project that needs one, in order; those that need none are
// Approved. project is the project's directory. A file that cannot be read decides nothing: every entry that
// needs a decision is Undecided, and the error says why.
func (s *Store) Lookup(project string, servers ...config.Server) ([]Decision, error) {
	var (
		decisions = make([]Decision, len(servers))
		records   map[string]record
		err       error
		read      bool
	)
	for i, server := range servers {
		if !Needed(server) {
			decisions[i] = Approved
			continue
		}
		if !read {
			read = true
			records, err = s.records(project)
		}
		r, ok := records[server.Name]
		switch {
		case !ok || r.Decision != Approved && r.Decision != Rejected:
		case r.Digest == config.ConsentFingerprint(server):
			decisions[i] = r.Decision
		default:
			decisions[i] = Changed
		}
	}
	return decisions, err
}

func (s *Store) records(project string) (map[string]record, error) {
	root, err := canonical(project)
	if err != nil {
		return nil, err
	}
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	return l.Projects[root], nil
}

// Decide stores one decision about servers of a project: Approved, Rejected, or Undecided to forget them.
func (s *Store) Decide(ctx context.Context, project string, decision Decision, servers ...config.Server) error {
	root, err := canonical(project)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("storing approvals: %w", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return fmt.Errorf("storing approvals: %w", err)
	}
	defer unlock()
	l, err := s.read()
	if err != nil {
		return err
	}
	records := l.Projects[root]
	if records == nil {
		records = map[string]record{}
	}
	for _, server := range servers {
		if decision == Undecided {
			delete(records, server.Name)
			continue
		}
		records[server.Name] = record{
			Digest: config.ConsentFingerprint(server), Decision: decision, Time: s.now().UTC().Truncate(time.Second),
		}
	}
	if l.Projects == nil {
		l.Projects = map[string]map[string]record{}
	}
	l.Projects[root] = records
	if len(records) == 0 {
		delete(l.Projects, root)
	}
	if err := s.write(l); err != nil {
		return fmt.Errorf("storing approvals: %w", err)
	}
	return nil
}

// Project is the store as a host asks it: the decisions about the servers of one project.
type Project struct {
	store *Store
	dir   string
}

// Project returns the decisions about the project whose directory is dir.
func (s *Store) Project(dir string) *Project { return &Project{store: s, dir: dir} }

// Approved says whether a server may be started as it is configured now. Decisions that cannot be read allow
// nothing that needs one.
func (p *Project) Approved(server config.Server) bool {
	decisions, _ := p.store.Lookup(p.dir, server) // on an error every decision is Undecided
	return decisions[0] == Approved
}

// Approve remembers that a server may be started as it is configured now.
func (p *Project) Approve(server config.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), approveBound) //nolint:forbidigo // a host asks without a context; the bound stands in for it
	defer cancel()
	return p.store.Decide(ctx, p.dir, Approved, server)
}

// approveBound is how long Approve waits for other writers.
const approveBound = 5 * time.Second

// lock waits for the other writers, as long as ctx lasts.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	type outcome struct {
		unlock func()
		err    error
	}
	locked := make(chan outcome, 1)
	mutex := lockedfile.MutexAt(s.Path() + ".lock")
	// The mutex would make its file readable by all.
	if f, err := os.OpenFile(s.Path()+".lock", os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		_ = errors.Join(private(f), f.Close()) // what stands in the way of locking, Lock says
	}
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
	for _, path := range []string{s.dir, s.Path()} {
		if info, err := os.Stat(path); err == nil && othersWrite(info) {
			return ledger{}, fmt.Errorf("%s can be changed by other users, so the approvals in it count for nothing; run: chmod go-w '%s'", path, path)
		}
	}
	f, err := os.Open(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return ledger{Version: 1}, nil
	}
	if err != nil {
		return ledger{}, fmt.Errorf("reading approvals: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return ledger{}, fmt.Errorf("reading approvals: %w", err)
	}
	var l ledger
	decoder := json.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&l); {
	case len(data) > maxFile:
		return ledger{}, s.unusable("it is too large")
	case err != nil:
		return ledger{}, s.unusable(err.Error())
	case l.Version != 1:
		return ledger{}, s.unusable(fmt.Sprintf("it is of version %d, and this program knows version 1", l.Version))
	}
	return l, nil
}

// othersWrite reports whether someone else may change a file. Windows keeps that in lists that its mode does not show.
func othersWrite(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}

// private takes a file from everyone but its owner.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return err
	}
	return f.Chmod(0o600)
}

func (s *Store) unusable(why string) error {
	return fmt.Errorf("%s cannot be used: %s; remove it to decide afresh", s.Path(), why)
}

// write replaces the file in one step, so that a reader sees the old or the new one and a crash loses neither.
func (s *Store) write(l ledger) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
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

// canonical is the directory by its one true path, so that a symbolic link does not make a second project of it.
func canonical(project string) (string, error) {
	root, err := filepath.Abs(project)
	if err != nil {
		return "", fmt.Errorf("finding the project's directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return root, nil
}
