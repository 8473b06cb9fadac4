package database_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestPgx checks that pgx itself copies, binds and reads keys, absent keys and lists of keys.
func TestPgx(t *testing.T) {
	t.Parallel()
	url := testdb.PostgresURL(t, open(t, testdb.Postgres, &order{}))
	conn, err := pgx.Connect(t.Context(), url)
	ok(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	parent := sample - 1
	rows := [][]any{{sample, &parent}, {parent, nil}}
	copied, err := conn.CopyFrom(t.Context(), pgx.Identifier{"orders"}, []string{"id", "parent"}, pgx.CopyFromRows(rows))
	ok(t, err)
	equal(t, copied, 2)
	found, err := conn.Query(t.Context(), "SELECT id, parent FROM orders WHERE id >= $1 ORDER BY id", parent)
	ok(t, err)
	orders, err := pgx.CollectRows(found, pgx.RowToStructByName[order])
	ok(t, err)
	equal(t, len(orders), 2)
	equal(t, orders[0].Parent, nil)
	equal(t, *orders[1].Parent, parent)
	var ids types.IDs
	ok(t, conn.QueryRow(t.Context(), "SELECT array_agg(id) FROM orders WHERE id = ANY($1)", types.IDs{sample}).Scan(&ids))
	equal(t, len(ids), 1)
	equal(t, ids[0], sample)
}

// TestPgxStdlib checks that pgx binds and reads keys as the driver of database/sql.
func TestPgxStdlib(t *testing.T) {
	t.Parallel()
	checkSQL(t, "pgx")
}

// TestLibPQ checks that lib/pq binds and reads keys as the driver of database/sql.
func TestLibPQ(t *testing.T) {
	t.Parallel()
	checkSQL(t, "postgres")
}

// checkSQL checks that a driver of PostgreSQL binds and reads keys, absent keys and lists of
// keys by database/sql.
func checkSQL(t *testing.T, driver string) {
	t.Helper()
	db, err := sql.Open(driver, testdb.PostgresURL(t, open(t, testdb.Postgres, &order{})))
	ok(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "INSERT INTO orders (id, parent) VALUES ($1, $2), ($3, $4)",
		sample, sample-1, sample-1, sql.Null[types.ID]{})
	ok(t, err)
	var id types.ID
	var parent *types.ID
	ok(t, db.QueryRowContext(t.Context(), "SELECT id, parent FROM orders WHERE id = ANY($1)", types.IDs{sample}).Scan(&id, &parent))
	equal(t, id, sample)
	equal(t, *parent, sample-1)
	var optional sql.Null[types.ID]
	ok(t, db.QueryRowContext(t.Context(), "SELECT parent FROM orders WHERE id = $1", sample-1).Scan(&optional))
	equal(t, optional.Valid, false)
}

// TestSqlx checks that sqlx binds the fields of rows and a list of keys, and reads rows.
func TestSqlx(t *testing.T) {
	t.Parallel()
	pool, err := open(t, testdb.SQLite, &order{}).DB()
	ok(t, err)
	db := sqlx.NewDb(pool, "sqlite3")
	_, err = db.NamedExecContext(t.Context(), "INSERT INTO orders (id, parent) VALUES (:id, :parent)", []order{{ID: sample}, {ID: sample - 1}})
	ok(t, err)
	query, args, err := sqlx.In("SELECT * FROM orders WHERE id IN (?)", []types.ID{sample})
	ok(t, err)
	var orders []order
	ok(t, db.SelectContext(t.Context(), &orders, db.Rebind(query), args...))
	equal(t, len(orders), 1)
	equal(t, orders[0], order{ID: sample})
}
