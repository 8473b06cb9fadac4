package main

import (
	"cmp"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
)

// Here the tables have foreign keys: rows in a wrong order, or with a wrong
// key, would be refused.

func TestInsertBatches(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		wantStored(t, shopIn(t, db).db, insertBatches)
	})
}

func TestCopyIn(t *testing.T) {
	t.Parallel()
	wantStored(t, shopIn(t, testdb.Open(t, testdb.Postgres)).db, copyIn)
}

func TestInsertOneByOne(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		shopIn(t, db)
		orders := sampleAutoOrders(size{orders: 50, lines: 3})
		if err := insertOneByOne(db, orders); err != nil {
			t.Fatal(err)
		}
		wantRows(t, db, &AutoOrder{}, 50)
		wantRows(t, db, &AutoLine{}, 150)
		if err := remove(db, orders[:20]); err != nil {
			t.Fatal(err)
		}
		wantRows(t, db, &AutoOrder{}, 30)
		wantRows(t, db, &AutoLine{}, 90)
	})
}

// wantStored writes more orders than one batch holds, and wants to read back
// exactly what is in memory.
func wantStored(t *testing.T, db *gorm.DB, write func(*gorm.DB, []Order) error) {
	t.Helper()
	orders := sampleOrders(size{orders: batchRows(db) + 1, lines: 3})
	if err := write(db, orders); err != nil {
		t.Fatal(err)
	}
	var stored []Order
	if err := db.Preload("Lines", byID).Order("id").Find(&stored).Error; err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(stored, orders, equal) {
		t.Errorf("stored %d orders that differ from the %d in memory", len(stored), len(orders))
	}
	if !slices.IsSortedFunc(linesOf(orders), func(a, b Line) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("keys of lines do not rise: INSERT would go to all parts of the index")
	}
	if err := remove(db, orders); err != nil {
		t.Fatal(err)
	}
	wantRows(t, db, &Order{}, 0)
	wantRows(t, db, &Line{}, 0)
}

func equal(a, b Order) bool {
	return a.ID == b.ID && !a.ID.IsZero() && a.Customer == b.Customer && slices.Equal(a.Lines, b.Lines)
}

// A line that is refused leaves nothing behind, and the same orders can be
// written once it is fixed.
func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		shopIn(t, db)
		wantAllOrNothing(t, db, insertBatches)
	})
}

func TestFailedCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	shopIn(t, db)
	wantAllOrNothing(t, db, copyIn)
}

func wantAllOrNothing(t *testing.T, db *gorm.DB, write func(*gorm.DB, []Order) error) {
	t.Helper()
	orders := sampleOrders(size{orders: batchRows(db) + 1, lines: 2})
	last := &orders[len(orders)-1].Lines[1]
	last.ID = -1
	if err := write(db, orders); err == nil {
		t.Fatal("a line with the key -1 was stored")
	}
	wantRows(t, db, &Order{}, 0)
	wantRows(t, db, &Line{}, 0)

	first := orders[0].ID
	last.ID = 0
	if err := write(db, orders); err != nil {
		t.Fatal(err)
	}
	if orders[0].ID != first {
		t.Errorf("key of the first order: got %d, want %d as before", orders[0].ID, first)
	}
	wantRows(t, db, &Line{}, int64(2*len(orders)))
}

// shopIn opens a shop in an empty database.
func shopIn(t *testing.T, db *gorm.DB) *shop {
	t.Helper()
	s := &shop{db: db, release: func() error { return nil }}
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wantRows(t *testing.T, db *gorm.DB, model any, want int64) {
	t.Helper()
	var got int64
	if err := db.Model(model).Count(&got).Error; err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%T: %d rows, want %d", model, got, want)
	}
}
