package plain_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/gormflake/gormflake/types"
)

// stdlibShop is a [shop] that stores orders with database/sql alone, and binds arrays of
// keys.
type stdlibShop struct{ *sql.DB }

// openStdlib opens a shop with pgx as the driver of database/sql.
func openStdlib(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	pool, err := sql.Open("pgx", db.url)
	ok(t, err)
	t.Cleanup(func() { ok(t, pool.Close()) })
	return stdlibShop{pool}, pool
}

// insert stores the first row, and then the other rows, which are its children, by an array
// of their keys.
func (s stdlibShop) insert(ctx context.Context, rows []order) error {
	var ids types.IDs
	for _, row := range rows[1:] {
		ids = append(ids, row.ID)
	}
	if _, err := s.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", rows[0].ID); err != nil {
		return err
	}
	_, err := s.ExecContext(ctx, "INSERT INTO orders (id, parent) SELECT unnest($1::bigint[]), $2", ids, rows[0].ID)
	return err
}

func (s stdlibShop) children(ctx context.Context, parent types.ID) (found []order, err error) {
	rows, err := s.QueryContext(ctx, "SELECT id, parent FROM orders WHERE parent = $1 ORDER BY id", parent)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row order
		if err := rows.Scan(&row.ID, &row.Parent); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

// pgxShop is a [shop] that stores orders with pgx itself. The leases use connections of its
// pool.
type pgxShop struct{ *pgxpool.Pool }

// openPgx opens a shop with a pool of pgx.
func openPgx(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	p, pool := openPool(t, db)
	return pgxShop{p}, pool
}

// openPool opens a pool of pgx, and a pool of database/sql that uses its connections.
func openPool(t *testing.T, db database) (*pgxpool.Pool, *sql.DB) {
	t.Helper()
	p, err := pgxpool.New(t.Context(), db.url)
	ok(t, err)
	t.Cleanup(p.Close)
	pool := stdlib.OpenDBFromPool(p)
	t.Cleanup(func() { ok(t, pool.Close()) })
	return p, pool
}

func (s pgxShop) insert(ctx context.Context, rows []order) error {
	_, err := s.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "parent"}, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		return []any{rows[i].ID, rows[i].Parent}, nil
	}))
	return err
}

func (s pgxShop) children(ctx context.Context, parent types.ID) ([]order, error) {
	rows, err := s.Query(ctx, "SELECT id, parent FROM orders WHERE parent = $1 ORDER BY id", parent)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[order])
}
