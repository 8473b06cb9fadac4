// Package plain_test tests programs without GORM. They use leases, generators and keys
// with pgx, sqlc, ent, bun and sqlx.
package plain_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// createOrders is valid on every database.
const createOrders = "CREATE TABLE orders (id bigint PRIMARY KEY, parent bigint)"

// order has a parent, or is a parent.
type order struct {
	ID     types.ID
	Parent *types.ID
}

// database contains only the table of orders, which is empty.
type database struct {
	pool    *sql.DB
	dialect string // as sqllease.NewDB accepts it
	url     string // for libraries that open PostgreSQL themselves
}

// shop stores orders with a library.
type shop interface {
	// insert stores the rows, in one statement if the library supports it.
	insert(ctx context.Context, rows []order) error
	// children returns the orders with this parent, in the order of their keys.
	children(ctx context.Context, parent types.ID) ([]order, error)
}

// libraries contains the functions that open a shop, and return the pool that leases use.
var libraries = []struct {
	name    string
	open    func(t *testing.T, db database) (shop, *sql.DB)
	targets []testdb.Target
}{
	{"pgx stdlib", openStdlib, []testdb.Target{testdb.Postgres}},
	{"pgx pool", openPgx, []testdb.Target{testdb.Postgres}},
	{"sqlc pgx", openSqlcPgx, []testdb.Target{testdb.Postgres}},
	{"sqlc", openSqlc, []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.SQLite}},
	{"ent", openEnt, everywhere},
	{"bun", openBun, everywhere},
	{"sqlx", openSqlx, everywhere},
}

// everywhere are the targets of libraries that support every database.
var everywhere = []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL, testdb.SQLite}

// TestLibraries checks that two generators lease different workers from the pool of a
// library, and that the library stores and finds rows with their keys.
func TestLibraries(t *testing.T) {
	t.Parallel()
	for _, library := range libraries {
		for _, target := range library.targets {
			t.Run(library.name+"/"+string(target), func(t *testing.T) {
				t.Parallel()
				db := create(t, target)
				shop, pool := library.open(t, db)
				first, second := generator(t, pool, db.dialect), generator(t, pool, db.dialect)
				layout := snowflake.TwitterLayout()
				keys := map[types.ID]bool{}
				workers := map[[2]int64]bool{}
				for _, gen := range []*snowflake.Generator{first, second, first} {
					for _, key := range sell(t, shop, gen) {
						keys[key] = true
						parts := layout.Decompose(key)
						workers[[2]int64{parts.Datacenter, parts.Worker}] = true
					}
				}
				equal(t, "keys", len(keys), 3*rowsOfSale)
				equal(t, "workers", len(workers), 2)
				equal(t, "stored rows", count(t, db, "orders"), 3*rowsOfSale)
				equal(t, "leases", count(t, db, "snowflake_workers WHERE worker_id >= 0"), 2)
			})
		}
	}
}

// rowsOfSale is the number of rows that sell stores, a parent and its children.
const rowsOfSale = 4

// sell stores an order with children, finds them and returns their keys.
func sell(t *testing.T, s shop, gen *snowflake.Generator) []types.ID {
	t.Helper()
	keys := make([]types.ID, rowsOfSale)
	ok(t, gen.Fill(t.Context(), keys))
	rows := []order{{ID: keys[0]}}
	for _, key := range keys[1:] {
		rows = append(rows, order{key, &keys[0]})
	}
	ok(t, s.insert(t.Context(), rows))
	found, err := s.children(t.Context(), keys[0])
	ok(t, err)
	equal(t, "children", len(found), rowsOfSale-1)
	for i, child := range found {
		equal(t, "key", child.ID, keys[i+1])
		equal(t, "parent", *child.Parent, keys[0])
	}
	return keys
}

// create creates the table in a separate database, which testdb opens with GORM.
func create(t *testing.T, target testdb.Target) database {
	t.Helper()
	opened := testdb.Open(t, target)
	pool, err := opened.DB()
	ok(t, err)
	db := database{pool: pool, dialect: opened.Name()}
	if target == testdb.Postgres {
		db.url = testdb.PostgresURL(t, opened)
	}
	_, err = pool.ExecContext(t.Context(), createOrders)
	ok(t, err)
	return db
}

// generator returns a generator. It contains all calls of gormflake that such a program
// makes.
func generator(t *testing.T, pool *sql.DB, dialect string) *snowflake.Generator {
	t.Helper()
	held, err := lease.Acquire(t.Context(), sqllease.NewDB(pool, dialect), snowflake.TwitterLayout(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	ok(t, err)
	gen, err := snowflake.New(held)
	ok(t, err)
	t.Cleanup(func() { ok(t, gen.Close(context.Background())) }) // t.Context() has ended
	return gen
}

// count returns the number of rows of a table, or of a table with a condition.
func count(t *testing.T, db database, table string) (rows int) {
	t.Helper()
	ok(t, db.pool.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows))
	return rows
}

// ok ends the test if there is an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test unless the values are equal. what is the name of the value, for the
// error.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestPage checks that docs/without-gorm.md names each library.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/without-gorm.md")
	ok(t, err)
	for _, library := range libraries {
		name, _, _ := strings.Cut(library.name, " ")
		if !strings.Contains(string(page), "\n| "+name) {
			t.Errorf("the page has no line for %s", name)
		}
	}
}
