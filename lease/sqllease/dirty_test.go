package sqllease_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A program has a pool of one connection, over which its lease extends its window too. It
// begins a transaction on this connection, or sets autocommit=0, and rolls back later. The
// rollback must not undo a write that the store has acknowledged to the lease. Otherwise
// another process, which takes the worker at the bound in the table, would issue IDs of the
// lease again.
func TestDirtySession(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target testdb.Target
		dirt   string
	}{
		{testdb.SQLite, "BEGIN"},
		{testdb.Postgres, "BEGIN"},
		{testdb.MariaDB, "BEGIN"},
		{testdb.MySQL, "BEGIN"},
		{testdb.MariaDB, "SET autocommit = 0"},
		{testdb.MySQL, "SET autocommit = 0"},
	} {
		for _, target := range testdb.Alike(test.target) {
			t.Run(string(target)+" "+test.dirt, func(t *testing.T) {
				t.Parallel()
				db := testdb.Open(t, target)
				poolOf(t, db).SetMaxOpenConns(1)
				const window = 1500 * time.Millisecond
				f := storetest.NewFleet(t, storetest.FleetConfig{Dial: dialBoth(db, reopen(t, db)), Workers: 1, Window: window})
				f.AwaitHolding(f.Start(storetest.AtOnce, "dirty"))
				run(t, db, test.dirt)
				pause(t.Context(), 2*window)
				f.Clocks = []time.Duration{-20 * time.Second} // so that the taker starts exactly at the bound in the table
				takers := f.Start(storetest.AtOnce, "other")
				pause(t.Context(), window/3) // the taker waits while the row is locked
				db.Exec("ROLLBACK")          // on another connection the ROLLBACK has no effect
				f.AwaitHolding(takers)
				pause(t.Context(), window)
				sum := f.Finish()
				if t.Log(sum); sum.Duplicates+sum.Regressions > 0 {
					t.Error("want no ID issued twice, and nothing that was acknowledged undone")
				}
			})
		}
	}
}

// dialBoth returns a dialer that opens stores over two pools of one database. The address
// "other" means the pool other.
func dialBoth(dirty, other *gorm.DB) func(context.Context, string, string) (lease.Store, func(), error) {
	return func(_ context.Context, which, namespace string) (lease.Store, func(), error) {
		db := dirty
		if which == "other" {
			db = other
		}
		log := sqllease.WithLogger(slog.New(slog.DiscardHandler))
		return newStore(db, sqllease.WithNamespace(namespace), log), nil, nil
	}
}
