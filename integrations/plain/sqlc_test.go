package plain_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/gormflake/gormflake/integrations/database/sqlcplain"
	"github.com/gormflake/gormflake/integrations/database/sqlcquery"
	"github.com/gormflake/gormflake/types"
)

// sqlcPgxShop is a [shop] that stores orders with the code that sqlc generates for pgx.
type sqlcPgxShop struct{ *sqlcquery.Queries }

// openSqlcPgx opens a shop with a pool of pgx.
func openSqlcPgx(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	p, pool := openPool(t, db)
	return sqlcPgxShop{sqlcquery.New(p)}, pool
}

func (s sqlcPgxShop) insert(ctx context.Context, rows []order) error {
	for _, row := range rows {
		if err := s.CreateOrder(ctx, sqlcquery.CreateOrderParams(row)); err != nil {
			return err
		}
	}
	return nil
}

func (s sqlcPgxShop) children(ctx context.Context, parent types.ID) ([]order, error) {
	rows, err := s.OrdersOfParent(ctx, &parent)
	var found []order
	for _, row := range rows {
		found = append(found, order(row))
	}
	return found, err
}

// sqlcShop is a [shop] that stores orders with the code that sqlc generates for
// database/sql.
type sqlcShop struct {
	db *sql.DB
	*sqlcplain.Queries
}

// openSqlc opens a shop on the pool of the database.
func openSqlc(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	return sqlcShop{db.pool, sqlcplain.New(db.pool)}, db.pool
}

func (s sqlcShop) insert(ctx context.Context, rows []order) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is an error
	queries := s.WithTx(tx)
	for _, row := range rows {
		if err := queries.CreateOrder(ctx, sqlcplain.CreateOrderParams(row)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s sqlcShop) children(ctx context.Context, parent types.ID) ([]order, error) {
	rows, err := s.OrdersOfParent(ctx, &parent)
	var found []order
	for _, row := range rows {
		found = append(found, order(row))
	}
	return found, err
}
