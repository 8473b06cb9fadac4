package sqlmigrate_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A table of which nothing can be tried is not one that takes the keys.
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
