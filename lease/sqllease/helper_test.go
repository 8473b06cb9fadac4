package sqllease_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// patience is how long a call of a healthy database may take.
const patience = 20 * time.Second

// reopen opens another pool on the database of db, like another process.
func reopen(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	switch d := db.Dialector.(type) {
	case *sqlite.Dialector:
		return open(t, sqlite.New(sqlite.Config{DriverName: d.DriverName, DSN: d.DSN}))
	case *mysql.Dialector:
		return open(t, mysql.New(mysql.Config{DSNConfig: d.DSNConfig.Clone()}))
	case *postgres.Dialector:
		return open(t, postgres.Open(d.DSN))
	}
	t.Fatalf("no way to open %T again", db.Dialector)
	return nil
}

// newStore returns the store of sqllease.New. On TiDB it adds AllowVolatile, so that the store
// accepts the server. The store is then not a lease.Settler, so that leases need not settle.
// Settling would hide faults that occur before it ends.
func newStore(db *gorm.DB, opts ...sqllease.Option) lease.Store {
	store := sqllease.New(db, opts...)
	if !isTiDB(db) {
		return store
	}
	store = sqllease.New(db, append(slices.Clone(opts), sqllease.AllowVolatile())...)
	if clocked, ok := store.(sqlStore); ok {
		return unsettled{clocked}
	}
	return store
}

// isTiDB reports whether db was opened on TiDB, on which "make tidb" runs the tests of
// MySQL.
func isTiDB(db *gorm.DB) bool {
	if db == nil || db.Config == nil {
		return false
	}
	d, ok := db.Dialector.(*mysql.Dialector)
	return ok && strings.Contains(d.ServerVersion, "TiDB")
}

// unsettled is a store that is not a lease.Settler.
type unsettled struct{ sqlStore }

// sqlStore has the interfaces that all stores of database servers implement. unsettled
// embeds it, because embedding only lease.Store would hide the other interfaces.
type sqlStore interface {
	lease.Store
	lease.Connector
	lease.Getter
	lease.Queue
	lease.Checker
	lease.Clock
}

// open opens a database that the test closes at its end.
func open(t *testing.T, d gorm.Dialector) *gorm.DB {
	t.Helper()
	return testdb.OpenWith(t, d)
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// load returns all records of the store.
func load(t *testing.T, s lease.Store) map[int]lease.Record {
	t.Helper()
	records, err := s.Load(within(t, patience))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return records
}

// swap calls CompareAndSwap, which must return want without an error. want is true if the
// record is from, so that the store writes the record to, and otherwise false.
func swap(t *testing.T, s lease.Store, worker int, from, to lease.Record, want bool) {
	t.Helper()
	got, err := s.CompareAndSwap(within(t, patience), worker, from, to)
	if err != nil || got != want {
		t.Fatalf("CompareAndSwap(%d, %+v, %+v) = %v, %v, want %v", worker, from, to, got, err, want)
	}
}

// run executes statements, which must succeed.
func run(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
