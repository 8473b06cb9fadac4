package sqllease_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A store with ExistingTable does not create the table. Its calls return ErrNoTable until
// another store has created the table.
func TestExistingTable(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		reader := newStore(db, sqllease.ExistingTable())
		for range 2 {
			if _, err := reader.Load(t.Context()); !errors.Is(err, sqllease.ErrNoTable) {
				t.Fatalf("Load = %v, want ErrNoTable", err)
			}
		}
		if db.Migrator().HasTable("snowflake_workers") {
			t.Fatal("the reader has created the table")
		}
		swap(t, newStore(db), 1, lease.Record{}, first, true)
		if got := load(t, reader)[1]; got != first {
			t.Errorf("the reader sees %+v, want %+v", got, first)
		}
	})
}
