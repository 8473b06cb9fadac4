package sqlmigrate_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Inspect looks up the column of a reference by a query, which a driver may keep prepared on
// its connection. After Apply has widened the column, the prepared query fails once. Inspect
// must not take this error for a missing column, because the plan would then lack the
// reference. So the plan must have both tables in both rounds. The pool has a single
// connection, so that the second Inspect uses the prepared query of the first.
func TestInspectAgainOnThePool(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		key := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "SERIAL PRIMARY KEY"}[db.Dialector.Name()]
		for _, statement := range []string{
			"CREATE TABLE parents (id " + key + ")",
			"CREATE TABLE notes (parent_id INT NOT NULL)",
		} {
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		for round := range 2 {
			plan := migratetest.MustInspect(t, db, "parents", sqlmigrate.WithReference("notes.parent_id", "parents.id"))
			if len(plan.Tables) != 2 {
				t.Errorf("round %d: tables %v, want both", round, plan.Tables)
			}
			if empty := plan.Empty(); empty != (round == 1) {
				t.Errorf("round %d: empty = %v:\n%v", round, empty, plan)
			}
			if err := plan.Apply(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
	})
}
