package check_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestCheckReportsFailures checks that Check returns the error of each statement that
// fails, and names the table. The test lets one statement after another fail, with and
// without the table.
func TestCheckReportsFailures(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, tables := range []int{0, 1} {
			if tables == 1 {
				plugintest.Migrate(t, db, &live{})
			}
			for n := 1; ; n++ {
				f := &plugintest.Faults{Fail: n}
				err := gormflake.Check(plugintest.WithFaults(t, db, f), &live{}, &live{})
				if f.Seen < n {
					if n == 1 || err != nil {
						t.Errorf("%d tables, %d statements: %v", tables, f.Seen, err)
					}
					break
				}
				if !errors.Is(err, plugintest.ErrInjected) || !strings.HasPrefix(err.Error(), "gormflake: check table lives: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%d tables, statement %d: %v", tables, n, err)
				}
			}
		}
	})
}

// TestCheckWithoutDatabase checks that Check returns an error if the connection is closed.
func TestCheckWithoutDatabase(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err == nil {
			err = pool.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		plugintest.Wants(t, gormflake.Check(db, &live{}), []string{"check table lives: ", "closed"})
	})
}

// rewritten is a connection pool that changes each query by rewrite before it sends the
// query.
type rewritten struct {
	gorm.ConnPool
	rewrite func(query string) string
}

func (r rewritten) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.ConnPool.QueryContext(ctx, r.rewrite(query), args...)
}

// TestCheckReportsUnreadableRows checks that a row of the catalogue that cannot be read,
// and rows that end too early, are errors, and that the connection is free afterwards.
func TestCheckReportsUnreadableRows(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &live{})
		unreadable := map[string]func(string) string{
			"sqlite":   func(query string) string { return strings.Replace(query, "SELECT name", "SELECT NULL", 1) },
			"postgres": func(query string) string { return strings.Replace(query, "SELECT a.attname", "SELECT NULL", 1) },
			"mysql": func(string) string {
				return "SELECT NULL, 'bigint', 'NO', 'PRI', NULL, '' UNION ALL SELECT 'id', '', '', '', '', ''"
			},
		}
		wantUnreadable(t, db, unreadable[db.Name()], "Scan error on column index 0")
		if db.Name() == "sqlite" {
			// The second row overflows, so the rows end with an error.
			const fails = "SELECT CASE cid WHEN 1 THEN abs(-9223372036854775807 - 1) ELSE name END"
			wantUnreadable(t, db, func(query string) string { return strings.Replace(query, "SELECT name", fails, 1) }, "integer overflow")
		}
	})
}

// wantUnreadable lets rewrite change Check's queries. It checks that Check returns the error
// want, and closes its rows, so that no connection stays in use.
func wantUnreadable(t *testing.T, db *gorm.DB, rewrite func(string) string, want string) {
	t.Helper()
	tx := db.Session(&gorm.Session{NewDB: true, Context: t.Context()})
	tx.Statement.ConnPool = rewritten{tx.Statement.ConnPool, rewrite}
	plugintest.Wants(t, gormflake.Check(tx, &live{}), []string{"check table lives: ", want})
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use", n)
	}
}

// TestCheckOfUnknownDatabase checks the error of Check for a dialect that Check cannot read.
func TestCheckOfUnknownDatabase(t *testing.T) {
	t.Parallel()
	plugintest.Wants(t, gormflake.Check(plugintest.Dry(t, plugintest.NewPlugin(t)), &plugintest.Book{}), []string{"check table books: got a database of dummy: want SQLite, PostgreSQL, MySQL or MariaDB"})
}

// TestCheckWithoutRights checks that Check does not treat a table that the user may not
// see as a missing table.
func TestCheckWithoutRights(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := testdb.Open(t, testdb.Postgres)
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		plugintest.Migrate(t, db, &live{})
		role := "gormflake_" + strings.ToLower(rand.Text())
		plugintest.Must(t, db.Exec("CREATE ROLE "+role))
		plugintest.Must(t, db.Exec("GRANT "+role+" TO CURRENT_USER"))
		t.Cleanup(func() { plugintest.Must(t, db.Exec("DROP ROLE "+role)) })
		_ = db.Transaction(func(tx *gorm.DB) error {
			plugintest.Must(t, tx.Exec("SET LOCAL ROLE "+role))
			plugintest.Wants(t, gormflake.Check(tx, &live{}), []string{"check table lives: permission denied for schema gormflake_", "grant USAGE"})
			if err := gormflake.Check(tx, &plugintest.Book{}); err != nil {
				t.Error(err) // there is no such table
			}
			return gorm.ErrInvalidTransaction
		})
	})
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			plugintest.Migrate(t, db, &live{}, &plugintest.Book{})
			limited := mysqlReaderOfBooks(t, db)
			plugintest.Use(t, limited, plugintest.NewPlugin(t))
			plugintest.Wants(t, gormflake.Check(limited, &plugintest.Book{}, &live{}), []string{"check table lives: Error 1142"})
		})
	}
}

// mysqlReaderOfBooks returns a handle of a new user that may only read the table books.
func mysqlReaderOfBooks(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	name, password := "gormflake_"+strings.ToLower(rand.Text()[:16]), rand.Text()
	plugintest.Must(t, db.Exec(fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", name, password)))
	t.Cleanup(func() { plugintest.Must(t, db.Exec("DROP USER "+name+"@'%'")) })
	plugintest.Must(t, db.Exec("GRANT SELECT ON books TO "+name+"@'%'"))
	config := *db.Dialector.(*mysql.Dialector).Config
	config.DSNConfig = config.DSNConfig.Clone()
	config.DSNConfig.User, config.DSNConfig.Passwd, config.DSN = name, password, ""
	config.Conn = nil
	limited, err := gorm.Open(mysql.New(config), &gorm.Config{Logger: db.Logger})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := limited.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return limited
}

// TestCheckNamesOfColumns checks that Check compares names of columns as the database
// does in an INSERT.
func TestCheckNamesOfColumns(t *testing.T) {
	t.Parallel()
	type umlaut struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Maker types.ID `gorm:"column:übung" snowflake:"id"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		quote := func(name string) string { return db.Statement.Quote(name) }
		plugintest.Must(t, db.Exec("CREATE TABLE lives ("+quote("ID")+" bigint PRIMARY KEY, "+quote("PUBLIC")+" bigint, "+quote("Text")+" varchar(20))"))
		plugintest.Must(t, db.Exec("CREATE TABLE umlauts (id bigint PRIMARY KEY, "+quote("Übung")+" bigint)"))
		lives, umlauts := gormflake.Check(db, &live{}), gormflake.Check(db, &umlaut{})
		for _, test := range []struct {
			row any
			err error
		}{{&live{}, lives}, {&umlaut{}, umlauts}} {
			created := db.Create(test.row).Error
			if (created == nil) != (test.err == nil) {
				t.Errorf("%T: Create: %v, Check: %v", test.row, created, test.err)
			}
		}
		if db.Name() == "postgres" {
			plugintest.Wants(t, lives, []string{"table lives has no column id"}, []string{"table lives has no column public"}, []string{"table lives has no column text"})
		} else if lives != nil {
			t.Error(lives)
		}
	})
}

// TestCheckTablesOfOtherSchemas checks that Check reads the table that an INSERT on its
// connection would use. On PostgreSQL, this table is in another schema of the search path. On
// SQLite, it is a temporary table.
func TestCheckTablesOfOtherSchemas(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	plugintest.Use(t, db, plugintest.NewPlugin(t))
	other := "gormflake_" + strings.ToLower(rand.Text())
	plugintest.Must(t, db.Exec("CREATE SCHEMA "+other))
	t.Cleanup(func() { plugintest.Must(t, db.Exec("DROP SCHEMA "+other+" CASCADE")) })
	plugintest.Must(t, db.Exec("CREATE TABLE "+other+".lives (id bigint PRIMARY KEY, public int, text text)"))
	want := []string{"column public of table lives is integer, which cannot hold every ID"}
	_ = db.Transaction(func(tx *gorm.DB) error {
		plugintest.Must(t, tx.Exec("SELECT set_config('search_path', current_schema() || ',"+other+"', true)"))
		plugintest.Wants(t, gormflake.Check(tx, &live{}), want)
		return gorm.ErrInvalidTransaction
	})
	sqlite := testdb.Open(t, testdb.SQLite)
	plugintest.Use(t, sqlite, plugintest.NewPlugin(t))
	_ = sqlite.Transaction(func(tx *gorm.DB) error { // one connection
		plugintest.Must(t, tx.Exec("CREATE TEMP TABLE lives (id integer PRIMARY KEY, public real, text text)"))
		plugintest.Wants(t, gormflake.Check(tx, &live{}), []string{"column public of table lives is REAL, which cannot hold every ID"})
		return gorm.ErrInvalidTransaction
	})
}

// liveInMain names the database of its table.
type liveInMain struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public types.ID `snowflake:"id"`
}

func (liveInMain) TableName() string { return "main.lives" }

// bracketed has a column whose name contains [. The characters [ and { differ in the same bit
// as A and a, so a comparison that ignores this bit would take the two names for the same.
type bracketed struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Maker types.ID `gorm:"column:maker[" snowflake:"id"`
}

// TestCheckNamesOfSQLite checks that Check reads a SQLite table whose name contains its
// database, such as main.lives, and ignores the case of ASCII letters only.
func TestCheckNamesOfSQLite(t *testing.T) {
	t.Parallel()
	db := plugintest.Memory(t, plugintest.NewPlugin(t))
	plugintest.Must(t, db.Exec("CREATE TABLE lives (id integer PRIMARY KEY, public real, text text)"))
	plugintest.Wants(t, gormflake.Check(db, &liveInMain{}), []string{"column public of table main.lives is REAL, which cannot hold every ID"})
	plugintest.Must(t, db.Exec("CREATE TABLE bracketeds (id bigint PRIMARY KEY, `maker{` bigint)"))
	plugintest.Wants(t, gormflake.Check(db, &bracketed{}), []string{"table bracketeds has no column maker[: migrate it"})
}

type (
	ward struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Beds []bed    `gorm:"foreignKey:WardID;constraint:-"`
	}
	bed struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		WardID types.ID
		Ward   *ward `gorm:"foreignKey:WardID;constraint:-"`
	}
)

// TestCheckColumnsOfForeignKeys checks that Check reports the column of a foreign key
// once, whichever model has the relation.
func TestCheckColumnsOfForeignKeys(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		narrow := "int"
		if db.Name() == "sqlite" {
			narrow = "double precision"
		}
		plugintest.Must(t, db.Exec("CREATE TABLE beds (id bigint PRIMARY KEY, ward_id "+narrow+")"))
		for _, models := range [][]any{{&ward{}}, {&bed{}}, {&ward{}, &bed{}, &ward{}}} {
			plugintest.Wants(t, gormflake.Check(db, models...), []string{"model bed, field WardID: column ward_id of table beds is ", "which cannot hold every ID"})
		}
		plugintest.Must(t, db.Exec("DROP TABLE beds"))
		plugintest.Migrate(t, db, &ward{}, &bed{})
		if err := gormflake.Check(db, &ward{}, &bed{}); err != nil {
			t.Error(err)
		}
	})
}

// TestCheckReportsEachMistakeOnce checks that a mistake of a foreign key is reported once,
// although several models and relations have it.
func TestCheckReportsEachMistakeOnce(t *testing.T) {
	t.Parallel()
	type (
		leaf struct {
			ID     types.ID `snowflake:"pk"`
			TreeID int32
		}
		tree struct {
			ID     types.ID `snowflake:"pk"`
			Leaves []leaf
		}
		grove struct {
			ID     types.ID `snowflake:"pk"`
			TreeID types.ID
			Tree   tree
			Leaf   leaf `gorm:"foreignKey:TreeID"`
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		toTree := []string{"model leaf, field TreeID, foreign key to tree: type int32"}
		toGrove := []string{"model leaf, field TreeID, foreign key to grove: type int32"}
		plugintest.Wants(t, gormflake.Check(db, &tree{}, &tree{}), toTree)
		plugintest.Wants(t, gormflake.Check(db, &grove{}, &tree{}, &grove{}), toGrove, toTree)
	})
}
