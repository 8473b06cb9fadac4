package migratetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// EachMySQL runs test on MariaDB and on MySQL.
func EachMySQL(t *testing.T, test func(t *testing.T, on testdb.Target)) {
	t.Helper()
	for _, on := range []testdb.Target{testdb.MariaDB, testdb.MySQL} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// MySQLOpen opens a new database and executes statements in it.
func MySQLOpen(t *testing.T, on testdb.Target, statements ...string) *gorm.DB {
	t.Helper()
	db := MySQLWith(t, testdb.Open(t, on), nopLogger)
	MySQLExec(t, db, statements...)
	return db
}

// nopLogger turns off the log of the driver, in which lost connections appear.
func nopLogger(c *driver.Config) { c.Logger = &driver.NopLogger{} }

// MySQLExec executes the statements and stops the test at the first error.
func MySQLExec(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := MySQLTry(t, db, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// MySQLTry executes a statement and returns its error.
func MySQLTry(t *testing.T, db *gorm.DB, statement string) error {
	t.Helper()
	_, err := MySQLPool(t, db).ExecContext(t.Context(), statement)
	return err
}

// MySQLPool returns the connection pool of db.
func MySQLPool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// MySQLWith opens another pool for the database of db. change modifies the configuration
// of its driver.
func MySQLWith(t *testing.T, db *gorm.DB, change func(*driver.Config)) *gorm.DB {
	t.Helper()
	config := db.Dialector.(*mysql.Dialector).DSNConfig.Clone()
	change(config)
	return testdb.OpenWith(t, mysql.New(mysql.Config{DSNConfig: config}))
}

// MySQLAtEnd executes a statement in a cleanup function, where the context of t is
// canceled already.
func MySQLAtEnd(t *testing.T, db *gorm.DB, statement string) {
	t.Helper()
	if _, err := MySQLPool(t, db).ExecContext(context.Background(), statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// MySQLSecond creates another database on the server of db and returns its name.
func MySQLSecond(t *testing.T, db *gorm.DB) string {
	t.Helper()
	name := "gormflake_" + strings.ToLower(rand.Text())
	MySQLExec(t, db, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	t.Cleanup(func() { MySQLAtEnd(t, db, "DROP DATABASE "+name) })
	return name
}

// MySQLInspect plans a move that has no blockers and compares the plan with the recorded
// one.
func MySQLInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	Plan(t, db, plan)
	return plan
}

// mysqlCounter matches the table option that contains the next key. MySQLSchema leaves it
// out, because it changes as soon as a table is copied. Tests of the counter insert a row
// and look at its key instead.
var mysqlCounter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// MySQLSchema returns the CREATE statements of every table, view and trigger by name. It
// reads the database of db and the databases in more. The names of objects in more begin
// with the name of the database and a dot.
func MySQLSchema(t *testing.T, db *gorm.DB, more ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	// SHOW CREATE TABLE returns the definition in its second column, and SHOW CREATE
	// TRIGGER in its third.
	for _, schema := range append([]string{""}, more...) {
		in := "DATABASE()"
		prefix := ""
		if schema != "" {
			in, prefix = "'"+schema+"'", schema+"."
		}
		for _, name := range MySQLStrings(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = "+in) {
			found[prefix+name] = mysqlCounter.ReplaceAllString(MySQLRow(t, db, "SHOW CREATE TABLE "+prefix+MySQLQuoted(name))[1], "")
		}
		for _, name := range MySQLStrings(t, db, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = "+in) {
			found["trigger "+prefix+name] = MySQLRow(t, db, "SHOW CREATE TRIGGER "+prefix+MySQLQuoted(name))[2]
		}
	}
	return found
}

// MySQLQuoted quotes a name.
func MySQLQuoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// MySQLRows executes a query and returns its rows as text.
func MySQLRows(t *testing.T, db *gorm.DB, query string) [][]string {
	t.Helper()
	_, texts, err := rows.Texts(t.Context(), MySQLPool(t, db), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	all := make([][]string, len(texts))
	for i, row := range texts {
		for _, v := range row {
			if !v.Valid {
				v.String = "NULL"
			}
			all[i] = append(all[i], v.String)
		}
	}
	return all
}

// MySQLRow returns the row of a query as text. It stops the test unless there is exactly
// one row.
func MySQLRow(t *testing.T, db *gorm.DB, query string) []string {
	t.Helper()
	rows := MySQLRows(t, db, query)
	if len(rows) != 1 {
		t.Fatalf("%s: %d rows, want 1", query, len(rows))
	}
	return rows[0]
}

// MySQLStrings returns the first column of each row of a query.
func MySQLStrings(t *testing.T, db *gorm.DB, query string) []string {
	t.Helper()
	var found []string
	for _, row := range MySQLRows(t, db, query) {
		found = append(found, row[0])
	}
	return found
}

// MySQLSame fails the test for each object whose definition differs between two schemas,
// as [MySQLSchema] returns them. The messages begin with what.
func MySQLSame(t *testing.T, what string, got, want map[string]string) {
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
