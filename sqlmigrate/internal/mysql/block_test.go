package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A plan must name the object that makes a move impossible. Apply must then refuse before
// it changes anything, even table fine, which could be moved alone.
func TestMySQLBlockers(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		tests := []struct {
			name    string
			only    testdb.Target // the server that has the object; empty: both
			make    []string
			targets []any
			want    string // the object of the blocker
			reason  string // part of the reason of the blocker
		}{
			{name: "no key", make: []string{"CREATE TABLE t (id int)"}, targets: []any{"t"}, want: "table t", reason: "no primary key"},
			{name: "text key", make: []string{"CREATE TABLE t (id varchar(36) PRIMARY KEY)"}, targets: []any{"t"}, want: "column id", reason: "varchar(36)"},
			{name: "decimal key", make: []string{"CREATE TABLE t (id decimal(10,0) PRIMARY KEY)"}, targets: []any{"t"}, want: "column id", reason: "decimal(10,0)"},
			{
				name:    "key above the generator's",
				make:    []string{"CREATE TABLE t (id bigint AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO t VALUES (9223372036854775807)"},
				targets: []any{"t"},
				want:    "column id", reason: "key 9223372036854775807, which is more than a minute ahead",
			},
			{
				name:    "unsigned key above all",
				make:    []string{"CREATE TABLE t (id bigint unsigned AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO t VALUES (18446744073709551614)"},
				targets: []any{"t"},
				want:    "column id", reason: "key 18446744073709551614, which is more than a minute ahead",
			},
			{
				name:    "generated reference",
				make:    []string{"CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE c (a int, t_id int AS (a + 1) STORED)"},
				targets: []any{"t", sqlmigrate.WithReference("c.t_id", "t.id")},
				want:    "generated column t_id", reason: "computes",
			},
			{
				name: "trigger with a narrow variable",
				make: []string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)",
					"CREATE TRIGGER narrow AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE x, y INT; SET x = NEW.id; END",
				},
				targets: []any{"t"},
				want:    "trigger narrow", reason: "it has x int, which may take a key: it fails with error 1264",
			},
			{
				name: "trigger that selects a key",
				make: []string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)",
					"CREATE TRIGGER narrow AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE n INT DEFAULT 0; DECLARE x INT; IF n = 0 THEN SELECT COALESCE(MAX(id), 1) FROM t INTO x; END IF; END",
				},
				targets: []any{"t"},
				want:    "trigger narrow", reason: "it has x int, which may take a key",
			},
			{
				name: "trigger that selects a key beside another value",
				make: []string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, name varchar(10))",
					"CREATE TRIGGER narrow AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE x INT; DECLARE y VARCHAR(10); SELECT name, id INTO y, x FROM t WHERE id = NEW.id; END",
				},
				targets: []any{"t"},
				want:    "trigger narrow", reason: "it has x int, which may take a key",
			},
			{
				name: "trigger with a key for a default",
				make: []string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)",
					"CREATE TRIGGER narrow AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE x, y MEDIUMINT UNSIGNED DEFAULT COALESCE(NEW.id, 0); END",
				},
				targets: []any{"t"},
				want:    "trigger narrow", reason: "it has x mediumint, y mediumint, which may take a key",
			},
			{name: "system-versioned", only: testdb.MariaDB, make: []string{"CREATE TABLE t (id int PRIMARY KEY) WITH SYSTEM VERSIONING"}, targets: []any{"t"}, want: "table t", reason: "system-versioned"},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				if test.only != "" && test.only != on {
					t.Skipf("only %s has it", test.only)
				}
				db := migratetest.MySQLOpen(t, on, test.make...)
				migratetest.MySQLExec(t, db, "CREATE TABLE fine (id int AUTO_INCREMENT PRIMARY KEY)")
				schema := migratetest.MySQLSchema(t, db)
				plan := migratetest.MustInspect(t, db, append(test.targets, "fine")...)
				if len(plan.Blockers) != 1 || plan.Blockers[0].Object != test.want || !strings.Contains(plan.Blockers[0].Reason, test.reason) {
					t.Errorf("blockers = %+v, want one: %s", plan.Blockers, test.want)
				}
				if err := plan.Apply(t.Context(), db); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Apply: %v, want an error that names %s", err, test.want)
				}
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
			})
		}
	})
}

// These tables resemble those that block a plan, but can be moved and moved back.
func TestMySQLNotBlocked(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		tests := []struct {
			name    string
			make    []string
			targets []any
			note    string // part of a note; empty if there is no note
		}{
			{
				"range partitions with a last one",
				[]string{"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION z VALUES LESS THAN MAXVALUE)"},
				[]any{"t"},
				"go into one partition",
			},
			{
				"list partitions with a default",
				[]string{"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY) PARTITION BY LIST (id) (PARTITION a VALUES IN (1), PARTITION z DEFAULT)"},
				[]any{"t"},
				"go into one partition",
			},
			{
				"partitions by another column",
				[]string{"CREATE TABLE t (id int AUTO_INCREMENT, paid int, PRIMARY KEY (id, paid)) PARTITION BY RANGE (paid) (PARTITION a VALUES LESS THAN (100))"},
				[]any{"t"},
				"",
			},
			{
				"range columns partitions, the key second",
				[]string{"CREATE TABLE t (id int, d int, PRIMARY KEY (id, d)) PARTITION BY RANGE COLUMNS (d, id) (PARTITION a VALUES LESS THAN (100, 100))", "CREATE TABLE k (id int PRIMARY KEY)"},
				[]any{"k", sqlmigrate.WithReference("t.id", "k.id")},
				"",
			},
			{"hash partitions", []string{"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3"}, []any{"t"}, ""},
			{
				"wide generated column",
				[]string{"CREATE TABLE t (id int PRIMARY KEY, next bigint AS (id + 1) STORED)"},
				[]any{"t"},
				"but not 9223372036854775807, the last one of the layout",
			},
			{
				"generated column of another column",
				[]string{"CREATE TABLE t (id int PRIMARY KEY, paid int, next int AS (paid + 1) STORED)"},
				[]any{"t"},
				"",
			},
			{
				"trigger with a wide variable",
				[]string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)",
					"CREATE TRIGGER wide AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE x BIGINT; SET x = NEW.id; END",
				},
				[]any{"t"},
				"",
			},
			{
				"trigger that counts",
				[]string{
					"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, stock int)",
					"CREATE TRIGGER counts AFTER INSERT ON t FOR EACH ROW BEGIN DECLARE n, stocked INT; DECLARE big BIGINT; " +
						"SELECT COUNT(*) INTO n FROM t WHERE id = NEW.id; SELECT id, stock INTO big, stocked FROM t WHERE id = NEW.id; SET n = n + 1, stocked = CAST(NEW.stock AS SIGNED INT); END",
				},
				[]any{"t"},
				"Trigger counts has n int, stocked int, which may take a key",
			},
			{"another engine", []string{"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM"}, []any{"t"}, "engine MyISAM"},
			{
				"text references",
				[]string{"CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE c (a varchar(19), b text)"},
				[]any{"t", sqlmigrate.WithReference("c.a", "t.id"), sqlmigrate.WithReference("c.b", "t.id")},
				"",
			},
			{"bigint unsigned", []string{"CREATE TABLE t (id bigint unsigned AUTO_INCREMENT PRIMARY KEY)"}, []any{"t"}, "bigint unsigned, which holds every ID: t.id."},
			{"guarded by its owner", []string{"CREATE TABLE t (id int PRIMARY KEY, CONSTRAINT mine CHECK (id > 0))"}, []any{"t"}, ""},
			{"name of the guard is taken", []string{"CREATE TABLE t (id int PRIMARY KEY, CONSTRAINT chk_t_id CHECK (id <> 99))"}, []any{"t"}, ""},
			{
				"composite key",
				[]string{"CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))"},
				[]any{"t"},
				"a key of 2 columns",
			},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := mysqlOpenOrSkip(t, on, test.make...)
				schema := migratetest.MySQLSchema(t, db)
				plan := migratetest.MySQLInspect(t, db, test.targets...)
				switch notes := strings.Join(plan.Notes, "\n"); {
				case test.note == "" && notes != "":
					t.Errorf("notes = %s, want none", notes)
				case !strings.Contains(notes, test.note):
					t.Errorf("notes = %s, want one with %q", notes, test.note)
				}
				mysqlApply(t, db, plan)
				if again := migratetest.MySQLInspect(t, db, test.targets...); !again.Empty() {
					t.Errorf("a second plan is not empty:\n%s", again)
				}
				if !plan.Empty() {
					mysqlRevert(t, db, plan)
				}
				migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
			})
		}
	})
}

// Narrow unsigned columns become bigint, which is the type of types.ID, unless they are
// connected with a key that is bigint unsigned already and stays so.
func TestMySQLUnsigned(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on,
			"CREATE TABLE narrow (id int unsigned AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE of_narrow (narrow_id int unsigned, plain_id bigint)",
			"CREATE TABLE wide (id bigint unsigned AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE of_wide (wide_id int unsigned, signed_id int)")
		mysqlApply(t, db, migratetest.MySQLInspect(t, db, "narrow", "wide",
			sqlmigrate.WithReference("of_narrow.narrow_id", "narrow.id"), sqlmigrate.WithReference("of_narrow.plain_id", "narrow.id"),
			sqlmigrate.WithReference("of_wide.wide_id", "wide.id"), sqlmigrate.WithReference("of_wide.signed_id", "wide.id")))
		for _, want := range []string{
			"narrow.id bigint", "of_narrow.narrow_id bigint", "of_narrow.plain_id bigint",
			"wide.id bigint unsigned", "of_wide.wide_id bigint unsigned", "of_wide.signed_id bigint",
		} {
			name, want, _ := strings.Cut(want, " ")
			table, column, _ := strings.Cut(name, ".")
			if got := mysqlColumnType(t, db, table, column); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})
}

// A request for a table that does not exist, or for a view, is an error that says so.
func TestMySQLMissingTable(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE VIEW v AS SELECT 1 AS id")
		for target, want := range map[string]string{"nowhere": "does not exist", "v": "it is a view", "no.where": "does not exist"} {
			if _, err := migratetest.Inspect(t.Context(), db, target); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Inspect(%s): %v, want an error with %q", target, err, want)
			}
		}
	})
}

// After Apply, a program writes a Snowflake ID, or a negative number into a column that was
// unsigned. Revert must refuse, because the former types do not hold these numbers, and
// because a database that assigns keys again would continue after the largest Snowflake ID.
// It must change neither the schema nor the rows.
func TestMySQLRevertRefusesLargeIDs(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		tests := []struct {
			name, insert, want string
			phases             []sqlmigrate.PhaseName
		}{
			{"key", "INSERT INTO users VALUES (%d)", "users.id has Snowflake IDs", nil},
			{"reference", "INSERT INTO logs VALUES (%d)", "int unsigned does not hold all of logs.user_id", nil},
			{"negative reference", "INSERT INTO logs VALUES (-5 * SIGN(%d))", "int unsigned does not hold all of logs.user_id", nil},
			{"without widen", "INSERT INTO users VALUES (%d)", "users.id has Snowflake IDs", []sqlmigrate.PhaseName{sqlmigrate.Guard, sqlmigrate.Detach}},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int unsigned AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE logs (user_id int unsigned)")
				plan := migratetest.MySQLInspect(t, db, "users", sqlmigrate.WithReference("logs.user_id", "users.id"))
				mysqlApply(t, db, plan)
				migratetest.MySQLExec(t, db, fmt.Sprintf(test.insert, mysqlID))
				schema, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
				var opts []sqlmigrate.ApplyOption
				if test.phases != nil {
					opts = append(opts, sqlmigrate.WithPhases(test.phases...))
				}
				err := plan.Revert(t.Context(), db, opts...)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Revert: %v, want an error with %q", err, test.want)
				}
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
			})
		}
	})
}

// MySQL from 8.4 on keeps an existing foreign key to columns without a unique key, but
// rejects a new one by default. If the plan dropped such a foreign key, it could not add it
// back. So in a default session of MySQL, the plan has a blocker that names the variable to
// set. In a session with this variable, and on MariaDB, the move and its way back succeed.
func TestMySQLForeignKeyToNoUniqueKey(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		strict := migratetest.MySQLOpen(t, on)
		loose := mysqlLoose(t, strict, on)
		migratetest.MySQLExec(t, loose, "CREATE TABLE users (id int AUTO_INCREMENT, tenant int, code int UNIQUE, PRIMARY KEY (id, tenant))",
			"CREATE TABLE orders (id int PRIMARY KEY, user_id int, user_code int, "+
				"CONSTRAINT fk_id FOREIGN KEY (user_id) REFERENCES users (id), CONSTRAINT fk_code FOREIGN KEY (user_code) REFERENCES users (code))")
		schema := migratetest.MySQLSchema(t, loose)
		targets := []any{"users", sqlmigrate.WithReference("orders.user_code", "users.id")}
		if on == testdb.MySQL {
			plan := migratetest.MustInspect(t, strict, targets...)
			if len(plan.Blockers) != 1 || plan.Blockers[0].Object != "foreign key fk_id" || !strings.Contains(plan.Blockers[0].Fix, "restrict_fk_on_non_standard_key = OFF") {
				t.Errorf("blockers = %+v, want one: foreign key fk_id, and the variable to set", plan.Blockers)
			}
		}
		plan := migratetest.MySQLInspect(t, loose, targets...)
		mysqlApply(t, loose, plan)
		mysqlRevert(t, loose, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, loose), schema)
	})
}
