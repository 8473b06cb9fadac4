package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqlite"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// hostile are tables t that look as if they could be moved, but may reject the keys that
// are issued today. Either the plan gives the reason, or the table accepts a key and all
// views can be read.
var hostile = []struct {
	name   string
	schema []string
	insert string // inserts a row with key %[1]d; if empty: INSERT INTO t (id) VALUES (%d)
	want   string // part of the plan's error; if empty, the table is moved
}{
	{"check", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id < 1000000))"}, "", "CHECK constraint failed: id < 1000000"},
	{"check of another name", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, CONSTRAINT small CHECK (id BETWEEN 1 AND 4294967295))"}, "", "CHECK constraint failed: small"},
	{"check of a text", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r REFERENCES t CHECK (length(r) < 10))"}, "", "column r of table u: a copy of the table rejects key"},
	{"check of two keys", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (id INTEGER PRIMARY KEY, r REFERENCES t, CHECK (id + r < 1e10))"}, "", "column r of table u"},
	{"check that the table is a tree", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, r REFERENCES t, CHECK (r < id))", "INSERT INTO t VALUES (1, NULL), (2, 1)"}, "", ""},
	{"check that one is given", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, r REFERENCES t, s REFERENCES t, CHECK ((r IS NULL) <> (s IS NULL)))"}, "INSERT INTO t (id, r) VALUES (%[1]d, %[1]d)", ""},
	{"check that one is given, with a row", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, r REFERENCES t, s REFERENCES t, CHECK ((r IS NULL) <> (s IS NULL)))", "INSERT INTO t VALUES (1, 1, NULL)"}, "INSERT INTO t (id, s) VALUES (%[1]d, %[1]d)", ""},
	{"check of one that is given", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, r REFERENCES t, s REFERENCES t CHECK (s < 99), CHECK ((r IS NULL) <> (s IS NULL)))"}, "", "CHECK constraint failed: s < 99"},
	{"key from some on", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id > 1000))", "INSERT INTO t VALUES (1001)"}, "", ""},
	{"others that are checked", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id < 1000000), state TEXT NOT NULL CHECK (state IN ('open', 'shut')))", "INSERT INTO t VALUES (1, 'open')"}, "", "id < 1000000"},
	{"without rowid", []string{"CREATE TABLE t (id INT PRIMARY KEY CHECK (id < 1000000)) WITHOUT ROWID"}, "", "id < 1000000"},
	{"key of two", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r INT REFERENCES t, at DATE, PRIMARY KEY (r, at), CHECK (r < 1000000))"}, "", "r < 1000000"},
	{"generated and stored", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT AS (id || '') STORED CHECK (length(k) < 10))"}, "", "length(k) < 10"},
	{"generated and checked", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, k AS (printf('%08d', id)) CHECK (length(k) = 8))"}, "", "length(k) = 8"},
	{"generated and overflowing", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, k AS (abs(-9223372036854775807 - (id > 4294967296))) STORED)"}, "", "integer overflow"},
	{"view of a table that takes any key", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r INT REFERENCES t)", "CREATE VIEW v AS SELECT length(zeroblob(r)) AS n FROM \"U\""}, "", "view v: it cannot be read with key"},
	{"index of an expression", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE INDEX i ON t (length(zeroblob(id)))"}, "", "string or blob too big"},
	{"index with a condition", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "CREATE INDEX i ON t (n) WHERE zeroblob(id) > 0"}, "", "string or blob too big"},
	{"floating point", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r REAL REFERENCES t)"}, "", "the row has another key after it was inserted"},
	{"text", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r TEXT REFERENCES t)"}, "INSERT INTO t VALUES (%[1]d); INSERT INTO u VALUES (%[1]d)", ""},
	{"trigger that refuses", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.id > 2147483647 BEGIN SELECT RAISE(ABORT, 'too large for the ERP'); END"}, "", "too large for the ERP"},
	{"trigger that rolls back", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.id > 2147483647 BEGIN SELECT RAISE(ROLLBACK, 'too large for the ERP'); END"}, "", "too large for the ERP"},
	{"trigger that ignores", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.id > 2147483647 BEGIN SELECT RAISE(IGNORE); END"}, "", "or is not there"},
	{"trigger that renumbers", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET id = id % 100000 WHERE id = NEW.id; END"}, "", "the row has another key after it was inserted"},
	{"trigger that copies", []string{"CREATE TABLE log (of INT CHECK (of < 1000000))", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.id); END"}, "", "of < 1000000"},
	{"trigger that writes a virtual table", []string{"CREATE VIRTUAL TABLE spans USING rtree_i32 (id, low, high)", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO spans VALUES (1, 0, 2); END"}, "", ""},
	{"trigger that inserts without a key", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "CREATE TABLE u (r REFERENCES t)", "CREATE TRIGGER g AFTER INSERT ON u BEGIN INSERT INTO t (n) VALUES (1); END"}, "", "it inserts into table t without its key id"},
	{"trigger that inserts with a key", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE TABLE u (r REFERENCES t)", "CREATE TRIGGER g BEFORE INSERT ON u BEGIN INSERT INTO t (id) VALUES (NEW.r); END"}, "", ""},
	{"view", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE VIEW v AS SELECT length(zeroblob(id)) AS n FROM t"}, "", "view v: it cannot be read with key"},
	{"view of a view", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE VIEW v AS SELECT id FROM t", "CREATE VIEW w AS SELECT abs(-9223372036854775807 - (id > 4294967296)) AS n FROM v"}, "", "integer overflow"},
	{"view without an end", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE VIEW v AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < (SELECT max(id) FROM t)) SELECT count(*) FROM c"}, "", "context deadline exceeded"},
	{"view that has failed before", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "CREATE VIEW v AS SELECT * FROM gone"}, "", ""},
	{"conflict that rolls back", []string{"CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, n NOT NULL ON CONFLICT ROLLBACK DEFAULT 1)"}, "", ""},
}

// A table that the plan accepts must accept a Snowflake ID after the move, and its views
// must be readable. For a table that would not, the plan must give the reason.
func TestSQLiteTrial(t *testing.T) {
	t.Parallel()
	mutant := &migratetest.Mutant{Engine: sqlite.Engine{}} // counts the tables that are refused only because of the trial
	t.Cleanup(func() { mutant.Want(t) })
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) {
				migratetest.Run(t, db, tt.schema...)
				before := sqliteDump(t, db)
				readable := readableViews(t, db)
				plan, err := migratetest.Inspect(t.Context(), db, "t")
				if err != nil {
					t.Fatal(err)
				}
				wantSameDump(t, "after the trial", sqliteDump(t, db), before)
				if tt.want != "" {
					mutant.Plan(t, db)
					migratetest.WantError(t, plan.Err(), tt.want)
					return
				}
				if notes := strings.Join(plan.Notes, "\n"); strings.Contains(notes, "was tried") || strings.Contains(notes, "the last one") {
					t.Errorf("notes:\n%s\nwant none on the trial", notes)
				}
				sqliteApply(t, db, plan)
				key := snowflake.TwitterLayout().Max(time.Now())
				insert := tt.insert
				if insert == "" {
					insert = "INSERT INTO t (id) VALUES (%d)"
				}
				migratetest.Run(t, db, fmt.Sprintf(insert, key))
				wantRows(t, db, fmt.Sprintf("SELECT count(*) FROM t WHERE id = %d", key), "[[1]]")
				if after := readableViews(t, db); after != readable {
					t.Errorf("views that can be read: %s, want %s", after, readable)
				}
			})
		})
	}
}

// Another program can register collations and functions with its driver. A table that
// uses them cannot be tried here, and gets a note. The other tables are tried.
func TestSQLiteNotTried(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ column, want string }{
		"collation": {"name TEXT COLLATE german", "no such collation sequence: german"},
		"function":  {"name TEXT CHECK (germanize(name))", "no such function: germanize"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSQLite(t, func(t *testing.T, db *gorm.DB) {
				migratetest.Run(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", "CREATE TABLE u (r INT REFERENCES t CHECK (r < 99))")
				// CREATE TABLE would reject the unknown name, so it is written to the catalog.
				err := db.Connection(func(conn *gorm.DB) error {
					migratetest.Run(t, conn, "PRAGMA writable_schema = ON",
						fmt.Sprintf("UPDATE sqlite_master SET sql = 'CREATE TABLE t (id INTEGER PRIMARY KEY, %s)' WHERE name = 't'", tt.column),
						"PRAGMA writable_schema = RESET")
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := migratetest.Inspect(t.Context(), db, "t")
				if err != nil {
					t.Fatal(err)
				}
				if notes := strings.Join(plan.Notes, "\n"); !strings.Contains(notes, "No key was tried in a copy of table t: ") || !strings.Contains(notes, tt.want) {
					t.Errorf("notes:\n%s\nwant one with %q", notes, tt.want)
				}
				migratetest.WantError(t, plan.Err(), "column r of table u")
			})
		})
	}
}

// readableViews returns the names of the views that can be read.
func readableViews(t *testing.T, db *gorm.DB) (names string) {
	t.Helper()
	for _, view := range sqliteRows(t, db, "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name") {
		var read []map[string]any
		if db.Raw(fmt.Sprintf("SELECT * FROM %s", view[0])).Scan(&read).Error == nil {
			names += fmt.Sprint(view[0], " ")
		}
	}
	return names
}

// A trigger can run before the guard, which rejects rows without a key. Such a trigger can
// insert another row with a key, and skip the row without a key (RAISE IGNORE), so that the
// guard never checks it. The plan must report the trigger, because the database still
// assigns keys.
func TestSQLiteTriggerAssigns(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)")
		sqliteApply(t, db, sqliteInspect(t, db, "t"))
		// In a BEFORE trigger, SQLite shows -1 for a rowid that is not given.
		migratetest.Run(t, db, "CREATE TRIGGER numbers BEFORE INSERT ON t WHEN NEW.id = -1 BEGIN"+
			" INSERT INTO t SELECT coalesce(max(id), 0) + 1, NEW.n FROM t; SELECT RAISE(IGNORE); END", "INSERT INTO t (n) VALUES (7)")
		wantRows(t, db, "SELECT id, n FROM t", "[[1 7]]")
		plan := sqliteInspect(t, db, "t")
		if len(plan.Omitted) != 1 || plan.Omitted[0].Phase != sqlmigrate.Detach || plan.Omitted[0].Object != "trigger numbers" {
			t.Errorf("left out %v, want trigger numbers of phase detach", plan.Omitted)
		}
	})
}
