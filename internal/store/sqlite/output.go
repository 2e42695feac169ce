package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/usher-mcp/usher/internal/conversation"
)

// SetOutput is conversation.Store's.
func (s *Store) SetOutput(ctx context.Context, session, name string, text []byte) error {
	if text == nil {
		text = []byte{}
	}
	_, err := s.write.ExecContext(ctx, `INSERT OR REPLACE INTO output (session_id, name, text) VALUES (?, ?, ?)`, session, name, text)
	if isCode(err, lib.SQLITE_CONSTRAINT) {
		return fmt.Errorf("session %s: %w", session, conversation.ErrNotFound)
	}
	return err
}

// Output is conversation.Store's.
func (s *Store) Output(ctx context.Context, session, name string) (text []byte, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT text FROM output WHERE session_id = ? AND name = ?`, session, name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("output %s: %w", name, conversation.ErrNotFound)
	}
	return text, err
}
