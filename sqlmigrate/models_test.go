package sqlmigrate_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A viewedOrder has an association whose model reads a view.
type viewedOrder struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false;check:id > 0"`
	Total []orderTotal
}

// An orderTotal is a row of the view.
type orderTotal struct{ ViewedOrderID, Sum int64 }

// If an association of a model leads to a view, the plan does not change the view. The
// columns of a view get the types of the columns of its tables, so they need no change.
func TestModelOfAView(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db,
			"CREATE TABLE viewed_orders (id BIGINT NOT NULL PRIMARY KEY)",
			"CREATE TABLE parts (order_id BIGINT)",
			"CREATE VIEW order_totals AS SELECT order_id AS viewed_order_id, count(*) AS sum FROM parts GROUP BY order_id")
		plan := migratetest.MustInspect(t, db, &viewedOrder{})
		if len(plan.Tables) != 1 || plan.Tables[0].Name != "viewed_orders" {
			t.Errorf("tables %v, want viewed_orders alone", plan.Tables)
		}
	})
}

// A guardedOrder has a CHECK for its key, to which GORM gives a name.
type guardedOrder struct {
	ID int64 `gorm:"primaryKey;autoIncrement:false;check:id > 0"`
}

// The CHECK of phase guard has the name that GORM gives to the CHECK of the model, so
// AutoMigrate finds it and does not add another. On SQLite the guard is a trigger, so the
// table has no such CHECK.
func TestGuardIsGORMs(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, "CREATE TABLE guarded_orders (id BIGINT NOT NULL PRIMARY KEY)")
		plan := migratetest.MustInspect(t, db, &guardedOrder{})
		if err := plan.Apply(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		want := db.Dialector.Name() != "sqlite"
		if got := db.Migrator().HasConstraint(&guardedOrder{}, "chk_guarded_orders_id"); got != want {
			t.Errorf("the table has the model's CHECK: %t, want %t:\n%s", got, want, plan)
		}
	})
}
