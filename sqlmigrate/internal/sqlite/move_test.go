package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// eachSQLite runs fn with each of the two SQLite drivers.
func eachSQLite(t *testing.T, fn func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	for _, target := range []testdb.Target{testdb.SQLite, testdb.SQLiteMattn} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			fn(t, testdb.Open(t, target))
		})
	}
}

// sqliteInspect returns a plan for the targets, and compares it with the recorded plans.
func sqliteInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := migratetest.Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	migratetest.Plan(t, db, plan)
	return plan
}

// sqliteDump returns the whole database as text: the entries of sqlite_master, and the
// rows of each table.
func sqliteDump(t *testing.T, db *gorm.DB) map[string]string {
	t.Helper()
	dump := map[string]string{}
	for _, row := range sqliteRows(t, db, "SELECT type, name, tbl_name, sql FROM sqlite_master") {
		dump[fmt.Sprintf("%v %v", row[0], row[1])] = fmt.Sprint(row)
		if row[0] == "table" {
			dump[fmt.Sprintf("rows of %v", row[1])] = fmt.Sprint(sqliteRows(t, db, `SELECT * FROM "`+strings.ReplaceAll(row[1].(string), `"`, `""`)+`" ORDER BY 1`))
		}
	}
	return dump
}

// sqliteRows returns the rows of a query.
func sqliteRows(t *testing.T, db *gorm.DB, query string) [][]any {
	t.Helper()
	rows, err := db.Raw(query).Rows()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range row {
			targets[i] = &row[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// wantSameDump compares two results of sqliteDump.
func wantSameDump(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s: %s is\n%q, want\n%q", what, key, got[key], want[key])
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: %s is left over: %s", what, key, got[key])
		}
	}
}

// wantPhases compares the steps of the plan with want, whose elements have the form
// "phase table". Without elements, the plan must have no steps.
func wantPhases(t *testing.T, plan *sqlmigrate.Plan, want ...string) {
	t.Helper()
	var got []string
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			got = append(got, string(phase.Name)+" "+step.Table.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("phases %q, want %q", got, want)
	}
}

// sqliteApply applies the plan, and checks the database.
func sqliteApply(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan) {
	t.Helper()
	if err := plan.Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	healthy(t, db)
}

// healthy checks that the database is not corrupt, that no row violates a foreign key,
// and that the pragmas of the connection have their original values.
func healthy(t *testing.T, db *gorm.DB) {
	t.Helper()
	if got := fmt.Sprint(sqliteRows(t, db, "PRAGMA integrity_check")); got != "[[ok]]" {
		t.Errorf("integrity_check: %s", got)
	}
	if got := sqliteRows(t, db, "PRAGMA foreign_key_check"); len(got) > 0 {
		t.Errorf("foreign_key_check: %v", got)
	}
	for pragma, want := range map[string]string{"writable_schema": "[[0]]", "foreign_keys": "[[1]]", "busy_timeout": "[[5000]]"} {
		if got := fmt.Sprint(sqliteRows(t, db, "PRAGMA "+pragma)); got != want {
			t.Errorf("PRAGMA %s = %s, want %s", pragma, got, want)
		}
	}
}

// A move keeps all rows, a second plan is empty, and the way back restores the schema and
// the position of AUTOINCREMENT.
func TestSQLiteUpDown(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, "users", "orders", "lines")
		if err := plan.Err(); err != nil {
			t.Fatal(err)
		}
		wantPhases(t, plan, "detach orders", "detach users", "guard lines", "guard orders", "guard users")
		sqliteApply(t, db, plan)
		after := sqliteDump(t, db)
		for key, text := range before {
			if strings.HasPrefix(key, "rows of ") && after[key] != text {
				t.Errorf("%s: %s, want %s", key, after[key], text)
			}
		}
		wantPhases(t, sqliteInspect(t, db, "users", "orders", "lines"))
		if err := plan.Revert(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		healthy(t, db)
		wantSameDump(t, "after up and down", sqliteDump(t, db), before)
		migratetest.Run(t, db, "INSERT INTO users (name) VALUES ('next')")
		if got := fmt.Sprint(sqliteRows(t, db, "SELECT max(id) FROM users")); got != "[[10]]" {
			t.Errorf("the next automatic key is %s, want 10: 9 was in use before", got)
		}
	})
}

// After a move no table may have AUTOINCREMENT, and VACUUM then removes the table
// sqlite_sequence. Revert must create it again with its counters, because without it no row
// can be inserted into a table with AUTOINCREMENT.
func TestSQLiteVacuum(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		migratetest.Run(t, db, "DROP TABLE log", "DROP TRIGGER tr_log") // no other table may keep AUTOINCREMENT
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, "users", "orders")
		sqliteApply(t, db, plan)
		migratetest.Run(t, db, "VACUUM")
		if _, ok := sqliteDump(t, db)["table sqlite_sequence"]; ok {
			t.Fatal("VACUUM keeps sqlite_sequence: the test shows nothing")
		}
		if err := plan.Revert(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		wantSameDump(t, "after VACUUM and down", sqliteDump(t, db), before)
		migratetest.Run(t, db, "INSERT INTO users (name) VALUES ('next')")
	})
}

// A connection that has cached the schema before Apply has to read it again. If the
// connection still used the schema with AUTOINCREMENT, a row with key 1,000 would raise the
// counter.
func TestSQLiteOtherConnections(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		plan := sqliteInspect(t, db, "users")
		err := db.Connection(func(other *gorm.DB) error { // caches the schema with its first statement
			migratetest.Run(t, other, "INSERT INTO users (name) VALUES ('early')")
			if err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Detach)); err != nil {
				return err
			}
			migratetest.Run(t, other, "INSERT INTO users (id, name) VALUES (1000, 'late')")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(sqliteRows(t, db, "SELECT seq FROM sqlite_sequence WHERE name = 'users'")); got != "[[10]]" {
			t.Errorf("the sequence is at %s, want 10: the other connection still has AUTOINCREMENT", got)
		}
	})
}

// The guard rejects rows without a positive key in every kind of table, also with OR IGNORE.
// It accepts rows with a positive key, upserts, and REPLACE with a key.
func TestSQLiteGuard(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{
		"rowid":         "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, n INT)",
		"gorm":          "CREATE TABLE t (id integer, n INT, PRIMARY KEY (`id`))",
		"bigint":        "CREATE TABLE t (id BIGINT PRIMARY KEY, n INT)",
		"descending":    "CREATE TABLE t (id INTEGER PRIMARY KEY DESC, n INT)",
		"without rowid": "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT) WITHOUT ROWID",
		"strict":        "CREATE TABLE t (n INT, id INT PRIMARY KEY) STRICT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) {
				migratetest.Run(t, db, ddl)
				sqliteApply(t, db, sqliteInspect(t, db, "t"))
				const message = "table t: key id is missing or not positive: Snowflake IDs are assigned by the program"
				for _, bad := range []string{"(n) VALUES (1)", "(id) VALUES (NULL)", "(id) VALUES (0)", "(id) VALUES (-1)", "DEFAULT VALUES"} {
					migratetest.WantError(t, db.Exec("INSERT INTO t "+bad).Error, message)
				}
				migratetest.WantError(t, db.Exec("INSERT OR IGNORE INTO t (n) VALUES (1)").Error, message)
				migratetest.Run(t, db, "INSERT INTO t (id) VALUES (1), (1801439850948198400)",
					"INSERT INTO t (id, n) VALUES (1, 7) ON CONFLICT (id) DO UPDATE SET n = 7", "REPLACE INTO t (id) VALUES (1)")
			})
		})
	}
}

// A plan contains all tables that foreign keys and the given references connect with the
// requested tables, and only those. Twenty further plans of the same schema have the same
// text, although the maps of Go have no order.
func TestSQLiteConnected(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	migratetest.Run(t, db, migratetest.SQLiteShop...)
	migratetest.Run(t, db,
		"CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER)",
		"CREATE TABLE members (user_id INTEGER, order_id INTEGER, PRIMARY KEY (user_id, order_id))")
	plan := sqliteInspect(t, db, "ORDERS", sqlmigrate.WithReference("audit.Order_ID", "main.orders.id"), sqlmigrate.WithReference("members.order_id", "orders.id"))
	want := `
Tables
  audit: 0 rows
    order_id INTEGER, refers to orders.id
  lines: 3 rows
    order_id INTEGER, refers to orders.id
  members: 0 rows
    order_id INTEGER, key, refers to orders.id
  orders: 2 rows, largest key 2
    id INTEGER, key, autoincrement
`
	if got := plan.String(); !strings.HasPrefix(got, "sqlite: 4 tables, 2 phases, at once\n") || !strings.Contains(got, want) {
		t.Errorf("plan:\n%s\nwant 4 tables and 2 phases, and in it:\n%s", got, want)
	}
	wantPhases(t, plan, "detach orders", "guard orders")
	// The key of profiles refers to users, and the keys of users move with it.
	wantPhases(t, sqliteInspect(t, db, "profiles"), "detach users", "guard users")
	migratetest.Run(t, db, "CREATE TABLE implied (user_id INTEGER PRIMARY KEY REFERENCES users)",
		"CREATE TABLE mixed (kind TEXT, id INTEGER, PRIMARY KEY (kind, id))")
	wantPhases(t, sqliteInspect(t, db, "implied"), "detach users", "guard users")
	if err := sqliteInspect(t, db, "mixed").Err(); err != nil {
		t.Errorf("a key of text and integer: %v", err)
	}
	// Of a key of two integers, it is not known which is the ID.
	wantPhases(t, sqliteInspect(t, db, "members"))
	migratetest.Run(t, db, "CREATE TABLE docs (user_id INTEGER REFERENCES users, id INTEGER, PRIMARY KEY (user_id, id))")
	docs := sqliteInspect(t, db, "docs")
	wantPhases(t, docs)
	if len(docs.Notes) != 1 || !strings.Contains(docs.Notes[0], "Table docs has a key of 2 columns") {
		t.Errorf("notes %q, want one on the key of docs", docs.Notes)
	}
	migratetest.Run(t, db, "DROP TRIGGER tr_log") // the trigger inserts rows without a key
	first := sqliteInspect(t, db, "users", "orders", "log").String()
	for range 20 {
		if got := sqliteInspect(t, db, "users", "orders", "log").String(); got != first {
			t.Fatalf("plan:\n%s\nand of the same schema:\n%s", first, got)
		}
	}
}

// A temporary table hides the table of the same name from its own connection. The move
// must change the permanent table all the same.
func TestSQLiteHidden(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		err := db.Connection(func(conn *gorm.DB) error {
			migratetest.Run(t, conn, "CREATE TEMP TABLE users (other INTEGER)")
			plan := sqliteInspect(t, conn, "users")
			wantPhases(t, plan, "detach users", "guard users")
			if err := plan.Apply(t.Context(), conn); err != nil {
				return err
			}
			wantPhases(t, sqliteInspect(t, conn, "users"))
			return errors.Join(plan.Revert(t.Context(), conn), conn.Exec("DROP TABLE temp.users").Error)
		})
		if err != nil {
			t.Fatal(err)
		}
		wantSameDump(t, "after up and down", sqliteDump(t, db), before)
	})
}

// A request for a table or column that does not exist, or that cannot be moved, is an
// error that names it.
func TestSQLiteRequests(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	migratetest.Run(t, db, migratetest.SQLiteShop...)
	for _, test := range []struct {
		name    string
		targets []any
		want    string
	}{
		{"absent", []any{"nothing"}, "sqlmigrate: there is no table nothing: want one that exists, and not a view"},
		{"view", []any{"v_users"}, "sqlmigrate: there is no table v_users"},
		{"other database", []any{"temp.users"}, "sqlmigrate: table temp.users is not in the database main"},
		{"SQLite's own", []any{"sqlite_sequence"}, "sqlmigrate: table sqlite_sequence is SQLite's own"},
		{"reference's table", []any{"users", sqlmigrate.WithReference("nothing.user_id", "users.id")}, "sqlmigrate: WithReference: table nothing cannot be read"},
		{"reference's column", []any{"users", sqlmigrate.WithReference("orders.user", "users.id")}, `sqlmigrate: WithReference: table orders has no column user, but ["id" "user_id"]`},
		{"reference's key", []any{"users", sqlmigrate.WithReference("orders.user_id", "users.key")}, "sqlmigrate: WithReference: table users has no column key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := migratetest.Inspect(t.Context(), db, test.targets...)
			migratetest.WantError(t, err, test.want)
		})
	}
}

// A plan must name what makes a move impossible. Apply and WriteFiles then return the
// same error, and change nothing.
func TestSQLiteBlockers(t *testing.T) {
	t.Parallel()
	ids := snowflake.TwitterLayout()
	large := ids.Max(time.Now().Add(time.Hour)).Int64()
	for _, test := range []struct {
		name  string
		setup []string
		want  string
	}{
		{"no key", []string{"CREATE TABLE t (n INT)"}, "sqlmigrate: table t: blocked by primary key: the table has none"},
		{"text", []string{"CREATE TABLE t (id TEXT PRIMARY KEY)"}, `sqlmigrate: table t: blocked by column id of table t: its type is "TEXT", which is not an integer's`},
		{"null key", []string{"CREATE TABLE t (id BIGINT PRIMARY KEY)", "INSERT INTO t VALUES (NULL), (5)"}, "1 row has a key that is NULL or no integer: give them keys"},
		{"null in descending", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY DESC)", "INSERT INTO t VALUES (NULL)"}, "1 row has a key that is NULL or no integer"},
		{"text in bigint", []string{"CREATE TABLE t (id BIGINT PRIMARY KEY)", "INSERT INTO t VALUES ('a'), (NULL)"}, "2 rows have a key that is NULL or no integer"},
		{"large key", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", fmt.Sprintf("INSERT INTO t VALUES (%d)", large)}, fmt.Sprintf("it holds key %d, which is more than a minute ahead of this machine's clock", large)},
		{"virtual", []string{"CREATE VIRTUAL TABLE t USING rtree(id, a, b)"}, "blocked by virtual table t"},
		{"guard's name", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER t_Snowflake_Guard BEFORE DELETE ON t BEGIN SELECT 1; END"}, "blocked by trigger t_Snowflake_Guard: it has the name of the guard and another text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) {
				if err := db.Exec(test.setup[0]).Error; err != nil && strings.Contains(err.Error(), "no such module") {
					t.Skip(err) // the driver was built without virtual tables of this kind
				}
				migratetest.Run(t, db, test.setup[1:]...)
				before := sqliteDump(t, db)
				plan := sqliteInspect(t, db, "t")
				migratetest.WantError(t, plan.Err(), test.want)
				migratetest.WantError(t, plan.Apply(t.Context(), db), test.want)
				migratetest.WantError(t, plan.WriteFiles(t.TempDir(), sqlmigrate.Goose), test.want)
				wantSameDump(t, "after a refusal", sqliteDump(t, db), before)
			})
		})
	}
}

// The notes of a plan warn of a key that takes more space, of rows without a key, and of
// AutoMigrate. They do not mention a table that no warning concerns. Omitted lists a table
// whose keys are not all positive.
func TestSQLiteNotes(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	migratetest.Run(t, db, migratetest.SQLiteShop...)
	migratetest.Run(t, db, "CREATE TABLE wide (id BIGINT PRIMARY KEY)", "INSERT INTO wide VALUES (-3)",
		"CREATE TABLE slim (id BIGINT PRIMARY KEY) WITHOUT ROWID")
	plan := sqliteInspect(t, db, "wide", "log", "slim", "users")
	got := strings.Join(plan.Notes, "\n")
	for _, want := range []string{
		"Column id of table wide is BIGINT and not INTEGER",
		"SQLite still assigns a key that is omitted",
		"Do not let GORM's AutoMigrate add a constraint to users while",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("notes:\n%s\nwant them to say %s", got, want)
		}
	}
	omitted := []sqlmigrate.Omission{{Phase: sqlmigrate.Guard, Blocker: sqlmigrate.Blocker{
		Table: sqlmigrate.TableName{Name: "wide"}, Object: "column id of table wide", Reason: "it holds key -3, which is not positive: the trigger checks new rows only",
		Fix: "give the row another key, and apply phase guard again",
	}}}
	if !slices.Equal(plan.Omitted, omitted) {
		t.Errorf("left out %+v, want %+v", plan.Omitted, omitted)
	}
	if strings.Contains(got, "slim") {
		t.Errorf("notes on a table that needs none:\n%s", got)
	}
}

// A table whose name and key have an unusual name is moved and moved back. Some of the names
// contain characters that the statements of a plan use as quotes, placeholders or marks.
func TestSQLiteOddNames(t *testing.T) {
	t.Parallel()
	for i, name := range []string{
		"order", "Say \"hi\"", "it's", "two words", "back`tick", "[brackets]", "Ünï", "a.b", "a--b", "/*c*/", "semi;colon", "per%cent %s %d",
		strings.Repeat("x", 64), "AUTOINCREMENT", "id AUTOINCREMENT", "<0>", "$1 ? :a",
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) { // the name itself is no valid name of a directory
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) { testSQLiteOddName(t, db, name) })
		})
	}
}

// testSQLiteOddName moves a table with this name, and moves it back.
func testSQLiteOddName(t *testing.T, db *gorm.DB, name string) {
	t.Helper()
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLE %s (%s INTEGER\nPRIMARY KEY AUTOINCREMENT\r\n, up INTEGER REFERENCES %s ON DELETE CASCADE)", quoted, quoted, quoted),
		fmt.Sprintf("INSERT INTO %s VALUES (1, NULL), (2, 1)", quoted),
	} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	before := sqliteDump(t, db)
	plan := sqliteInspect(t, db, quoted)
	wantPhases(t, plan, "detach "+name, "guard "+name)
	sqliteApply(t, db, plan)
	if _, err := pool.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (up) VALUES (1)", quoted)); err == nil {
		t.Errorf("%s: the guard lets a row without a key in", name)
	}
	wantPhases(t, sqliteInspect(t, db, quoted))
	if err := plan.Revert(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	wantSameDump(t, name+" after up and down", sqliteDump(t, db), before)
}

// A broken statement is inserted after each statement of a phase in turn. Apply must fail,
// and the schema must be as before. Afterwards the plan without the broken statement
// completes the move.
func TestSQLiteFailures(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, "users", "orders")
		for p := range plan.Phases {
			for s := range plan.Phases[p].Steps {
				step := &plan.Phases[p].Steps[s]
				for i := range step.Up {
					up := step.Up
					step.Up = slices.Insert(slices.Clone(up), i+1, sqlmigrate.Statement{SQL: "SELECT broken"})
					err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(plan.Phases[p].Name), sqlmigrate.WithLockTimeout(time.Second))
					migratetest.WantError(t, err, "SELECT broken", "no such column: broken", "(nothing of this phase has been changed)")
					step.Up = up
					healthy(t, db)
					wantSameDump(t, fmt.Sprintf("after a failure in %s behind %s", plan.Phases[p].Name, up[i].SQL), sqliteDump(t, db), before)
				}
			}
		}
		sqliteApply(t, db, plan)
		wantPhases(t, sqliteInspect(t, db, "users", "orders"))
	})
}

// The statements of a script may run without a transaction. If such a run stops after any
// of the statements, the script can be run again from its beginning, up and down.
func TestSQLiteScriptAgain(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, "users", "orders")
		up, down := sqliteStatementsOf(plan)
		err := db.Connection(func(conn *gorm.DB) error {
			for i := range up {
				migratetest.Run(t, conn, up[:i+1]...)
			}
			migratetest.Run(t, conn, up...)
			for i := range down {
				migratetest.Run(t, conn, down[:i+1]...)
			}
			migratetest.Run(t, conn, down...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		healthy(t, db)
		wantSameDump(t, "after scripts that stopped everywhere", sqliteDump(t, db), before)
	})
}

// sqliteStatementsOf returns the statements of a plan in both directions, in order.
func sqliteStatementsOf(plan *sqlmigrate.Plan) (up, down []string) {
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			for _, s := range step.Up {
				up = append(up, s.SQL)
			}
		}
	}
	for _, phase := range slices.Backward(plan.Phases) {
		for _, s := range phase.Check {
			down = append(down, s.SQL)
		}
		for _, step := range slices.Backward(phase.Steps) {
			for _, s := range step.Down {
				down = append(down, s.SQL)
			}
		}
	}
	return up, down
}

// Phase detach replaces the whole SQL text of a table. If somebody has added a column
// after the inspection, Apply and Revert must refuse, because they would lose the column.
func TestSQLiteChangedSince(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		plan := sqliteInspect(t, db, "users", "orders")
		migratetest.Run(t, db, "ALTER TABLE users ADD COLUMN more TEXT")
		before := sqliteDump(t, db)
		const want = "table users has changed since it was inspected: inspect it again"
		migratetest.WantError(t, plan.Apply(t.Context(), db), "phase detach, table users", want)
		migratetest.WantError(t, plan.Revert(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Detach)), want)
		wantSameDump(t, "after a refusal", sqliteDump(t, db), before)
	})
}

// Revert refuses while there is a Snowflake ID, because AUTOINCREMENT would continue
// after it. A key that is larger than all others, but smaller than Snowflake IDs, is no
// reason to refuse.
func TestSQLiteRevertRefuses(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		plan := sqliteInspect(t, db, "users")
		sqliteApply(t, db, plan)
		migratetest.Run(t, db, fmt.Sprintf("INSERT INTO users (id, name) VALUES (%d, 'last')", snowflake.TwitterLayout().Min(time.Now().Add(time.Second))))
		before := sqliteDump(t, db)
		migratetest.WantError(t, plan.Revert(t.Context(), db), "table users has Snowflake IDs, from which AUTOINCREMENT would continue")
		wantSameDump(t, "after a refusal", sqliteDump(t, db), before)
		migratetest.Run(t, db, "UPDATE users SET id = 361439850948198 WHERE name = 'last'")
		if err := plan.Revert(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		migratetest.Run(t, db, "INSERT INTO users (name) VALUES ('next')")
		if got := fmt.Sprint(sqliteRows(t, db, "SELECT max(id) FROM users")); got != "[[361439850948199]]" {
			t.Errorf("the next automatic key is %s", got)
		}
	})
}

// Another writer holds the lock for longer than the plan waits. Apply must return an error
// within three seconds, and Inspect must not need the lock. The plan can be applied after the
// writer has ended.
func TestSQLiteLockTimeout(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		plan := sqliteInspect(t, db, "users")
		tx := db.Begin()
		defer tx.Rollback()
		migratetest.Run(t, tx, "INSERT INTO log (what) VALUES ('lock')")
		start := time.Now()
		err := plan.Apply(t.Context(), db, sqlmigrate.WithLockTimeout(10*time.Millisecond), sqlmigrate.WithRetryFor(0))
		migratetest.WantError(t, err, "take the writer lock", "locked")
		if took := stall.Took(start); took > 3*time.Second {
			t.Errorf("it waited for %v", took)
		}
		sqliteInspect(t, db, "users") // must not need the lock
		tx.Rollback()
		healthy(t, db)
		sqliteApply(t, db, plan)
	})
}

// If the context ends before one of the first ten statements, Apply undoes all
// statements, and a later Apply succeeds.
func TestSQLiteCancelled(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, "users", "orders")
		for at := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			err := plan.Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
				if p.Done == at {
					cancel()
				}
			}))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled before statement %d: %v", at+1, err)
			}
			healthy(t, db)
			wantSameDump(t, "after it was cancelled", sqliteDump(t, db), before)
		}
		sqliteApply(t, db, plan)
	})
}

// A plan can be made on a connection that may only read. Apply then returns the error of
// SQLite.
func TestSQLiteReadOnly(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, migratetest.SQLiteShop...)
		before := sqliteDump(t, db)
		err := db.Connection(func(conn *gorm.DB) error {
			migratetest.Run(t, conn, "PRAGMA query_only = ON")
			defer migratetest.Run(t, conn, "PRAGMA query_only = OFF")
			return sqliteInspect(t, conn, "users").Apply(t.Context(), conn)
		})
		migratetest.WantError(t, err, "attempt to write a readonly database")
		healthy(t, db)
		wantSameDump(t, "after a refusal", sqliteDump(t, db), before)
	})
}

// These models refer to each other by every kind of association.
type (
	liteAuthor struct {
		ID    int64      `gorm:"primaryKey"`
		Books []liteBook `gorm:"foreignKey:AuthorID"`
		Tags  []liteTag  `gorm:"many2many:lite_author_tags"`
		Notes []liteNote `gorm:"polymorphic:Owner"`
	}
	liteBook struct{ ID, AuthorID int64 }
	liteTag  struct{ ID int64 }
	liteNote struct {
		ID, OwnerID int64
		OwnerType   string
	}
)

// A plan follows references that exist only in the models, because the database has no
// foreign keys. It leaves out a reference of a table that does not exist, with a note.
func TestSQLiteModels(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		db.Config.DisableForeignKeyConstraintWhenMigrating = true
		if err := db.AutoMigrate(&liteAuthor{}, &liteBook{}, &liteNote{}); err != nil {
			t.Fatal(err)
		}
		migratetest.Run(t, db, "DROP TABLE lite_tags")
		plan := sqliteInspect(t, db, &liteAuthor{})
		var got []string
		for _, table := range plan.Tables {
			for _, c := range table.Columns {
				got = append(got, table.Name+"."+c.String())
			}
		}
		want := []string{
			"lite_author_tags.lite_author_id INTEGER, key, refers to lite_authors.id",
			"lite_authors.id INTEGER, key, autoincrement",
			"lite_books.author_id INTEGER, refers to lite_authors.id",
			"lite_notes.owner_id INTEGER, refers to lite_authors.id",
		}
		if !slices.Equal(got, want) {
			t.Errorf("columns\n%q, want\n%q", got, want)
		}
		wantPhases(t, plan, "detach lite_authors", "guard lite_authors")
		if notes := strings.Join(plan.Notes, "\n"); !strings.Contains(notes, "A model's reference is left out: table lite_tags cannot be read") {
			t.Errorf("notes:\n%s\nwant one on lite_tags", notes)
		}
	})
}
