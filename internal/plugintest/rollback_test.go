package plugintest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

// A tree of rows is written completely or not at all, whichever statement fails,
// and whether it fails before or after the server has executed it. The same
// structs can then be created again.
func TestFailureAtEveryStatement(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("late=%t", late), func(t *testing.T) {
				migrateShelves(t, db)
				n := 1
				for failAt(t, db, n, late) {
					n++
				}
				// BEGIN, COMMIT, and rooms, upper, shelves, volumes, pages, lock, notes, topics and their join rows.
				if n < 12 {
					t.Errorf("only %d statements could fail", n-1)
				}
			})
		}
	})
}

// failAt reports whether the create had an n-th statement.
func failAt(t *testing.T, db *gorm.DB, n int, late bool) bool {
	t.Helper()
	empty(t, db)
	f := &faults{fail: n, late: late}
	tree := newShelf("a")
	err := withFaults(t, db, f).Create(&tree).Error
	if f.seen < n {
		if err != nil {
			t.Fatalf("no fault, err = %v", err)
		}
		return false
	}
	if !errors.Is(err, ErrInjected) {
		t.Fatalf("statement %d: err = %v", n, err)
	}
	for _, table := range shelfTables {
		if rows := rowsIn(t, db, table); rows != 0 {
			t.Fatalf("statement %d failed, and %d rows of %s stayed", n, rows, table)
		}
	}
	assigned := tree.ID
	Must(t, db.Create(&tree))
	if assigned != 0 && tree.ID != assigned {
		t.Errorf("statement %d: the retry changed the key from %d to %d", n, assigned, tree.ID)
	}
	distinct(t, tree.ids(t))
	stored := loadShelf(t, db, tree.ID)
	sameIDs(t, stored.ids(t), tree.ids(t))
	return true
}

// shelfTables are in the order in which rows can be deleted.
var shelfTables = []string{"shelf_topics", "pages", "volumes", "locks", "notes", "topics", "shelves", "rooms"}

func empty(t *testing.T, db *gorm.DB) {
	t.Helper()
	Must(t, db.Exec("UPDATE shelves SET upper_id = NULL"))
	for _, table := range shelfTables {
		Must(t, db.Exec("DELETE FROM "+table))
	}
}

func rowsIn(t *testing.T, db *gorm.DB, table string) (n int64) {
	t.Helper()
	Must(t, db.Table(table).Count(&n))
	return n
}

// The generator is called before the transaction begins.
func TestGeneratorFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &Counter{Err: ErrInjected}
		Use(t, db, gormflake.New(gen))
		Migrate(t, db, &Book{})
		f := &faults{}
		row := Book{Title: "a"}
		err := withFaults(t, db, f).Create(&row).Error
		if !errors.Is(err, ErrInjected) || err.Error() != "gormflake: model Book: generator: injected" {
			t.Errorf("err = %v", err)
		}
		if f.seen != 0 || row.ID != 0 || Count(t, db, &Book{}) != 0 {
			t.Errorf("%d statements reached the database, key %d", f.seen, row.ID)
		}
		gen.Err = nil
		Must(t, db.Create(&row))
		if rows := Stored(t, db, "books"); rows["a"] != row.ID || row.ID == 0 {
			t.Errorf("after the retry: rows = %v, key %d", rows, row.ID)
		}
	})
}

// The generator may fail for the children after the parent was written.
func TestGeneratorFailsForChildren(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &failing{left: 4}
		Use(t, db, gormflake.New(gen))
		Migrate(t, db, &catalog{}, &entry{})
		c := catalog{Entries: []entry{{}, {}, {}}}
		if err := db.Create(&c).Error; !errors.Is(err, ErrInjected) {
			t.Fatalf("err = %v", err)
		}
		if Count(t, db, &catalog{}) != 0 || Count(t, db, &entry{}) != 0 {
			t.Error("rows stayed")
		}
		gen.left = 100
		Must(t, db.Create(&c))
		if Count(t, db, &catalog{}) != 1 || Count(t, db, &entry{}) != 3 {
			t.Error("the retry wrote other rows")
		}
	})
}

// IDs that a generator does not set become neither zero keys nor the previous
// statement's keys.
func TestGeneratorBreaksContract(t *testing.T) {
	t.Parallel()
	gen := &failing{left: 10}
	db := Dry(t, gormflake.New(gen))
	Must(t, db.Create(make([]Book, 5)))
	gen.skip = true
	rows := make([]Book, 5)
	err := db.Create(&rows).Error
	if want := "gormflake: model Book: generator: ID 4 of 5 is 0: want a positive one"; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
	if slices.ContainsFunc(rows, func(b Book) bool { return b.ID != 0 }) {
		t.Errorf("rows = %v", rows)
	}
}

// Rows that the caller rolled back can be created again; a single row can also be
// saved.
func TestAgainAfterRollback(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, &catalog{}, &entry{})
		tree := catalog{Title: "a", Entries: []entry{{Sku: "x"}, {Sku: "y"}}}
		single := catalog{Title: "b"}
		err := db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&tree).Error, tx.Create(&single).Error, ErrInjected)
		})
		if err == nil || Count(t, db, &catalog{}) != 0 {
			t.Fatalf("err = %v", err)
		}
		keys := [2]types.ID{tree.ID, single.ID}
		Must(t, db.Create(&tree))
		Must(t, db.Save(&single))
		rows := Stored(t, db, "catalogs")
		if keys[0] == 0 || rows["a"] != keys[0] || rows["b"] != keys[1] || Count(t, db, &entry{}) != 2 {
			t.Errorf("rows = %v, want keys %v", rows, keys)
		}
	})
}
