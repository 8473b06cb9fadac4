package sqlmigrate_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// autoKeys creates a table whose keys the database assigns.
func autoKeys(t *testing.T, db *gorm.DB) {
	t.Helper()
	migratetest.Run(t, db, map[string]string{
		"sqlite":   "CREATE TABLE orders (id integer PRIMARY KEY AUTOINCREMENT, note varchar(9))",
		"mysql":    "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, note varchar(9))",
		"postgres": "CREATE TABLE orders (id bigserial PRIMARY KEY, note varchar(9))",
	}[db.Name()])
}

// insertKey inserts a row with the first Snowflake ID of a moment.
func insertKey(t *testing.T, db *gorm.DB, at time.Time) {
	t.Helper()
	if err := db.Exec("INSERT INTO orders (id, note) VALUES (?, 'new')", snowflake.TwitterLayout().Min(at).Int64()).Error; err != nil {
		t.Fatal(err)
	}
}

// A key that is less than a minute ahead of the clock is not a blocker, because the
// clocks of machines differ, and the application may already assign keys before phase
// detach. A key further ahead is a blocker, because a generator might issue the same ID
// later.
func TestKeysAheadOfTheClock(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		autoKeys(t, db)
		insertKey(t, db, time.Now().Add(50*time.Second))
		plan, err := sqlmigrate.Inspect(t.Context(), db, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if plan.Err() != nil {
			t.Errorf("a key within a minute: %v, want no blocker", plan.Err())
		}
		insertKey(t, db, time.Now().Add(2*time.Minute))
		plan, err = sqlmigrate.Inspect(t.Context(), db, "orders")
		if err != nil {
			t.Fatal(err)
		}
		migratetest.WantError(t, plan.Err(), "blocked by", "more than a minute ahead", "correct the clock")
	})
}

// Detach cannot be reverted while a table has Snowflake keys, because the counter of the
// database would continue after the largest of them. This also holds for keys that were
// issued before the plan was made.
func TestRevertDetachAfterSnowflakeKeys(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		autoKeys(t, db)
		migratetest.Run(t, db, "INSERT INTO orders (note) VALUES ('old')")
		insertKey(t, db, time.Now().Add(-time.Hour))
		plan, err := sqlmigrate.Inspect(t.Context(), db, "orders")
		if err != nil {
			t.Fatal(err)
		}
		detach := sqlmigrate.WithPhases(sqlmigrate.Detach)
		if err := plan.Apply(t.Context(), db, detach); err != nil {
			t.Fatal(err)
		}
		migratetest.WantError(t, plan.Revert(t.Context(), db, detach), "has Snowflake IDs")
		migratetest.Run(t, db, "DELETE FROM orders WHERE note = 'new'")
		if err := plan.Revert(t.Context(), db, detach); err != nil {
			t.Errorf("without the Snowflake IDs: %v", err)
		}
	})
}

// The epoch of the layout is in the future, so there are no Snowflake IDs yet, and the
// database has assigned each key of the table. Revert must take phases detach and park back.
func TestRevertBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	future := snowflake.JSSafeLayout()
	future.Epoch = time.Now().Add(48 * time.Hour).Truncate(time.Hour)
	for name, opts := range map[string][]sqlmigrate.Option{
		"detach": nil,
		"park":   {sqlmigrate.WithParkedCounters()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *gorm.DB) {
				autoKeys(t, db)
				migratetest.Run(t, db, "INSERT INTO orders (note) VALUES ('old')")
				plan, err := sqlmigrate.InspectWith(t.Context(), db, []any{"orders"}, append(opts, sqlmigrate.WithLayout(future))...)
				if err != nil {
					t.Fatal(err)
				}
				if plan.Empty() {
					t.Skip("sequences of PostgreSQL need not be parked")
				}
				mustApply(t, db, plan)
				if err := plan.Revert(t.Context(), db); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
