package plain_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/gormflake/gormflake/types"
)

// sqlxShop is a [shop] that stores orders with the named parameters of sqlx.
type sqlxShop struct{ *sqlx.DB }

// openSqlx opens a shop with sqlx. sqlx chooses placeholders by the name of the driver,
// which sqlx.Connect receives.
func openSqlx(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	drivers := map[string]string{"postgres": "pgx", "mysql": "mysql", "sqlite": "sqlite3"}
	s := sqlx.NewDb(db.pool, drivers[db.dialect])
	return sqlxShop{s}, s.DB
}

func (s sqlxShop) insert(ctx context.Context, rows []order) error {
	_, err := s.NamedExecContext(ctx, "INSERT INTO orders (id, parent) VALUES (:id, :parent)", rows)
	return err
}

func (s sqlxShop) children(ctx context.Context, parent types.ID) (found []order, err error) {
	err = s.SelectContext(ctx, &found, s.Rebind("SELECT * FROM orders WHERE parent = ? ORDER BY id"), parent)
	return found, err
}
