package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestFailureAtEveryStatement checks that a tree of rows is written completely or not at
// all, whichever statement fails, and whether it fails before or after the server has
// executed it. The same structs can then be created again.
func TestFailureAtEveryStatement(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("late=%t", late), func(t *testing.T) {
				plugintest.MigrateShelves(t, db)
				n := 1
				for failAt(t, db, n, late) {
					n++
				}
				// BEGIN, COMMIT, and rooms, upper, shelves, volumes, pages, lock, notes,
				// topics and their join rows.
				if n < 12 {
					t.Errorf("only %d statements could fail", n-1)
				}
			})
		}
	})
}

// failAt creates a tree, and lets statement n fail. It checks that no row stays, and that
// the create succeeds when it is repeated. It reports whether the create had n
// statements.
func failAt(t *testing.T, db *gorm.DB, n int, late bool) bool {
	t.Helper()
	empty(t, db)
	f := &plugintest.Faults{Fail: n, Late: late}
	tree := plugintest.NewShelf("a")
	err := plugintest.WithFaults(t, db, f).Create(&tree).Error
	if f.Seen < n {
		if err != nil {
			t.Fatalf("no fault, err = %v", err)
		}
		return false
	}
	if !errors.Is(err, plugintest.ErrInjected) {
		t.Fatalf("statement %d: err = %v", n, err)
	}
	for _, table := range shelfTables {
		if rows := rowsIn(t, db, table); rows != 0 {
			t.Fatalf("statement %d failed, and %d rows of %s stayed", n, rows, table)
		}
	}
	assigned := tree.ID
	plugintest.Must(t, db.Create(&tree))
	if assigned != 0 && tree.ID != assigned {
		t.Errorf("statement %d: the retry changed the key from %d to %d", n, assigned, tree.ID)
	}
	plugintest.Distinct(t, tree.IDs(t))
	stored := plugintest.LoadShelf(t, db, tree.ID)
	plugintest.SameIDs(t, stored.IDs(t), tree.IDs(t))
	return true
}

// shelfTables are in the order in which rows can be deleted.
var shelfTables = []string{"shelf_topics", "pages", "volumes", "locks", "notes", "topics", "shelves", "rooms"}

// empty deletes the rows of all tables.
func empty(t *testing.T, db *gorm.DB) {
	t.Helper()
	plugintest.Must(t, db.Exec("UPDATE shelves SET upper_id = NULL"))
	for _, table := range shelfTables {
		plugintest.Must(t, db.Exec("DELETE FROM "+table))
	}
}

// rowsIn returns the number of rows of a table.
func rowsIn(t *testing.T, db *gorm.DB, table string) (n int64) {
	t.Helper()
	plugintest.Must(t, db.Table(table).Count(&n))
	return n
}

// TestGeneratorFails checks a create whose generator fails. No statement may reach the
// database, not even BEGIN, because the plugin calls the generator first. The same row can
// be created later.
func TestGeneratorFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &plugintest.Counter{Err: plugintest.ErrInjected}
		plugintest.Use(t, db, gormflake.New(gen))
		plugintest.Migrate(t, db, &plugintest.Book{})
		f := &plugintest.Faults{}
		row := plugintest.Book{Title: "a"}
		err := plugintest.WithFaults(t, db, f).Create(&row).Error
		if !errors.Is(err, plugintest.ErrInjected) || err.Error() != "gormflake: model Book: generator: injected" {
			t.Errorf("err = %v", err)
		}
		if f.Seen != 0 || row.ID != 0 || plugintest.Count(t, db, &plugintest.Book{}) != 0 {
			t.Errorf("%d statements reached the database, key %d", f.Seen, row.ID)
		}
		gen.Err = nil
		plugintest.Must(t, db.Create(&row))
		if rows := plugintest.Stored(t, db, "books"); rows["a"] != row.ID || row.ID == 0 {
			t.Errorf("after the retry: rows = %v, key %d", rows, row.ID)
		}
	})
}

// TestGeneratorFailsForChildren checks that no row stays if the generator fails for the
// children after the parent was written. The generator has four IDs left. The parent takes
// two of them, so too few are left for the three children.
func TestGeneratorFailsForChildren(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &plugintest.Failing{Left: 4}
		plugintest.Use(t, db, gormflake.New(gen))
		plugintest.Migrate(t, db, &plugintest.Catalog{}, &plugintest.Entry{})
		c := plugintest.Catalog{Entries: []plugintest.Entry{{}, {}, {}}}
		if err := db.Create(&c).Error; !errors.Is(err, plugintest.ErrInjected) {
			t.Fatalf("err = %v", err)
		}
		if plugintest.Count(t, db, &plugintest.Catalog{}) != 0 || plugintest.Count(t, db, &plugintest.Entry{}) != 0 {
			t.Error("rows stayed")
		}
		gen.Left = 100
		plugintest.Must(t, db.Create(&c))
		if plugintest.Count(t, db, &plugintest.Catalog{}) != 1 || plugintest.Count(t, db, &plugintest.Entry{}) != 3 {
			t.Error("the retry wrote other rows")
		}
	})
}

// TestGeneratorBreaksContract checks a generator that leaves an element of its block unset.
// The create must return an error, and not store the row with the key 0, or with a key of
// the statement before.
func TestGeneratorBreaksContract(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Failing{Left: 10}
	db := plugintest.Dry(t, gormflake.New(gen))
	plugintest.Must(t, db.Create(make([]plugintest.Book, 5)))
	gen.Skip = true
	rows := make([]plugintest.Book, 5)
	err := db.Create(&rows).Error
	if want := "gormflake: model Book: generator: ID 4 of 5 is 0: want a positive one"; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
	if slices.ContainsFunc(rows, func(b plugintest.Book) bool { return b.ID != 0 }) {
		t.Errorf("rows = %v", rows)
	}
}

// TestAgainAfterRollback checks that rows that the caller rolled back can be created again
// with the same keys, a tree by Create and a single row by Save.
func TestAgainAfterRollback(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Catalog{}, &plugintest.Entry{})
		tree := plugintest.Catalog{Title: "a", Entries: []plugintest.Entry{{Sku: "x"}, {Sku: "y"}}}
		single := plugintest.Catalog{Title: "b"}
		err := db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&tree).Error, tx.Create(&single).Error, plugintest.ErrInjected)
		})
		if err == nil || plugintest.Count(t, db, &plugintest.Catalog{}) != 0 {
			t.Fatalf("err = %v", err)
		}
		keys := [2]types.ID{tree.ID, single.ID}
		plugintest.Must(t, db.Create(&tree))
		plugintest.Must(t, db.Save(&single))
		rows := plugintest.Stored(t, db, "catalogs")
		if keys[0] == 0 || rows["a"] != keys[0] || rows["b"] != keys[1] || plugintest.Count(t, db, &plugintest.Entry{}) != 2 {
			t.Errorf("rows = %v, want keys %v", rows, keys)
		}
	})
}
