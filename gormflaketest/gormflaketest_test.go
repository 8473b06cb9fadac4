package gormflaketest_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

type order struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:40" snowflake:"serial=ORD"`
	Lines  []line
}

type line struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
}

// open returns an empty database whose keys come from the generator.
func open(t *testing.T, gen gormflake.Generator) *gorm.DB {
	t.Helper()
	db := testdb.Open(t, testdb.SQLite)
	if err := db.Use(gormflake.New(gen)); err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&order{}, &line{}); err != nil {
		t.Fatal(err)
	}
	return db
}

func create(t *testing.T, db *gorm.DB, row any) {
	t.Helper()
	if err := db.Create(row).Error; err != nil {
		t.Fatal(err)
	}
}

// keys returns the keys of a model's table, in order.
func keys(t *testing.T, db *gorm.DB, model any) (ids []types.ID) {
	t.Helper()
	if err := db.Model(model).Order("id").Pluck("id", &ids).Error; err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestNewCounts checks that each table has a separate count, in every way of creating
// rows.
func TestNewCounts(t *testing.T) {
	t.Parallel()
	db := open(t, gormflaketest.New())
	create(t, db, &order{Lines: make([]line, 2)})
	create(t, db, &[]order{{}, {Lines: make([]line, 1)}})
	create(t, db.Model(&order{}), map[string]any{})
	tree := order{Lines: make([]line, 1)}
	if err := gormflake.Assign(db, &tree); err != nil {
		t.Fatal(err)
	}
	create(t, db, &tree)
	if got, want := keys(t, db, &order{}), []types.ID{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("orders have keys %v, want %v", got, want)
	}
	if got, want := keys(t, db, &line{}), []types.ID{1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("lines have keys %v, want %v", got, want)
	}
}

// TestNewContinuesAfterKeysThatAreSet checks that each table's count continues after the
// highest key that a test has set or observed, so that no other row gets this key.
func TestNewContinuesAfterKeysThatAreSet(t *testing.T) {
	t.Parallel()
	gen := gormflaketest.New()
	db := open(t, gen)
	create(t, db, &order{ID: 7})
	create(t, db, &[]order{{}, {ID: 20}, {}})
	create(t, db.Model(&order{}), map[string]any{"id": 30})
	create(t, db, &order{Lines: []line{{ID: 4}, {}}})
	tree := []order{{ID: 40}, {}}
	if err := gormflake.Assign(db, &tree); err != nil {
		t.Fatal(err)
	}
	create(t, db, &tree)
	gen.Observe("orders", 50)
	gen.Observe("orders", 45)
	create(t, db, &order{})
	if got, want := keys(t, db, &order{}), []types.ID{7, 20, 21, 22, 30, 31, 40, 41, 51}; !slices.Equal(got, want) {
		t.Errorf("orders have keys %v, want %v", got, want)
	}
	if got, want := keys(t, db, &line{}), []types.ID{4, 5}; !slices.Equal(got, want) {
		t.Errorf("lines have keys %v, want %v", got, want)
	}
}

// TestNewIsSafeForConcurrentUse checks that goroutines get different keys, and none gets
// key 3, which each of them has observed before.
func TestNewIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	gen := gormflaketest.New()
	var wg sync.WaitGroup
	got := make([][1]types.ID, 100)
	for i := range got {
		wg.Go(func() {
			gen.Observe("t", 3)
			if err := gen.FillTable(t.Context(), "t", got[i][:]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[types.ID]bool{}
	for _, id := range got {
		seen[id[0]] = true
	}
	if len(seen) != len(got) || seen[0] || seen[3] {
		t.Errorf("%d IDs of %d are different, and none may be 3", len(seen), len(got))
	}
}

// TestKeys checks that keys are assigned in their order, to parents before their
// children, and that the generator then fails.
func TestKeys(t *testing.T) {
	t.Parallel()
	db := open(t, gormflaketest.Keys(500, 7, 100))
	row := order{Lines: make([]line, 1)}
	create(t, db, &row)
	if row.ID != 500 || row.Lines[0].ID != 7 {
		t.Errorf("row = %+v, want keys 500 and 7", row)
	}
	err := db.Create(&[]order{{}, {}}).Error
	if err == nil || !strings.Contains(err.Error(), "gormflaketest: 1 keys are left, and a statement needs 2: want more in Keys") {
		t.Errorf("err = %v, want that keys are missing", err)
	}
	last := order{}
	if create(t, db, &last); last.ID != 100 || last.Number == "" {
		t.Errorf("row = %+v, want key 100 and its number", last)
	}
}
