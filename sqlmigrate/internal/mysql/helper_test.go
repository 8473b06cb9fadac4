package mysql_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlID is a Snowflake ID that is issued long after the tests were written.
const mysqlID = int64(1) << 62

// mysqlLacks are parts of statements that are syntax errors on MySQL.
var mysqlLacks = []string{"PARTITION z DEFAULT"}

// mysqlOpenOrSkip opens a new database and executes statements in it. It skips the test
// on MySQL if a statement uses a feature that only MariaDB has.
func mysqlOpenOrSkip(t *testing.T, on testdb.Target, statements ...string) *gorm.DB {
	t.Helper()
	db := migratetest.MySQLOpen(t, on)
	for _, s := range statements {
		lacks := on == testdb.MySQL && slices.ContainsFunc(mysqlLacks, func(text string) bool { return strings.Contains(s, text) })
		err := migratetest.MySQLTry(t, db, s)
		if lacks && err != nil && strings.Contains(err.Error(), "Error 1064") {
			t.Skipf("MySQL has no such table: %s", s)
		}
		if err != nil || lacks {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// mysqlMariaDB reports whether the server is MariaDB.
func mysqlMariaDB(t *testing.T, db *gorm.DB) bool {
	t.Helper()
	return strings.Contains(migratetest.MySQLRow(t, db, "SELECT VERSION()")[0], "MariaDB")
}

// mysqlAs opens the database of db as a user that mysqlReader has created.
func mysqlAs(t *testing.T, db *gorm.DB, user string) *gorm.DB {
	t.Helper()
	return migratetest.MySQLWith(t, db, func(c *driver.Config) { c.User, c.Passwd = user, "x" })
}

// mysqlStep returns the distance between two statements at which a test stops a run. On
// MySQL the distance is larger, because MySQL changes tables more slowly. It is always
// odd there, so that a test stops at statements with odd and with even numbers.
func mysqlStep(on testdb.Target, mariadb int) int {
	if on == testdb.MySQL {
		return 6*mariadb + 1
	}
	return mariadb
}

// mysqlLoose opens the database of db with a setting that allows foreign keys to columns
// without a unique key. MySQL rejects them by default.
func mysqlLoose(t *testing.T, db *gorm.DB, on testdb.Target) *gorm.DB {
	t.Helper()
	if on == testdb.MariaDB {
		return db
	}
	return migratetest.MySQLWith(t, db, func(c *driver.Config) { c.Params = map[string]string{"restrict_fk_on_non_standard_key": "OFF"} })
}

// mysqlApply applies the plan, and fails the test if that fails.
func mysqlApply(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Apply(t.Context(), db, opts...); err != nil {
		t.Fatal(err)
	}
}

// mysqlRevert reverts the plan, and fails the test if that fails.
func mysqlRevert(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan) {
	t.Helper()
	if err := plan.Revert(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// mysqlData returns the rows of each table as text, without the table of counters. more
// are further databases to read.
func mysqlData(t *testing.T, db *gorm.DB, more ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, create := range migratetest.MySQLSchema(t, db, more...) {
		if !strings.HasPrefix(create, "CREATE TABLE") || name == "sqlmigrate_counters" {
			continue
		}
		quoted := migratetest.MySQLQuoted(name)
		for _, schema := range more {
			if rest, ok := strings.CutPrefix(name, schema+"."); ok {
				quoted = schema + "." + migratetest.MySQLQuoted(rest)
			}
		}
		rows := migratetest.MySQLRows(t, db, "SELECT * FROM "+quoted)
		slices.SortFunc(rows, slices.Compare)
		found[name] = fmt.Sprint(rows)
	}
	return found
}

// mysqlColumnType returns the type of table.column without its display width, followed by
// auto_increment if the column has it.
func mysqlColumnType(t *testing.T, db *gorm.DB, table, column string) string {
	t.Helper()
	row := migratetest.MySQLRow(t, db, "SELECT COLUMN_TYPE, EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '"+
		table+"' AND COLUMN_NAME = '"+column+"'")
	return strings.TrimSpace(regexp.MustCompile(`\(\d+\)`).ReplaceAllString(row[0], "") + " " + row[1])
}

// mysqlForeignKeys returns the foreign keys of the database in the form table.name.
func mysqlForeignKeys(t *testing.T, db *gorm.DB) []string {
	t.Helper()
	return migratetest.MySQLStrings(t, db, "SELECT CONCAT(TABLE_NAME, '.', CONSTRAINT_NAME) FROM information_schema.TABLE_CONSTRAINTS "+
		"WHERE TABLE_SCHEMA = DATABASE() AND CONSTRAINT_TYPE = 'FOREIGN KEY' ORDER BY 1")
}
