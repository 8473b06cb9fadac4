package main

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// GORM's nested insert stores all orders with their lines, and all of them get keys.
func TestInsertNested(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) { wantStored(t, db, insertNested) })
}

// The insert after Assign stores all orders with their lines, and all of them get keys.
func TestInsertAssigned(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) { wantStored(t, db, insertAssigned) })
}

// wantStored inserts more orders than a batch contains, and checks that exactly these
// orders are stored.
func wantStored(t *testing.T, db *gorm.DB, insert func(*gorm.DB, []Order) error) {
	t.Helper()
	use(t, db)
	orders := sampleOrders()[:batchSize+1]
	if err := insert(db, orders); err != nil {
		t.Fatal(err)
	}
	var stored []Order
	if err := db.Preload("Lines", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Order("id").Find(&stored).Error; err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(stored, orders, equal) {
		t.Errorf("stored %d orders that differ from the %d in memory", len(stored), len(orders))
	}
	if !slices.IsSortedFunc(linesOf(orders), func(a, b Line) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("keys of lines do not rise: INSERT would go to all parts of the index")
	}
}

// equal reports whether two orders have the same key, which is set, and the same content.
func equal(a, b Order) bool {
	return a.ID == b.ID && !a.ID.IsZero() && a.Customer == b.Customer && slices.Equal(a.Lines, b.Lines)
}

// TestFailureLeavesNothing checks that a rejected line leaves no rows, and that the same
// orders can be inserted once it is fixed.
func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) { wantAllOrNothing(t, db, insertAssigned) })
}

// wantAllOrNothing inserts orders of which two lines have the same key, and then inserts them
// again without this mistake.
func wantAllOrNothing(t *testing.T, db *gorm.DB, insert func(*gorm.DB, []Order) error) {
	t.Helper()
	use(t, db)
	orders := sampleOrders()[:batchSize+1]
	last := &orders[len(orders)-1].Lines[1]
	orders[0].Lines[0].ID, last.ID = 7, 7 // the mistake
	if err := insert(db, orders); err == nil {
		t.Fatal("two lines with one key were stored")
	}
	wantRows(t, db, &Order{}, 0)
	wantRows(t, db, &Line{}, 0)

	first := orders[0].ID
	last.ID = 0
	if err := insert(db, orders); err != nil {
		t.Fatal(err)
	}
	if orders[0].ID != first {
		t.Errorf("key of the first order: got %d, want %d as before", orders[0].ID, first)
	}
	wantRows(t, db, &Line{}, int64(linesPerOrder*len(orders)))
}

// use prepares an empty database as run does.
func use(t *testing.T, db *gorm.DB) {
	t.Helper()
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gen.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := prepare(db); err != nil {
		t.Fatal(err)
	}
}

// wantRows checks the number of rows of the model.
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
