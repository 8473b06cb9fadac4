package myonline_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
)

// The query versionSQL must report every server on which the tests run as supported. With
// larger numbers in its comments, which stand for a newer version, it must report the
// server as not supported.
func TestVersion(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		for sql, want := range map[string]bool{
			myonline.VersionSQL: true,
			strings.NewReplacer("100600", "990000", "80000", "99900").Replace(myonline.VersionSQL): false,
		} {
			var version string
			var supported bool
			if err := db.Raw(sql).Row().Scan(&version, &supported); err != nil {
				t.Fatal(err)
			}
			if supported != want || strings.HasPrefix(version, "MySQL ") == strings.Contains(version, "MariaDB") {
				t.Errorf("%s: %s, %v, want %v", sql, version, supported, want)
			}
		}
	})
}
