package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	lib "modernc.org/sqlite/lib"

	"github.com/usher-mcp/usher/internal/conversation"
)

// Create is conversation.Store's.
func (s *Store) Create(ctx context.Context, made conversation.Session, entries ...conversation.Entry) (events []conversation.Event, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO session (id, title, created_at, updated_at, archived) VALUES (?, ?, ?, ?, ?)`,
			made.ID, made.Title, millis(made.CreatedAt), millis(made.CreatedAt), made.Archived)
		if isCode(err, lib.SQLITE_CONSTRAINT) {
			return fmt.Errorf("session %s: %w", made.ID, conversation.ErrExists)
		}
		if err != nil {
			return err
		}
		events, err = add(ctx, tx, made.ID, conversation.Change{}, entries)
		return err
	})
	return events, err
}

// Append is conversation.Store's.
func (s *Store) Append(ctx context.Context, session string, change conversation.Change, entries ...conversation.Entry) (events []conversation.Event, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		events, err = add(ctx, tx, session, change, entries)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// change runs do in a transaction on the one connection that writes.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func add(ctx context.Context, tx *sql.Tx, session string, change conversation.Change, entries []conversation.Entry) ([]conversation.Event, error) {
	var last, updated int64
	switch err := tx.QueryRowContext(ctx, `SELECT last_event_id, updated_at FROM session WHERE id = ?`, session).Scan(&last, &updated); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, conversation.ErrNotFound
	case err != nil:
		return nil, err
	}
	events := make([]conversation.Event, 0, len(entries))
	for _, e := range entries {
		last++
		updated = millis(e.Time)
		if _, err := tx.ExecContext(ctx, `INSERT INTO event (session_id, id, time, type, data) VALUES (?, ?, ?, ?, ?)`,
			session, last, updated, e.Type, string(e.Data)); err != nil {
			return nil, err
		}
		if e.Opens != "" {
			if _, err := tx.ExecContext(ctx, `INSERT INTO open_work (session_id, name, opened_at) VALUES (?, ?, ?)`,
				session, e.Opens, updated); err != nil {
				return nil, err
			}
		}
		if e.Closes != "" {
			if err := one(tx.ExecContext(ctx, `DELETE FROM open_work WHERE session_id = ? AND name = ?`, session, e.Closes)); err != nil {
				if errors.Is(err, conversation.ErrNotFound) {
					err = fmt.Errorf("%s %w", e.Closes, conversation.ErrNotOpen)
				}
				return nil, err
			}
		}
		events = append(events, conversation.Event{ID: last, Session: session, Time: fromMillis(updated), Type: e.Type, Data: e.Data})
	}
	_, err := tx.ExecContext(ctx, `UPDATE session SET last_event_id = ?, updated_at = ?,
		title = coalesce(?, title), archived = coalesce(?, archived) WHERE id = ?`,
		last, updated, change.Title, change.Archived, session)
	return events, err
}

const sessionColumns = `id, title, created_at, updated_at, archived, last_event_id`

func scanSession(scan func(...any) error) (conversation.Session, error) {
	var (
		s                conversation.Session
		created, updated int64
	)
	err := scan(&s.ID, &s.Title, &created, &updated, &s.Archived, &s.LastEventID)
	s.CreatedAt, s.UpdatedAt = fromMillis(created), fromMillis(updated)
	return s, err
}

// Session is conversation.Store's.
func (s *Store) Session(ctx context.Context, id string) (conversation.Session, error) {
	found, err := scanSession(s.read.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM session WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return conversation.Session{}, fmt.Errorf("session %s: %w", id, conversation.ErrNotFound)
	}
	return found, err
}

// List is conversation.Store's.
func (s *Store) List(ctx context.Context, p conversation.Page) ([]conversation.Session, error) {
	before := int64(math.MaxInt64)
	if !p.BeforeTime.IsZero() {
		before = millis(p.BeforeTime)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+sessionColumns+` FROM session
		WHERE archived = ? AND (updated_at, id) < (?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?`,
		p.Archived, before, p.BeforeID, p.Limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []conversation.Session
	for rows.Next() {
		found, err := scanSession(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	return list, rows.Err()
}

// Count is conversation.Store's.
func (s *Store) Count(ctx context.Context) (n int, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT count(*) FROM session`).Scan(&n)
	return n, err
}

// Events is conversation.Store's.
func (s *Store) Events(ctx context.Context, session string, after int64, limit, maxBytes int) ([]conversation.Event, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id, time, type, data FROM event
		WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?`, session, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var (
		events []conversation.Event
		size   int
	)
	for rows.Next() {
		e := conversation.Event{Session: session}
		var (
			ms   int64
			data []byte
		)
		if err := rows.Scan(&e.ID, &ms, &e.Type, &data); err != nil {
			return nil, err
		}
		if size += len(data); size > maxBytes && len(events) > 0 {
			return events, nil
		}
		e.Time, e.Data = fromMillis(ms), data
		events = append(events, e)
	}
	return events, rows.Err()
}

// Replace is conversation.Store's.
func (s *Store) Replace(ctx context.Context, session string, event int64, data json.RawMessage) error {
	return one(s.write.ExecContext(ctx, `UPDATE event SET data = ? WHERE session_id = ? AND id = ?`, string(data), session, event))
}

// Open is conversation.Store's.
func (s *Store) Open(ctx context.Context) ([]conversation.OpenWork, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT session_id, name, opened_at FROM open_work ORDER BY opened_at, session_id, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var open []conversation.OpenWork
	for rows.Next() {
		var (
			w  conversation.OpenWork
			ms int64
		)
		if err := rows.Scan(&w.Session, &w.Name, &ms); err != nil {
			return nil, err
		}
		w.Opened = fromMillis(ms)
		open = append(open, w)
	}
	return open, rows.Err()
}

// Delete is conversation.Store's.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := one(s.write.ExecContext(ctx, `DELETE FROM session WHERE id = ?`, id)); err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	return nil
}

// one checks that a statement met a row.
func one(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return conversation.ErrNotFound
}
