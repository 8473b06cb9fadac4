package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A hostile table has a documented feature that may make it reject a large key.
type hostile struct {
	name   string
	only   testdb.Target // the server that has the feature; empty: both
	make   []string
	insert string // inserts a row with key %[1]d
	want   string // part of the blocker; empty: t is moved and accepts the row
	child  bool   // the plan moves table u, to which t.id and t.r refer
	note   string // part of the note about what was not tried
}

// hostileInsert is the insert of a table that does not need another one.
const hostileInsert = "INSERT INTO t (id, r) VALUES (%[1]d, %[1]d)"

// hostileTables returns the tables of TestMySQLHostileTables. Some have a feature that
// rejects large keys, and some have it in a form that accepts them.
func hostileTables() []hostile {
	// columns begins the definition of a table whose key the database does not assign, and
	// assigned begins that of a table whose key the database assigns.
	const columns, assigned = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, r int, ", "CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r int, "
	return []hostile{
		{name: "check of the key", make: []string{columns + "CONSTRAINT small CHECK (id < 1000000))"}, want: "small"},
		{name: "check of a reference", make: []string{columns + "CONSTRAINT small CHECK (r < 100000))"}, want: "small"},
		{name: "check with another column", make: []string{columns + "s varchar(9) NOT NULL, CONSTRAINT small CHECK (id < 1000000 OR s = 'x'))"}, want: "small"},
		{name: "check of two columns", make: []string{columns + "CONSTRAINT older CHECK (r < id))"}, insert: "INSERT INTO t (id, r) VALUES (%[1]d, 1)"},
		{name: "check that two differ", make: []string{columns + "CONSTRAINT other CHECK (r <> id))"}, insert: "INSERT INTO t (id, r) VALUES (%[1]d, 1)"},
		{name: "exclusive arc", make: []string{assigned + "o int, CONSTRAINT arc CHECK ((r IS NULL) <> (o IS NULL)))"}},
		{name: "checks of other columns", make: []string{assigned + "s varchar(9) NOT NULL DEFAULT 'x' CHECK (s IN ('x', 'y')), n int NOT NULL CHECK (n > 100))"}, insert: "INSERT INTO t (id, r, n) VALUES (%[1]d, %[1]d, 101)"},
		{name: "check that is not enforced", only: testdb.MySQL, make: []string{columns + "CONSTRAINT small CHECK (id < 100) NOT ENFORCED)"}},
		{name: "narrow generated column", make: []string{columns + "g varchar(10) AS (concat('x', id)) STORED)"}, want: "Data too long for column 'g'"},
		{name: "generated column of a reference", make: []string{columns + "s varchar(9) NOT NULL, g varchar(20) AS (concat(s, '-----', r)) STORED)"}, want: "Data too long for column 'g'"},
		{name: "virtual generated column with an index", make: []string{columns + "g int AS (id + 1) VIRTUAL, KEY (g))"}, want: "Out of range value for column 'g'"},
		{name: "generated column that overflows", make: []string{columns + "g bigint AS (id * 1000) STORED)"}, want: "out of range"},
		{name: "wide generated column", make: []string{columns + "g varchar(30) AS (concat('x', id)) STORED)"}},
		{name: "functional index", only: testdb.MySQL, make: []string{columns + "KEY f ((cast(r as char(8)))))"}, want: "functional index 'f'"},
		{name: "functional index after a column", only: testdb.MySQL, make: []string{columns + "n int, UNIQUE KEY f (n, (cast(id as char(8)))))"}, want: "functional index 'f'"},
		{name: "wide functional index", only: testdb.MySQL, make: []string{columns + "KEY f ((r + 0)))"}},
		{name: "range partitions", make: []string{columns + "n int) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN (2147483647))"}, want: "no partition for value"},
		{name: "range partitions with a check", make: []string{columns + "CONSTRAINT c CHECK (r > 0)) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100))"}, want: "no partition for value"},
		{name: "range partitions with a last one", make: []string{assigned + "n int) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION z VALUES LESS THAN MAXVALUE)"}},
		{name: "subpartitions", make: []string{columns + "n int) PARTITION BY RANGE (id DIV 10) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION a VALUES LESS THAN (100))"}, want: "no partition for value"},
		{name: "range columns partitions", make: []string{"CREATE TABLE t (id int, r int, d int, PRIMARY KEY (id, d)) PARTITION BY RANGE COLUMNS (id, d) (PARTITION a VALUES LESS THAN (100, 100))", "CREATE TABLE u (id int PRIMARY KEY)"}, child: true, want: "no partition for value"},
		{name: "list partitions", make: []string{columns + "n int) PARTITION BY LIST (id) (PARTITION a VALUES IN (1, 2))"}, want: "no partition for value"},
		{name: "hash partitions", make: []string{assigned + "n int) PARTITION BY HASH (id) PARTITIONS 3"}},
		{name: "index that becomes too wide", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r int, s varchar(767), KEY w (r, s)) DEFAULT CHARSET=utf8mb4"}, want: "key was too long"},
		{name: "wide index", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r int, s varchar(760), KEY w (r, s)) DEFAULT CHARSET=utf8mb4"}},
		{name: "archive", only: testdb.MySQL, make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r int) ENGINE=ARCHIVE"}, want: "Error 1"},
		{name: "float reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r double)"}, want: "it reads back as"},
		{name: "decimal reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r decimal(10,0))"}, want: "Out of range value for column 'r'"},
		{name: "wide decimal reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r decimal(19,0))"}},
		{name: "text reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r varchar(12))"}, want: "Data too long for column 'r'"},
		{name: "date reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r date)"}, want: "Incorrect date value"},
		{name: "enum reference", make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, r enum('a', 'b'))"}, want: "Data truncated for column 'r'"},
		{name: "view that casts", make: []string{columns + "n int)", "CREATE VIEW v AS SELECT CAST(id AS CHAR(8)) AS c FROM t"}, want: "Truncated incorrect CHAR(8) value"},
		{name: "view that casts, to be dropped", make: []string{columns + "n int)", "CREATE VIEW v AS SELECT CAST(id AS CHAR(8)) AS c FROM t"}, want: "DROP VIEW `v`; it was made by: CREATE "},
		{name: "view that overflows", make: []string{columns + "n int)", "CREATE VIEW v AS SELECT id * 1000 AS c FROM t"}, want: "out of range"},
		{name: "view over a view", make: []string{columns + "n int)", "CREATE VIEW w AS SELECT id AS x FROM t", "CREATE VIEW v AS SELECT CONVERT(x, DECIMAL(9,0)) AS c FROM w AS a"}, want: "Out of range"},
		{name: "view of a join", make: []string{columns + "n int)", "CREATE TABLE names (t_id int PRIMARY KEY, name text)", "CREATE VIEW v AS SELECT id, r, name FROM t LEFT JOIN names ON t_id = t.id"}, note: "view v"},
		{name: "wide view", make: []string{columns + "n int)", "CREATE VIEW v AS SELECT CAST(id AS CHAR(20)) AS c, MAX(r) AS r FROM t WHERE n IS NULL GROUP BY id"}},
		{name: "invisible key", only: testdb.MariaDB, make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, r int)"}, want: "Invisible column `id` must have a default value"},
		{name: "invisible key of MySQL", only: testdb.MySQL, make: []string{"CREATE TABLE t (id int NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, r int INVISIBLE, n int)"}},
		{name: "sequence", only: testdb.MariaDB, make: []string{"CREATE SEQUENCE s", "CREATE TABLE t (id int NOT NULL DEFAULT nextval(s) PRIMARY KEY, r int, n int NOT NULL DEFAULT nextval(s))"}},
		{name: "application-time period", only: testdb.MariaDB, make: []string{columns + "a date, b date, PERIOD FOR p (a, b), UNIQUE (r, p WITHOUT OVERLAPS))"}, insert: "INSERT INTO t (id, r, a, b) VALUES (%[1]d, %[1]d, '2020-01-01', '2020-02-02')"},
		{name: "types of all kinds", make: []string{assigned + "a bit(3) NOT NULL, b geometry NOT NULL, c json NOT NULL, d year NOT NULL, e set('a') NOT NULL, f timestamp NOT NULL, g binary(3) NOT NULL, h blob NOT NULL, SPATIAL KEY (b), FULLTEXT KEY (i), i text)"}, insert: "INSERT INTO t VALUES (%[1]d, %[1]d, 1, POINT(1, 1), '{}', 2020, 'a', NOW(), 'g', 'h', 'i')"},
		{name: "compressed", make: []string{assigned + "n int) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"}},
		{name: "key of several columns", make: []string{"CREATE TABLE t (at date, name char(3), id int NOT NULL AUTO_INCREMENT, r int, e enum('a'), PRIMARY KEY (at, name, id, e), KEY (id))"}, insert: "INSERT INTO t VALUES ('2020-02-02', 'x', %[1]d, %[1]d, 'a')"},
		{name: "no key", make: []string{"CREATE TABLE u (id int PRIMARY KEY)", "CREATE TABLE t (id int, r int, CONSTRAINT small CHECK (r < 100))"}, child: true, want: "small"},
	}
}

// open creates the tables of h. It skips the test on a server that lacks the feature.
func (h hostile) open(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	if h.only != "" && h.only != on {
		t.Skipf("only %s has it", h.only)
	}
	return migratetest.MySQLOpen(t, on, h.make...)
}

// targets returns the arguments of Inspect.
func (h hostile) targets() []any {
	if h.child {
		return []any{"u", sqlmigrate.WithReference("t.id", "u.id"), sqlmigrate.WithReference("t.r", "u.id")}
	}
	return []any{"t", sqlmigrate.WithReference("t.r", "t.id")}
}

// If a plan accepts a table, the table must accept a Snowflake ID afterwards, and all
// views must be readable.
func TestMySQLHostileTables(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		mutant := &migratetest.Mutant{Engine: mysql.Engine{}} // counts the tables that are refused only because of the trial
		t.Cleanup(func() { mutant.Want(t) })
		for _, h := range hostileTables() {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				db := h.open(t, on)
				before := migratetest.MySQLSchema(t, db)
				moves := migratetest.MustInspect(t, db, h.targets()...)
				migratetest.MySQLSame(t, "schema after the trial", migratetest.MySQLSchema(t, db), before)
				if notes := strings.Join(moves.Notes, "\n"); strings.Contains(notes, "No key was tried") != (h.note != "") || !strings.Contains(notes, h.note) {
					t.Errorf("notes = %s, want one with %q", notes, h.note)
				}
				if h.want != "" {
					if !h.child {
						mutant.Plan(t, db)
					}
					if err := moves.Err(); err == nil || !strings.Contains(err.Error(), h.want) {
						t.Fatalf("blockers: %v, want one with %q", err, h.want)
					}
					return
				}
				if err := moves.Err(); err != nil {
					t.Fatal(err)
				}
				mysqlApply(t, db, moves)
				insert := h.insert
				if insert == "" {
					insert = hostileInsert
				}
				migratetest.MySQLExec(t, db, fmt.Sprintf(insert, mysqlID))
				for name := range before {
					migratetest.MySQLRows(t, db, "SELECT * FROM "+name)
				}
			})
		}
	})
}

// With sql_generate_invisible_primary_key, MySQL adds a key that no program knows, so the
// plan must refuse the table like a table without a key. With sql_require_primary_key,
// MySQL rejects changes of a table without a key, so the plan must have a blocker for a
// table that it would change.
func TestMySQLTablesWithoutKey(t *testing.T) {
	t.Parallel()
	// with returns a session with the parameters in a database with table u, table made,
	// whose key MySQL has generated, and the tables of statements.
	with := func(t *testing.T, params map[string]string, statements ...string) *gorm.DB {
		t.Helper()
		db := migratetest.MySQLOpen(t, testdb.MySQL, "CREATE TABLE u (id int PRIMARY KEY)")
		migratetest.MySQLExec(t, migratetest.MySQLWith(t, db, func(c *driver.Config) { c.Params = map[string]string{"sql_generate_invisible_primary_key": "ON"} }), "CREATE TABLE made (r int)")
		migratetest.MySQLExec(t, db, statements...)
		return migratetest.MySQLWith(t, db, func(c *driver.Config) { c.Params = params })
	}
	tests := []struct {
		name    string
		params  map[string]string
		targets []any
		want    string // part of the blocker; empty: the plan can be applied
	}{
		{"generated invisible key", nil, []any{"made"}, "no primary key"},
		{"generated invisible key that is hidden", map[string]string{"show_gipk_in_create_table_and_information_schema": "OFF"}, []any{"made"}, "no primary key"},
		{"reference with a generated invisible key", nil, []any{"u", sqlmigrate.WithReference("made.r", "u.id")}, ""},
		{"sql_require_primary_key", map[string]string{"sql_require_primary_key": "ON"}, []any{"u", sqlmigrate.WithReference("none.r", "u.id")}, "Error 3750"},
		{"sql_require_primary_key, not changed", map[string]string{"sql_require_primary_key": "ON"}, []any{"u", sqlmigrate.WithReference("wide.r", "u.id")}, ""},
		{"sql_require_primary_key with keys", map[string]string{"sql_require_primary_key": "ON"}, []any{"u"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := with(t, test.params, "CREATE TABLE none (r int)", "CREATE TABLE wide (r bigint)")
			moves := migratetest.MustInspect(t, db, test.targets...)
			if err := moves.Err(); (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("blockers: %v, want one with %q", err, test.want)
			}
			if test.want == "" {
				mysqlApply(t, db, moves)
				migratetest.MySQLExec(t, db, fmt.Sprintf("INSERT INTO u VALUES (%d)", mysqlID), fmt.Sprintf("INSERT INTO made (r) VALUES (%d)", mysqlID>>40)) // r may still be an int
			}
		})
	}
}

// The trial of keys in copies does not change the database, does not wait for the locks
// of other sessions, fires no trigger and does not advance a sequence.
func TestMySQLTrialChangesNothing(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE fired (id bigint)",
			"CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int) PARTITION BY RANGE (id) (PARTITION z VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE c (t_id int NOT NULL, n int NOT NULL DEFAULT 1)", "INSERT INTO c VALUES (1, 1)", "CREATE VIEW v AS SELECT t_id + n AS x FROM c",
			"CREATE TRIGGER f BEFORE INSERT ON c FOR EACH ROW INSERT INTO fired VALUES (NEW.t_id)")
		if on == testdb.MariaDB {
			migratetest.MySQLExec(t, db, "CREATE SEQUENCE s", "ALTER TABLE c MODIFY n int NOT NULL DEFAULT nextval(s)")
		}
		writer := db.Begin() // its locks must not block the trial
		defer writer.Rollback()
		if err := writer.Exec("UPDATE c SET n = 2").Error; err != nil {
			t.Fatal(err)
		}
		schema := migratetest.MySQLSchema(t, db)
		if moves := migratetest.MySQLInspect(t, db, "t", sqlmigrate.WithReference("c.t_id", "t.id")); len(moves.Notes) != 1 {
			t.Errorf("notes = %q, want one on partitions", moves.Notes)
		}
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
		if n := migratetest.MySQLRow(t, db, "SELECT COUNT(*) FROM fired")[0]; n != "0" {
			t.Errorf("a trigger was fired %s times", n)
		}
		if on == testdb.MariaDB {
			if n := migratetest.MySQLRow(t, db, "SELECT nextval(s)")[0]; n != "1" {
				t.Errorf("the sequence is at %s, want 1", n)
			}
		}
	})
}

// A user without the right to create copies can still make a plan. One note says that no
// key was tried.
func TestMySQLTrialWithoutRights(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE c (id int PRIMARY KEY)")
		limited := mysqlAs(t, db, mysqlReader(t, db))
		moves, err := migratetest.Inspect(t.Context(), limited, "t", "c")
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(moves.Notes, "\n")
		if moves.Err() != nil || strings.Count(notes, "No key was tried") != 1 || !strings.Contains(notes, "Error 1044") {
			t.Errorf("blockers %v, notes %q, want one that no key was tried", moves.Err(), moves.Notes)
		}
	})
}

// A trigger that assigns keys would still assign keys after phase detach. The trial reports
// the trigger, with the statement that drops it and the statement that restores it. The
// trial does not report triggers that only read the key.
func TestMySQLTriggersThatAssign(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       bool // whether the trial reports the trigger
	}{
		{"set", "SET NEW.id = 5", true},
		{"set after another", "SET NEW.n = 1, NEW.`id` = 5", true},
		{"set if there is none", "BEGIN IF NEW.id IS NULL OR NEW.id = 0 THEN SET NEW.id = (SELECT MAX(n) FROM k); END IF; END", true},
		{"another column", "SET NEW.n = NEW.id", false},
		{"comparison", "BEGIN IF NEW.id = 5 THEN SET NEW.n = 1; END IF; END", false},
		{"comparison after into", "BEGIN DECLARE x int; SELECT COUNT(*) INTO x FROM k WHERE n = NEW.id; END", false},
		{"insert", "INSERT INTO k (n) VALUES (NEW.id)", false},
		{"text", "SET NEW.n = length('SET NEW.id = 5')", false},
	}
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLOpen(t, on, "CREATE TABLE t (id bigint PRIMARY KEY, n int)", "CREATE TABLE k (n bigint)", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW "+test.body)
				conn, err := migratetest.MySQLPool(t, db).Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				found, err := mysql.Engine{}.Try(t.Context(), conn, engine.Trial{
					Tables: []plan.Table{{Name: "t", Columns: []plan.Column{{Name: "id", Type: "bigint", Key: true}}}}, Moved: true, Small: 1, Today: 1 << 60, Last: 1 << 62,
				})
				if err != nil || len(found.Blockers)+len(found.Notes) > 0 {
					t.Fatalf("%v, %+v", err, found)
				}
				if (len(found.Omitted) == 1) != test.want {
					t.Fatalf("omitted %+v, want one: %v", found.Omitted, test.want)
				}
				if !test.want {
					return
				}
				_, statements, _ := strings.Cut(found.Omitted[0].Fix, ": ")
				drop, restore, _ := strings.Cut(statements, "; it was made by: ")
				before := migratetest.MySQLSchema(t, db)
				migratetest.MySQLExec(t, db, drop)
				if migratetest.MySQLTry(t, db, "INSERT INTO t (n) VALUES (1)") == nil {
					t.Error("without the trigger, the database still assigns keys")
				}
				migratetest.MySQLExec(t, db, restore)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
			})
		}
	})
}
