package mysql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlDeleted creates two tables whose rows with the largest keys were deleted, so their
// counters are ahead of the keys.
func mysqlDeleted(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	return migratetest.MySQLOpen(t, on,
		"CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE orders (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int, CONSTRAINT fk_user FOREIGN KEY (user_id) REFERENCES users (id))",
		"INSERT INTO users VALUES (1), (40)", "INSERT INTO orders VALUES (1, 1), (70, 1)", "DELETE FROM users WHERE id = 40", "DELETE FROM orders WHERE id = 70")
}

// mysqlDump returns the definitions of all tables, with their counters, and all rows.
func mysqlDump(t *testing.T, db *gorm.DB) string {
	t.Helper()
	var text strings.Builder
	for _, name := range migratetest.MySQLStrings(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1") {
		fmt.Fprintln(&text, migratetest.MySQLRow(t, db, "SHOW CREATE TABLE "+name)[1], migratetest.MySQLRows(t, db, "SELECT * FROM "+name))
	}
	return text.String()
}

// Apply (up) or Revert (down) is stopped at a statement and resumed. After Revert, every
// AUTO_INCREMENT counter must have its original value, which is above the key of a deleted
// row. If a counter fell, the database would assign the key of this row again.
func TestMySQLCounterNeverFalls(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, way := range []string{"up", "down"} {
			mysqlEachStop(t, way+" ", mysqlCanceled(mysqlStep(on, 3)), func(t *testing.T, stop *mysqlStop) {
				db := mysqlDeleted(t, on)
				before := mysqlDump(t, db)
				plan := migratetest.MySQLInspect(t, db, "users", "orders")
				if way == "up" {
					_ = plan.Apply(stop.ctx, db, stop.at(t, db)) // fails if it is stopped
					mysqlApply(t, db, migratetest.MySQLInspect(t, db, "users", "orders"))
				} else {
					mysqlApply(t, db, plan)
					_ = plan.Revert(stop.ctx, db, stop.at(t, db))
				}
				mysqlRevert(t, db, plan)
				if after := mysqlDump(t, db); after != before {
					t.Errorf("after the way back:\n%s\nwant\n%s", after, before)
				}
			})
		}
	})
}

// The counter that phase detach stores includes keys that were assigned after the
// inspection. If somebody drops the stored counters, Revert uses the counter that the
// plan has read.
func TestMySQLCounterOfDetach(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		tests := []struct {
			name string
			drop bool   // drop the table with the stored counters
			want string // the next key
		}{{"kept", false, "[[99]]"}, {"dropped", true, "[[41]]"}}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := mysqlDeleted(t, on)
				plan := migratetest.MySQLInspect(t, db, "users", "orders")
				migratetest.MySQLExec(t, db, "INSERT INTO users VALUES (98)", "DELETE FROM users WHERE id = 98")
				mysqlApply(t, db, plan)
				if test.drop {
					migratetest.MySQLExec(t, db, "DROP TABLE sqlmigrate_counters")
				}
				mysqlRevert(t, db, plan)
				migratetest.MySQLExec(t, db, "INSERT INTO users VALUES ()")
				if got := fmt.Sprint(migratetest.MySQLRows(t, db, "SELECT id FROM users WHERE id > 1")); got != test.want {
					t.Errorf("the next key is %s, want %s", got, test.want)
				}
			})
		}
	})
}

// MySQL caches the counters of information_schema. Migration files must not read an old
// value from the cache, although a tool runs them in a session that has the default
// settings.
func TestMySQLCounterOfScript(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlDeleted(t, on)
		up, down := mysqlScripts(t, migratetest.MySQLInspect(t, db, "users", "orders"), sqlmigrate.Goose)
		// This query fills the cache.
		migratetest.MySQLRows(t, db, "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES (98)", "DELETE FROM users WHERE id = 98")
		if err := mysqlTool(t, db, slices.Concat(up, down)); err != nil {
			t.Fatal(err)
		}
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES ()")
		if got := migratetest.MySQLRow(t, db, "SELECT MAX(id) FROM users")[0]; got != "99" {
			t.Errorf("the next key is %s, want 99", got)
		}
	})
}

// If a row is inserted between two statements of phase detach and deleted later, its key
// counts as used, so the database does not assign it again after Revert.
func TestMySQLCounterDuringDetach(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlDeleted(t, on)
		plan := migratetest.MySQLInspect(t, db, "users", "orders")
		mysqlApply(t, db, plan, sqlmigrate.WithPhases(sqlmigrate.Widen))
		mysqlApply(t, db, plan, mysqlOnce("ALTER TABLE `orders` MODIFY `id` bigint NOT NULL", func() {
			migratetest.MySQLExec(t, db, "INSERT INTO orders VALUES (200, 1)")
		}))
		migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id = 200")
		mysqlRevert(t, db, plan)
		migratetest.MySQLExec(t, db, "INSERT INTO orders (user_id) VALUES (1)")
		if got := migratetest.MySQLRow(t, db, "SELECT MAX(id) FROM orders")[0]; got != "201" {
			t.Errorf("the next key is %s, want 201", got)
		}
	})
}

// Revert refuses if the counter is beyond the range of the former type, because the table
// could not get another key.
func TestMySQLCounterBeyondType(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlDeleted(t, on)
		plan := migratetest.MySQLInspect(t, db, "users", "orders")
		mysqlApply(t, db, plan, sqlmigrate.WithPhases(sqlmigrate.Widen))
		migratetest.MySQLExec(t, db, fmt.Sprintf("INSERT INTO users VALUES (%d)", mysqlID), fmt.Sprintf("DELETE FROM users WHERE id = %d", mysqlID))
		schema := migratetest.MySQLSchema(t, db)
		migratetest.WantError(t, plan.Revert(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Widen)), "refused: AUTO_INCREMENT of users is beyond int")
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLExec(t, db, "ALTER TABLE users AUTO_INCREMENT = 41")
		mysqlRevert(t, db, plan)
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES ()")
	})
}
