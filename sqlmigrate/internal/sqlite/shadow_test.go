package sqlite_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A program that moves all its tables also names the shadow tables in which a virtual
// table stores its rows. They must not be moved, because with a trigger on a shadow table
// the next write ends the process.
func TestSQLiteShadowTables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, create, insert, shadows string }{
		{"fts5", "CREATE VIRTUAL TABLE f USING fts5(body)", "INSERT INTO f(body) VALUES ('some words ' || ?)", "f_data f_idx f_content f_docsize f_config"},
		{"fts4", "CREATE VIRTUAL TABLE f USING fts4(body)", "INSERT INTO f(body) VALUES ('some words ' || ?)", "f_content f_segments f_segdir f_docsize f_stat"},
		{"rtree", "CREATE VIRTUAL TABLE f USING rtree(id, low, high)", "INSERT INTO f SELECT 1000 + ?1, ?1, ?1 + 1", "f_node f_parent f_rowid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) {
				if err := db.Exec(test.create).Error; err != nil {
					t.Skip(err) // the driver was built without this module
				}
				migratetest.Run(t, db, "CREATE TABLE orders (id integer PRIMARY KEY AUTOINCREMENT)")
				targets := []any{"orders"}
				for name := range strings.FieldsSeq(test.shadows) {
					targets = append(targets, name)
				}
				plan := migratetest.MustInspect(t, db, targets...)
				if err := plan.Apply(t.Context(), db); err != nil {
					t.Fatal(err)
				}
				for i := range 500 {
					if err := db.Exec(test.insert, i).Error; err != nil {
						t.Fatal(err)
					}
				}
				if len(plan.Tables) != 1 || !strings.Contains(strings.Join(plan.Notes, "\n"), "f_") {
					t.Errorf("tables %+v, notes %q, want orders, and a note on the others", plan.Tables, plan.Notes)
				}
			})
		})
	}
}
