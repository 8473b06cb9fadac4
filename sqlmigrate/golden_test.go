package sqlmigrate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// The plan for faultySchemas is the same as the text in testdata. People can see from this
// file how a change of the code changes a plan. Of other plans, testdata has only hashes.
func TestPlanIsKept(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, faultyTargets(), func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, faultySchemas[db.Name()]...)
		plan := migratetest.MustInspect(t, db, "users", "orders", sqlmigrate.WithReference("audit.ref", "orders.id"), sqlmigrate.WithRecreateViews())
		// The text and the JSON, without the migration files, which are the third part.
		migratetest.Whole(t, db, nameOf(t)+".plan", strings.Join(migratetest.PlanText(t, plan)[:2], "\n"))
	})
}

// An online plan, and the row of table sqlmigrate_online that stores it, are the same as
// the text in testdata. A difference would show that a later release might not be able to
// resume a move from this row.
func TestMoveIsKept(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.MariaDB, testdb.Postgres}, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, "CREATE TABLE users (id int PRIMARY KEY, name varchar(40))",
			"CREATE TABLE orders (id int PRIMARY KEY, user_id int NOT NULL, note varchar(40), CONSTRAINT fk_user FOREIGN KEY (user_id) REFERENCES users (id))",
			"CREATE INDEX ix ON orders (user_id, note)")
		online, err := migratetest.MustInspect(t, db, "users").Online(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		parts := migratetest.OnlineText(t, online) // the text, and the JSON of the plan
		if err := online.Apply(t.Context(), db, sqlmigrate.WithLastStage(sqlmigrate.StagePrepare)); err != nil {
			t.Fatal(err)
		}
		migratetest.Whole(t, db, nameOf(t)+".online", strings.Join(append(parts, journalOf(t, db, parts[1])), "\n"))
	})
}

// nameOf returns the name of the database from the name of the subtest.
func nameOf(t *testing.T) string {
	_, name, _ := strings.Cut(t.Name(), "/")
	return name
}

// journalOf returns the only row of table sqlmigrate_online as text, without the plan and
// the times. It fails the test unless the plan in the row is equal to kept.
func journalOf(t *testing.T, db *gorm.DB, kept string) string {
	t.Helper()
	row := map[string]any{}
	if err := db.Table("sqlmigrate_online").Take(&row).Error; err != nil {
		t.Fatal(err)
	}
	var plan engine.OnlinePlan
	if err := json.Unmarshal([]byte(fmt.Sprint(row["plan"])), &plan); err != nil {
		t.Fatal(err)
	}
	if got := migratetest.KeptText(t, plan); got != kept {
		t.Errorf("the journal's plan is not the one that was made:\n%s", testdb.Diff(kept, got))
	}
	row["plan"], row["began"] = "", ""
	if _, ok := row["beat"]; ok {
		row["beat"] = ""
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(row)) {
		fmt.Fprintf(&out, "%s: %v\n", name, row[name])
	}
	return out.String()
}
