package sqlmigrate_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/migratetest"
)

// mysqlID is one that is issued long after the tests were written.
const mysqlID = int64(1) << 62

// eachMySQL runs test on MariaDB and on MySQL.
func eachMySQL(t *testing.T, test func(t *testing.T, on testdb.Target)) {
	t.Helper()
	for _, on := range []testdb.Target{testdb.MariaDB, testdb.MySQL} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

func mysqlOpen(t *testing.T, on testdb.Target, statements ...string) *gorm.DB {
	t.Helper()
	db := mysqlWith(t, testdb.Open(t, on), nopLogger)
	mysqlExec(t, db, statements...)
	return db
}

func nopLogger(c *driver.Config) { c.Logger = &driver.NopLogger{} }

// mysqlLacks is what MySQL refuses as a syntax error.
var mysqlLacks = []string{"WITH SYSTEM VERSIONING", "PARTITION z DEFAULT"}

// mysqlOpenOrSkip is for what only MariaDB may have.
func mysqlOpenOrSkip(t *testing.T, on testdb.Target, statements ...string) *gorm.DB {
	t.Helper()
	db := mysqlOpen(t, on)
	for _, s := range statements {
		lacks := on == testdb.MySQL && slices.ContainsFunc(mysqlLacks, func(text string) bool { return strings.Contains(s, text) })
		err := mysqlTry(t, db, s)
		if lacks && err != nil && strings.Contains(err.Error(), "Error 1064") {
			t.Skipf("MySQL has no such table: %s", s)
		}
		if err != nil || lacks {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

func mysqlMariaDB(t *testing.T, db *gorm.DB) bool {
	t.Helper()
	return strings.Contains(mysqlRow(t, db, "SELECT VERSION()")[0], "MariaDB")
}

func mysqlExec(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := mysqlTry(t, db, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func mysqlTry(t *testing.T, db *gorm.DB, statement string) error {
	t.Helper()
	_, err := mysqlPool(t, db).ExecContext(t.Context(), statement)
	return err
}

func mysqlPool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// mysqlAs opens the database of db for another user.
func mysqlAs(t *testing.T, db *gorm.DB, user, password string) *gorm.DB {
	t.Helper()
	return mysqlWith(t, db, func(c *driver.Config) { c.User, c.Passwd = user, password })
}

func mysqlWith(t *testing.T, db *gorm.DB, change func(*driver.Config)) *gorm.DB {
	t.Helper()
	config := db.Dialector.(*mysql.Dialector).DSNConfig.Clone()
	change(config)
	return testdb.OpenWith(t, mysql.New(mysql.Config{DSNConfig: config}))
}

// mysqlStep is how many statements a sweep goes on by: MySQL changes a table more
// slowly, so that few are tried there. It stays odd or even by turns.
func mysqlStep(on testdb.Target, mariadb int) int {
	if on == testdb.MySQL {
		return 6*mariadb + 1
	}
	return mariadb
}

// mysqlLoose opens the database of db for foreign keys to columns that are not a
// unique key, which MySQL refuses unless it is told.
func mysqlLoose(t *testing.T, db *gorm.DB, on testdb.Target) *gorm.DB {
	t.Helper()
	if on == testdb.MariaDB {
		return db
	}
	return mysqlWith(t, db, func(c *driver.Config) { c.Params = map[string]string{"restrict_fk_on_non_standard_key": "OFF"} })
}

// mysqlAtEnd is for a Cleanup, where t's context has ended.
func mysqlAtEnd(t *testing.T, db *gorm.DB, statement string) {
	t.Helper()
	if _, err := mysqlPool(t, db).ExecContext(context.Background(), statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// mysqlSecond creates a second database next to the test's.
func mysqlSecond(t *testing.T, db *gorm.DB) string {
	t.Helper()
	name := "gormflake_" + strings.ToLower(rand.Text())
	mysqlExec(t, db, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	t.Cleanup(func() { mysqlAtEnd(t, db, "DROP DATABASE "+name) })
	return name
}

func mysqlInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := migratetest.Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	migratetest.Plan(t, db, plan)
	return plan
}

func mysqlApply(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan, opts ...sqlmigrate.ApplyOption) {
	t.Helper()
	if err := plan.Apply(t.Context(), db, opts...); err != nil {
		t.Fatal(err)
	}
}

func mysqlRevert(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan) {
	t.Helper()
	if err := plan.Revert(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// mysqlCounter is the option that says which key comes next. It changes as
// soon as a table is copied, so tests ask for the next key instead.
var mysqlCounter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// mysqlSchema is what makes every table, view and trigger, by name.
func mysqlSchema(t *testing.T, db *gorm.DB, more ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, schema := range append([]string{""}, more...) {
		in := "DATABASE()"
		prefix := ""
		if schema != "" {
			in, prefix = "'"+schema+"'", schema+"."
		}
		for _, name := range mysqlStrings(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = "+in) {
			quoted := mysqlQuoted(name)
			if prefix != "" {
				quoted = schema + "." + quoted
			}
			found[prefix+name] = mysqlCounter.ReplaceAllString(mysqlRow(t, db, "SHOW CREATE TABLE "+quoted)[1], "")
		}
		for _, name := range mysqlStrings(t, db, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = "+in) {
			found["trigger "+prefix+name] = mysqlRow(t, db, "SHOW CREATE TRIGGER "+mysqlQuoted(name))[2]
		}
	}
	return found
}

// mysqlData is every row of every table, by table, without the counters.
func mysqlData(t *testing.T, db *gorm.DB, more ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, create := range mysqlSchema(t, db, more...) {
		if !strings.HasPrefix(create, "CREATE TABLE") || name == "sqlmigrate_counters" {
			continue
		}
		quoted := mysqlQuoted(name)
		for _, schema := range more {
			if rest, ok := strings.CutPrefix(name, schema+"."); ok {
				quoted = schema + "." + mysqlQuoted(rest)
			}
		}
		rows := mysqlRows(t, db, "SELECT * FROM "+quoted)
		slices.SortFunc(rows, slices.Compare)
		found[name] = fmt.Sprint(rows)
	}
	return found
}

func mysqlQuoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func mysqlRows(t *testing.T, db *gorm.DB, query string) [][]string {
	t.Helper()
	rows, err := mysqlPool(t, db).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
			if !v.Valid {
				row[i] = "NULL"
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

func mysqlRow(t *testing.T, db *gorm.DB, query string) []string {
	t.Helper()
	rows := mysqlRows(t, db, query)
	if len(rows) != 1 {
		t.Fatalf("%s: %d rows, want 1", query, len(rows))
	}
	return rows[0]
}

func mysqlStrings(t *testing.T, db *gorm.DB, query string) []string {
	t.Helper()
	var found []string
	for _, row := range mysqlRows(t, db, query) {
		found = append(found, row[0])
	}
	return found
}

func mysqlSame(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s, %s:\n got %s\nwant %s", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

// mysqlColumnType is the type of table.column, without a width.
func mysqlColumnType(t *testing.T, db *gorm.DB, table, column string) string {
	t.Helper()
	row := mysqlRow(t, db, "SELECT COLUMN_TYPE, EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '"+
		table+"' AND COLUMN_NAME = '"+column+"'")
	return strings.TrimSpace(regexp.MustCompile(`\(\d+\)`).ReplaceAllString(row[0], "") + " " + row[1])
}

func mysqlForeignKeys(t *testing.T, db *gorm.DB) []string {
	t.Helper()
	return mysqlStrings(t, db, "SELECT CONCAT(TABLE_NAME, '.', CONSTRAINT_NAME) FROM information_schema.TABLE_CONSTRAINTS "+
		"WHERE TABLE_SCHEMA = DATABASE() AND CONSTRAINT_TYPE = 'FOREIGN KEY' ORDER BY 1")
}
