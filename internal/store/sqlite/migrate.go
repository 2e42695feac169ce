package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// A migration never changes once it was released; its checksum is kept in the database.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the tables to the newest version: numbered files, each in a transaction of its own with the note that
// it was done.
func migrate(ctx context.Context, db *sql.DB) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migration (
		version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`); err != nil {
		return err
	}
	var newest int
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migration`).Scan(&newest); err != nil {
		return err
	}
	if newest > len(names) {
		return &OpenError{
			Message: fmt.Sprintf("a newer usher has written it (version %d of its tables; this one knows %d)", newest, len(names)),
			Hint:    "Use that usher again, or give this one a place of its own with --data-dir.",
		}
	}
	for i, name := range names {
		if err := migrateOne(ctx, db, i+1, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func migrateOne(ctx context.Context, db *sql.DB, version int, name string) error {
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(script)
	checksum := hex.EncodeToString(sum[:])
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	var done string
	switch err := tx.QueryRowContext(ctx, `SELECT checksum FROM migration WHERE version = ?`, version).Scan(&done); {
	case err == nil && done == checksum:
		return nil
	case err == nil:
		return &OpenError{
			Message: fmt.Sprintf("its tables were made by another %s than this usher's", name),
			Hint:    "Use the usher that made it, or give this one a place of its own with --data-dir.",
		}
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO migration (version, checksum, applied_at) VALUES (?, ?, ?)`,
		version, checksum, time.Now().UnixMilli()); err != nil {
		return err
	}
	return tx.Commit()
}
