package sqlmigrate_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A primary key has two columns. If one of them is an integer, the plan moves this column. If
// both are integers, the plan moves neither and has a note, because the catalog does not show
// which of them is the ID. If none is an integer, the plan has a blocker. All databases
// choose in the same way. After Apply, a second plan is empty.
func TestCompositeKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, columns string
		want          []string // the columns that are moved
		note, blocked bool     // whether the plan has a note on the key, or a blocker
	}{
		{"one integer", "tenant varchar(20) NOT NULL, id int NOT NULL, PRIMARY KEY (tenant, id)", []string{"id"}, false, false},
		{"one wide integer", "tenant varchar(20) NOT NULL, id bigint NOT NULL, PRIMARY KEY (tenant, id)", []string{"id"}, false, false},
		{"two integers", "tenant int NOT NULL, id int NOT NULL, PRIMARY KEY (tenant, id)", nil, true, false},
		{"no integer", "tenant varchar(20) NOT NULL, id varchar(20) NOT NULL, PRIMARY KEY (tenant, id)", nil, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *gorm.DB) {
				migratetest.Run(t, db, "CREATE TABLE docs ("+test.columns+")", "INSERT INTO docs VALUES ('7', '8')")
				plan := migratetest.MustInspect(t, db, "docs")
				if got := strings.Contains(strings.Join(plan.Notes, "\n"), "a key of 2 columns"); got != test.note {
					t.Errorf("notes = %q, want one of the key: %v", plan.Notes, test.note)
				}
				if got := len(plan.Blockers) > 0; got != test.blocked {
					t.Errorf("blockers = %+v, want some: %v", plan.Blockers, test.blocked)
				}
				if test.blocked {
					return
				}
				if got := movedColumns(plan); !slices.Equal(got, test.want) {
					t.Errorf("moved = %q, want %q", got, test.want)
				}
				if err := plan.Apply(t.Context(), db); err != nil {
					t.Fatal(err)
				}
				if again, err := sqlmigrate.Inspect(t.Context(), db, "docs"); err != nil || !again.Empty() {
					t.Errorf("a second plan: %v, want an empty one:\n%v", err, again)
				}
			})
		})
	}
}

// movedColumns returns the names of the plan's columns, sorted.
func movedColumns(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, table := range plan.Tables {
		for _, c := range table.Columns {
			names = append(names, c.Name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// A column of a primary key can have a DEFAULT although the database does not assign keys
// by it, because the column is a reference, or because the DEFAULT is an expression. The
// plan must not take such a column for an assigned key. Otherwise phase detach would drop
// the DEFAULT, and phase guard would reject 0, which can be the value of the DEFAULT.
func TestDefaultsThatAreNoCounters(t *testing.T) {
	t.Parallel()
	// An expression for the DEFAULT of a column with the tenant of a row, by dialect. It
	// reads the tenant from a setting of the session. On MySQL the name of the user takes
	// the place of the setting.
	tenant := map[string]string{
		"postgres": "coalesce(nullif(current_setting('app.t', true), ''), '7')::int",
		"mysql":    "(char_length(user()))",
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		// The key of ps consists of two references, and the key of store_page is a
		// reference. In both, store_id has the default 0.
		migratetest.Run(t, db, "CREATE TABLE store (id int PRIMARY KEY)", "CREATE TABLE product (id int PRIMARY KEY)",
			"CREATE TABLE ps (product_id int, store_id int DEFAULT 0, PRIMARY KEY (product_id, store_id))",
			"CREATE TABLE store_page (store_id int DEFAULT 0 PRIMARY KEY)")
		plan, err := sqlmigrate.InspectWith(t.Context(), db, []any{"store", "product"}, sqlmigrate.WithReference("ps.store_id", "store.id"),
			sqlmigrate.WithReference("ps.product_id", "product.id"), sqlmigrate.WithReference("store_page.store_id", "store.id"))
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Apply(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		migratetest.Run(t, db, "INSERT INTO ps (product_id) VALUES (1)", "INSERT INTO store_page (store_id) VALUES (0)")
		var zero int
		if err := db.Raw("SELECT count(*) FROM ps WHERE store_id = 0").Scan(&zero).Error; err != nil || zero != 1 {
			t.Errorf("rows of store 0: %d, %v, want one", zero, err)
		}
		// A key that consists of a tenant with such a default, and of a text, is not moved.
		if tenant[db.Name()] == "" {
			return // SQLite has no settings of a session
		}
		migratetest.Run(t, db, "CREATE TABLE ev (tenant_id int NOT NULL DEFAULT "+tenant[db.Name()]+", id varchar(36), PRIMARY KEY (tenant_id, id))")
		if plan := migratetest.MustInspect(t, db, "ev"); !plan.Empty() || !strings.Contains(strings.Join(plan.Notes, "\n"), "a key of 2 columns") {
			t.Errorf("got a plan, want none, because the tenant is no key:\n%v", plan)
		}
	})
}
