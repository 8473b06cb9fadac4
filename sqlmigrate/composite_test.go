package sqlmigrate_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Which column of a key is meant is the same on every database.
func TestCompositeKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, columns string
		want          []string // that are moved
		note, blocked bool
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

func movedColumns(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, table := range plan.Tables {
		for _, c := range table.Columns {
			names = append(names, c.Name)
		}
	}
	return slices.Sorted(slices.Values(names))
}
