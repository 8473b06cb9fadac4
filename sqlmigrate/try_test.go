package sqlmigrate_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// TryKeys reports a table in which it cannot try keys, here a table without a primary key.
// If it reported nothing, the table would seem to accept Snowflake IDs.
func TestTryKeysOfBlocked(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Exec("CREATE TABLE keyless (id int)").Error; err != nil {
			t.Fatal(err)
		}
		rejected, _, err := sqlmigrate.TryKeys(t.Context(), db, []any{"keyless"})
		if err != nil || len(rejected) != 1 || !strings.Contains(rejected[0].Reason, "primary key") {
			t.Errorf("got %+v, %v, want that the table has no primary key", rejected, err)
		}
	})
}

// TryKeys does not report the blockers of a plan for the tables that it has tried. Here the
// blocker is a key that is ahead of the clock, in the current schema and in another schema.
func TestTryKeysInAnotherSchema(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	var current string
	if err := db.Raw("SELECT current_schema()").Scan(&current).Error; err != nil {
		t.Fatal(err)
	}
	shop := current + "_shop"
	if err := db.Exec("CREATE SCHEMA " + shop).Error; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Exec("DROP SCHEMA " + shop + " CASCADE") })
	for _, table := range []string{"orders", shop + ".orders"} {
		for _, statement := range []string{
			"CREATE TABLE " + table + " (id bigserial PRIMARY KEY)",
			"INSERT INTO " + table + " VALUES (9000000000000000000)",
		} {
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		rejected, _, err := sqlmigrate.TryKeys(t.Context(), db, []any{table})
		if err != nil || len(rejected) > 0 {
			t.Errorf("table %s: got %+v, %v, want no rejection", table, rejected, err)
		}
	}
}
