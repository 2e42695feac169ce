package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/usher-mcp/usher/permission"
)

// Grants is a permission.Store in the same file. It is closed with its Store.
type Grants struct{ store *Store }

var _ permission.Store = Grants{}

// Permissions returns what a person allowed for good.
func (s *Store) Permissions() Grants { return Grants{s} }

// Grant is permission.Store's.
func (g Grants) Grant(ctx context.Context, server, tool string) (permission.Grant, bool, error) {
	var text string
	err := g.store.read.QueryRowContext(ctx, `SELECT data FROM permission_grant WHERE server = ? AND tool = ?`, server, tool).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return permission.Grant{}, false, nil
	}
	if err != nil {
		return permission.Grant{}, false, err
	}
	found, err := readGrant(text)
	return found, err == nil, err
}

// Remember is permission.Store's.
func (g Grants) Remember(ctx context.Context, grant permission.Grant) error {
	text, err := json.Marshal(grant)
	if err != nil {
		return fmt.Errorf("encoding a grant: %w", err)
	}
	_, err = g.store.write.ExecContext(ctx, `INSERT OR REPLACE INTO permission_grant (server, tool, data) VALUES (?, ?, ?)`,
		grant.Server, grant.Tool, string(text))
	return err
}

// Forget is permission.Store's.
func (g Grants) Forget(ctx context.Context, server, tool string) error {
	_, err := g.store.write.ExecContext(ctx, `DELETE FROM permission_grant WHERE server = ? AND (? = '' OR tool = ?)`, server, tool, tool)
	return err
}

// Grants is permission.Store's.
func (g Grants) Grants(ctx context.Context) ([]permission.Grant, error) {
	rows, err := g.store.read.QueryContext(ctx, `SELECT data FROM permission_grant`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []permission.Grant{}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		found, err := readGrant(text)
		if err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	permission.SortGrants(list)
	return list, rows.Err()
}

func readGrant(text string) (grant permission.Grant, err error) {
	if err := json.Unmarshal([]byte(text), &grant); err != nil {
		return grant, fmt.Errorf("reading a grant: %w", err)
	}
	return grant, nil
}
