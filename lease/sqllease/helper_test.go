package sqllease_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/lease"
)

// patience is how long a call of a healthy database may take.
const patience = 20 * time.Second

// again opens the database of db once more, with a pool of its own.
func again(t *testing.T, db *gorm.DB) *gorm.DB {
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

func open(t *testing.T, d gorm.Dialector) *gorm.DB {
	t.Helper()
	return testdb.OpenWith(t, d)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func load(t *testing.T, s lease.Store) map[int]lease.Record {
	t.Helper()
	records, err := s.Load(within(t, patience))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return records
}

// swap checks the answer of CompareAndSwap.
func swap(t *testing.T, s lease.Store, worker int, from, to lease.Record, want bool) {
	t.Helper()
	got, err := s.CompareAndSwap(within(t, patience), worker, from, to)
	if err != nil || got != want {
		t.Fatalf("CompareAndSwap(%d, %+v, %+v) = %v, %v, want %v", worker, from, to, got, err, want)
	}
}

func run(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
