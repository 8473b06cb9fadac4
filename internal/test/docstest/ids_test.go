package docstest

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestTextFormsInMySQLColumns checks the warning in docs/ids.md about Base58 and Base62
// in a column that ignores case. 100 consecutive IDs contain a pair whose forms differ
// only in case.
func TestTextFormsInMySQLColumns(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		for _, c := range []struct {
			form, column string
			format       func(types.ID) string
			collides     bool
		}{
			{"base58", "VARCHAR(16)", types.ID.Base58, true},
			{"base62", "VARCHAR(16)", types.ID.Base62, true},
			{"base58 binary", "VARCHAR(16) COLLATE utf8mb4_bin", types.ID.Base58, false},
			{"base62 binary", "VARCHAR(16) COLLATE utf8mb4_bin", types.ID.Base62, false},
			{"base32", "VARCHAR(16)", types.ID.Base32, false},
		} {
			t.Run(c.form, func(t *testing.T) {
				table := "codes_" + strings.ReplaceAll(c.form, " ", "_")
				if err := db.Exec("CREATE TABLE " + table + " (code " + c.column + " NOT NULL UNIQUE)").Error; err != nil {
					t.Fatal(err)
				}
				one, other := differInCase(c.format)
				if err := db.Exec("INSERT INTO "+table+" VALUES (?)", one).Error; err != nil {
					t.Fatal(err)
				}
				var found int64
				if err := db.Table(table).Where("code = ?", other).Count(&found).Error; err != nil {
					t.Fatal(err)
				}
				if collides := found > 0; collides != c.collides {
					t.Errorf("a lookup of %s finds %d rows, the one with %s", other, found, one)
				}
				err := db.Exec("INSERT INTO "+table+" VALUES (?)", other).Error
				if rejected := err != nil; rejected != c.collides {
					t.Errorf("insert of %s beside %s: %v", other, one, err)
				}
			})
		}
	})
}

// differInCase returns the forms of two of 100 consecutive IDs that differ only in
// case. If there are no such IDs, it returns forms that differ in more than case.
func differInCase(format func(types.ID) string) (one, other string) {
	const first = types.ID(2124189853926044565)
	seen := map[string]string{}
	for i := range types.ID(100) {
		other = format(first + i)
		if one, ok := seen[strings.ToLower(other)]; ok {
			return one, other
		}
		seen[strings.ToLower(other)] = other
	}
	return format(first), other
}
