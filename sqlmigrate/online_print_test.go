package sqlmigrate_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// printedOnline is the text of handOnline.
const printedOnline = `postgres: 2 tables online, about 3.0 min, 1.1 MB on disk and 256 kB of log until the last stage

Stage prepare: new columns, kept equal to the old ones
  orders: a column
    for a moment; locks: ACCESS EXCLUSIVE
      ALTER 1;
      CREATE
        2;

Stage copy: rows that are there already
  orders: rows are copied
    in batches, 1,000 rows, 64 kB, about 2.0 min; locks: the rows of a batch
      UPDATE;

Stage index: indexes
  an index
    1,000 rows, about 1.0 min; locks: nobody
      CREATE INDEX;

Notes
  - Programs need no restart.
`

// printedBack is the text of the way back of handOnline.
const printedBack = `Back from stage index: 2 steps
  the index goes
    0 rows, at once; locks: nobody
      DROP INDEX;
  another one
    0 rows, at once; locks: nobody
      DROP INDEX;

Back from stage prepare: 1 step
  orders: the column goes
    for a moment; locks: ACCESS EXCLUSIVE
      DROP 1;
`

// handOnline returns an online plan with a step of each kind.
func handOnline() *sqlmigrate.OnlinePlan {
	return &sqlmigrate.OnlinePlan{
		Dialect: "postgres",
		Tables:  []string{"orders", "lines"},
		Notes:   []string{"Programs need no restart."},
		Stages: []sqlmigrate.OnlineStage{
			{
				Name: sqlmigrate.StagePrepare, Text: "new columns, kept equal to the old ones",
				Steps: []sqlmigrate.OnlineStep{{Table: sqlmigrate.TableName{Name: "orders"}, Text: "a column", SQL: []string{"ALTER 1", "CREATE\n  2"}, Locks: "ACCESS EXCLUSIVE", Kind: plan.Short}},
				Back:  []sqlmigrate.OnlineStep{{Table: sqlmigrate.TableName{Name: "orders"}, Text: "the column goes", SQL: []string{"DROP 1"}, Locks: "ACCESS EXCLUSIVE", Kind: plan.Short}},
			},
			{
				Name: sqlmigrate.StageCopy, Text: "rows that are there already",
				Steps: []sqlmigrate.OnlineStep{{
					Table: sqlmigrate.TableName{Name: "orders"}, Text: "rows are copied", SQL: []string{"UPDATE"}, Locks: "the rows of a batch", Kind: plan.Batches,
					Rows: 1000, Bytes: 64_000, Disk: 128_000, Log: 256_000, Estimate: 2 * time.Minute,
				}},
			},
			{
				Name: sqlmigrate.StageIndex, Text: "indexes",
				Steps: []sqlmigrate.OnlineStep{{Text: "an index", SQL: []string{"CREATE INDEX"}, Locks: "nobody", Rows: 1000, Disk: 1_000_000, Estimate: time.Minute}},
				Back:  []sqlmigrate.OnlineStep{{Text: "the index goes", SQL: []string{"DROP INDEX"}, Locks: "nobody"}, {Text: "another one", SQL: []string{"DROP INDEX"}, Locks: "nobody"}},
			},
		},
	}
}

// String prints the stages with their steps, WayBack prints the steps of Revert from the
// last stage to the first, and Estimate adds the estimates of the stages.
func TestOnlineString(t *testing.T) {
	t.Parallel()
	plan := handOnline()
	if got := plan.String(); got != printedOnline {
		t.Errorf("printed:\n%s\nwant:\n%s", got, printedOnline)
	}
	if got := plan.WayBack(); got != printedBack {
		t.Errorf("way back:\n%s\nwant:\n%s", got, printedBack)
	}
	took, disk, log := plan.Estimate()
	if took != 3*time.Minute || disk != 1_128_000 || log != 256_000 {
		t.Errorf("estimate %v, %d, %d, want the sums of the steps", took, disk, log)
	}
}

// The text of a plan without stages says why the plan has none: there is nothing to do, or
// there are blockers.
func TestOnlineHeadline(t *testing.T) {
	t.Parallel()
	plan := &sqlmigrate.OnlinePlan{Dialect: "postgres", Tables: []string{"orders"}}
	if got, want := plan.String(), "postgres: 1 table online, nothing to do\n"; got != want || !plan.Empty() {
		t.Errorf("got %q, want %q", got, want)
	}
	plan.Blockers = blockedPlan().Blockers
	const want = `postgres: 1 table online, 2 blockers: nothing will be changed

Blocked by
  view v_orders, of orders: it uses column id
    fix: drop it before and create it afterwards
  policy p, of users: it uses column id
    fix: drop it
`
	if got := plan.String(); got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
	migratetest.WantError(t, plan.Err(), "view v_orders", "policy p")
}

// A plan is refused if its kind of database has no online moves, or if the handle is of
// another kind of database than the plan.
func TestOnlineRefusesPlans(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	_, err := handPlan(nil).Online(t.Context(), db)
	migratetest.WantError(t, err, "sqlmigrate: an online widening is not supported on sqlite: apply phase widen")
	for _, test := range []struct{ dialect, want string }{
		{"sqlite", "sqlmigrate: an online widening is not supported on sqlite: apply phase widen"},
		{"postgres", "sqlmigrate: the plan is for postgres and db is sqlite: pass the database that was inspected"},
	} {
		plan := &sqlmigrate.OnlinePlan{Dialect: test.dialect}
		migratetest.WantError(t, plan.Apply(t.Context(), db), test.want)
		_, err := plan.Status(t.Context(), db)
		migratetest.WantError(t, err, test.want)
	}
	_, err = handPlan(nil).Online(t.Context(), nil)
	migratetest.WantError(t, err, "sqlmigrate: db is nil or was not opened")
}

// An OnlinePlan that a program has made itself has no move, so Apply refuses it instead
// of failing with a nil pointer.
func TestOnlineRefusesPlansMadeByHand(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.Postgres}, func(t *testing.T, db *gorm.DB) {
		plan := &sqlmigrate.OnlinePlan{Dialect: db.Name()}
		migratetest.WantError(t, plan.Apply(t.Context(), db), "sqlmigrate: the OnlinePlan was not made by Plan.Online")
	})
}
