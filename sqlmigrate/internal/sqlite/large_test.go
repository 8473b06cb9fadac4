package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

const liteViews = 20 // the number of views of each level

// liteLarge returns the statements that create connected tables, and the tables as
// targets. Each table refers to itself, to the table before it and to a distant one. The
// tables take turns among three forms of a key, and every fourth has a trigger. There are
// views of three levels, and the views of the highest level have triggers that insert
// rows.
func liteLarge(tables int) (statements []string, targets []any) {
	add := func(format string, args ...any) { statements = append(statements, fmt.Sprintf(format, args...)) }
	for i := range tables {
		targets = append(targets, fmt.Sprint("t", i))
		next, far := max(i-1, 0), i*7/3%max(i, 1)
		add("CREATE TABLE t%[1]d (id INTEGER PRIMARY KEY %[2]s, parent_id INT REFERENCES t%[1]d ON DELETE SET NULL, next_id BIGINT REFERENCES t%[3]d (id), far_id INTEGER,\n"+
			"  name TEXT NOT NULL DEFAULT 'AUTOINCREMENT' COLLATE NOCASE CHECK (name <> ''), label TEXT AS (name || id) VIRTUAL, FOREIGN KEY (far_id) REFERENCES t%[4]d DEFERRABLE INITIALLY DEFERRED)",
			i, []string{"AUTOINCREMENT", "", "DESC"}[i%3], next, far)
		add("CREATE INDEX i%[1]d ON t%[1]d (parent_id, lower(name)) WHERE id > 0", i)
		if i%4 == 1 {
			add("CREATE TRIGGER tr%[1]d AFTER UPDATE OF name ON t%[1]d BEGIN UPDATE t%[2]d SET name = NEW.name WHERE id = NEW.next_id; END", i, next)
		}
	}
	for i := range liteViews {
		add("CREATE VIEW v%[1]d AS SELECT a.id, b.id AS other_id, a.name FROM t%[1]d a LEFT JOIN t%[2]d b ON b.id = a.next_id", i, max(i-1, 0))
		add("CREATE VIEW w%[1]d AS SELECT v.*, count(*) OVER () AS n FROM v%[1]d v", i)
		add("CREATE VIEW x%[1]d AS SELECT w.id, w.n, v.other_id FROM w%[1]d w JOIN v%[2]d v ON v.id = w.other_id", i, max(i-1, 0))
		add("CREATE TRIGGER into%[1]d INSTEAD OF INSERT ON x%[1]d BEGIN INSERT INTO t%[1]d (id) VALUES (NEW.id); END", i)
		add("CREATE TABLE p%[1]d (t_id INTEGER NOT NULL REFERENCES t%[1]d ON DELETE CASCADE, at DATE NOT NULL, PRIMARY KEY (t_id, at)) WITHOUT ROWID", i)
	}
	return statements, targets
}

// liteRows returns the statements that insert a row into each table. The keys start at
// first, and each row refers to rows of other tables.
func liteRows(tables int, first int64) (statements []string) {
	for i := range int64(tables) {
		next, far := first+max(i-1, 0), first+i*7/3%max(i, 1)
		statements = append(statements, fmt.Sprintf("INSERT INTO t%[1]d (id, parent_id, next_id, far_id) VALUES (%[2]d, %[2]d, %[3]d, %[4]d)", i, first+i, next, far))
	}
	for i := range int64(liteViews) {
		statements = append(statements, fmt.Sprintf("INSERT INTO p%d VALUES (%d, '2022-02-02')", i, first+i))
	}
	return statements
}

// liteReferences returns the columns of all foreign keys and the columns to which they
// refer.
const liteReferences = `SELECT m.name, f."from", f."table", coalesce(f."to", 'id') FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`

// A connected set of many tables, with views of three levels, moves and moves back. All
// references hold for keys that a float cannot store.
func TestSQLiteLarge(t *testing.T) {
	t.Parallel()
	tables := migratetest.LargeTables(60)
	statements, targets := liteLarge(tables)
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, slices.Concat(statements, liteRows(tables, 1), []string{"INSERT INTO t0 (id) VALUES (1000)", "DELETE FROM t0 WHERE id = 1000"})...)
		before := sqliteDump(t, db)
		plan := sqliteInspect(t, db, targets...)
		begun := time.Now()
		sqliteApply(t, db, plan)
		t.Logf("%d tables applied in %v", len(plan.Tables), time.Since(begun).Round(time.Millisecond))
		wantPhases(t, sqliteInspect(t, db, targets...))
		migratetest.Run(t, db, liteRows(tables, migratetest.LargeID)...)
		references := migratetest.ReadReferences(t, db, liteReferences)
		// Each table has three references, and each table p has one.
		if got, want := len(references), 3*tables+liteViews; got != want {
			t.Errorf("%d references, want %d", got, want)
		}
		migratetest.WantJoined(t, db, references)
		migratetest.Run(t, db, fmt.Sprintf("INSERT INTO x3 (id) VALUES (%d)", migratetest.LargeID+1000))
		for _, view := range []string{"v0", "w19", "x19"} {
			wantRows(t, db, "SELECT max(id) > 9007199254740992 FROM "+view, "[[1]]")
		}
		moved := sqliteDump(t, db)
		migratetest.WantError(t, plan.Revert(t.Context(), db), "has Snowflake IDs")
		wantSameDump(t, "after the refusal", sqliteDump(t, db), moved)
		for i := tables - 1; i >= 0; i-- {
			migratetest.Run(t, db, fmt.Sprintf("DELETE FROM t%d WHERE id >= %d", i, migratetest.LargeID))
		}
		begun = time.Now()
		if err := plan.Revert(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		t.Logf("taken back in %v", time.Since(begun).Round(time.Millisecond))
		healthy(t, db)
		wantSameDump(t, "after down", sqliteDump(t, db), before)
	})
}

// wantRows compares the rows of a query with want, as fmt prints them.
func wantRows(t *testing.T, db *gorm.DB, query, want string) {
	t.Helper()
	if got := fmt.Sprint(sqliteRows(t, db, query)); got != want {
		t.Errorf("%s: %s, want %s", query, got, want)
	}
}
