// Package sqlite keeps sessions in one SQLite file. There is one connection that writes and a pool of connections that
// read; in WAL mode neither waits for the other.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/usher-mcp/usher/internal/conversation"
)

const (
	// FileName is the database's name in its directory.
	FileName = "usher.db"
	lockName = "usher.lock"

	readers = 4
	// busyTimeout is how long a statement waits for another process's lock, in milliseconds.
	busyTimeout = 5000
)

// OpenError is why a directory cannot hold the sessions.
type OpenError struct {
	Path    string
	Message string
	Hint    string // the next step for the person
	InUse   bool   // another process has it open
	Err     error
}

func (e *OpenError) Error() string { return e.Path + ": " + e.Message }
func (e *OpenError) Unwrap() error { return e.Err }

// Store is a conversation.Store in a file. Close it after everything that uses it.
type Store struct {
	write, read *sql.DB
	lock        *sql.DB
}

var _ conversation.Store = (*Store)(nil)

// Open opens the database in a directory, which is made if it is not there, and brings its tables up to date. The
// directory and its files are for their owner alone (0700, 0600). Only one process at a time may have it open, since
// each takes the calls that it finds running for lost. Errors that a person can do something about are *[OpenError].
func Open(ctx context.Context, dir string) (_ *Store, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &OpenError{Path: dir, Message: "the directory cannot be made: " + err.Error(), Hint: "Name another one with --data-dir.", Err: err}
	}
	s := &Store{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.lock, err = acquire(ctx, dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	if err := private(path); err != nil {
		return nil, err
	}
	common := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout), "foreign_keys(1)", "synchronous(NORMAL)", "temp_store(MEMORY)",
		"journal_size_limit(67108864)",
	}
	if s.write, err = sql.Open("sqlite", dsn(path, append(common, "journal_mode(WAL)"), "immediate")); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.write.SetMaxOpenConns(1)
	if err := migrate(ctx, s.write); err != nil {
		return nil, explain(path, err)
	}
	if s.read, err = sql.Open("sqlite", dsn(path, append(common, "query_only(1)"), "deferred")); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if err := s.read.PingContext(ctx); err != nil {
		return nil, explain(path, err)
	}
	return s, nil
}

// Close writes what is in the log back into the file and lets go of it.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write, s.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// dsn names the file with what every connection to it must set.
func dsn(path string, pragmas []string, lock string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{"_pragma": pragmas, "_txlock": {lock}}.Encode()}
	if !filepath.IsAbs(path) {
		u.Opaque, u.Path = (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), ""
	}
	return u.String()
}

// private makes the file, or takes others' rights to it away. SQLite gives the files beside it the same rights.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return &OpenError{Path: path, Message: err.Error(), Hint: "Name another directory with --data-dir.", Err: err}
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// acquire takes the directory for this process: SQLite's own file lock, which ends with the process on every system.
func acquire(ctx context.Context, dir string) (*sql.DB, error) {
	path := filepath.Join(dir, lockName)
	if err := private(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, []string{"busy_timeout(0)", "locking_mode(EXCLUSIVE)"}, "exclusive"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE; COMMIT")
	if err == nil {
		return db, nil
	}
	if isCode(err, lib.SQLITE_BUSY) {
		err = &OpenError{
			Path: dir, Message: "another usher serve or usher run has its sessions here", InUse: true, Err: err,
			Hint: "Open that one with: usher open. Or give this one a place of its own with --data-dir.",
		}
	} else {
		err = explain(path, err)
	}
	return nil, errors.Join(err, db.Close())
}

// explain turns what SQLite says of a file it cannot use into words for a person.
func explain(path string, err error) error {
	var open *OpenError
	switch {
	case errors.As(err, &open):
		open.Path = path
		return err
	case isCode(err, lib.SQLITE_NOTADB), isCode(err, lib.SQLITE_CORRUPT):
		return &OpenError{
			Path: path, Message: "the file is damaged or is not a database", Err: err,
			Hint: "Move it away to start anew, or put a copy of it back.",
		}
	case isCode(err, lib.SQLITE_READONLY), isCode(err, lib.SQLITE_CANTOPEN), isCode(err, lib.SQLITE_PERM):
		return &OpenError{Path: path, Message: "the file cannot be written", Hint: "Name another directory with --data-dir.", Err: err}
	case isCode(err, lib.SQLITE_FULL):
		return &OpenError{Path: path, Message: "the disk is full", Hint: "Make room, then start again.", Err: err}
	default:
		return fmt.Errorf("open %s: %w", path, err)
	}
}

// isCode reports whether an error is SQLite's of a primary code.
func isCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

func millis(t time.Time) int64 { return t.UnixMilli() }

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
