package sqllease_test

import (
	"log/slog"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A process whose clock is wrong must block its worker only briefly, because the store has a
// clock with which the lease compares the clock of the process.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			storetest.WrongClocks(t, func() storetest.Client { return clientOf(t, reopen(t, db)) })
		})
	}
}

// The server restarts with a wrong clock. Processes whose clocks are right must continue.
// While the server's clock is behind, a process that starts must be refused.
func TestWrongServerClock(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{
		"postgres": testserver.Postgres, "mariadb": testserver.MariaDB, "mysql": testserver.MySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			storetest.WrongServerClock(t, server, func() storetest.Client {
				d, err := dsn.Open(server.URL())
				if err != nil {
					t.Fatal(err)
				}
				return clientOf(t, open(t, d))
			})
		})
	}
}

// clientOf returns a store on db, and the function that closes its pool.
func clientOf(t *testing.T, db *gorm.DB) storetest.Client {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Client{Store: newStore(db, sqllease.WithLogger(slog.New(slog.DiscardHandler))), Close: func() { pool.Close() }}
}
