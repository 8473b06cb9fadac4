package sqlmigrate_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// auditedTables are an application's table o and its log o_audit, by dialect. The database
// assigns the keys of both.
var auditedTables = map[string][]string{
	"postgres": {"CREATE TABLE o (id serial PRIMARY KEY, n int)", "CREATE TABLE o_audit (aid serial PRIMARY KEY, o_id bigint)"},
	"mysql":    {"CREATE TABLE o (id int AUTO_INCREMENT PRIMARY KEY, n int)", "CREATE TABLE o_audit (aid int AUTO_INCREMENT PRIMARY KEY, o_id bigint)"},
	"sqlite":   {"CREATE TABLE o (id integer PRIMARY KEY AUTOINCREMENT, n int)", "CREATE TABLE o_audit (aid integer PRIMARY KEY AUTOINCREMENT, o_id int)"},
}

// Parts of the statements of insertingCode, and the two kinds of INSERT that take the
// place of its %s.
const (
	pgTrigger  = "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN coalesce(NEW, OLD); END $$; CREATE TRIGGER t "
	pgRow      = " ON o FOR EACH ROW EXECUTE FUNCTION g()"
	withoutKey = "INSERT INTO o_audit (o_id) VALUES (1)"
	withKey    = "INSERT INTO o_audit (aid, o_id) VALUES (1, 1)"
)

// insertingCode has every way in which the manuals say that the database itself can run
// an INSERT, by dialect. Code that a write runs, as triggers and rules do, is a blocker,
// because the write would fail. Code that programs or a schedule run is a note. The
// beginning of each name is the kind of the object.
var insertingCode = map[string]map[string]string{
	"postgres": {
		"trigger: after insert":  pgTrigger + "AFTER INSERT" + pgRow,
		"trigger: before insert": pgTrigger + "BEFORE INSERT" + pgRow,
		"trigger: after update":  pgTrigger + "AFTER UPDATE OF n" + pgRow,
		"trigger: after delete":  pgTrigger + "AFTER DELETE" + pgRow,
		"trigger: statement":     pgTrigger + "AFTER TRUNCATE ON o FOR EACH STATEMENT EXECUTE FUNCTION g()",
		"trigger: instead of":    "CREATE VIEW v AS SELECT n FROM o; " + pgTrigger + "INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION g()",
		"trigger: dynamic":       "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE '%s'; RETURN NEW; END $$; CREATE TRIGGER t AFTER INSERT" + pgRow,
		"rule: also":             "CREATE RULE r AS ON UPDATE TO o DO ALSO %s",
		"rule: instead":          "CREATE VIEW v AS SELECT n FROM o; CREATE RULE r AS ON INSERT TO v DO INSTEAD %s",
		"function: plpgsql":      "CREATE FUNCTION g() RETURNS void LANGUAGE plpgsql AS $$ BEGIN %s; END $$",
		"function: sql":          "CREATE FUNCTION g() RETURNS void LANGUAGE sql AS $$ %s $$",
		"function: standard":     "CREATE FUNCTION g() RETURNS void BEGIN ATOMIC %s; END",
		"procedure: plpgsql":     "CREATE PROCEDURE g() LANGUAGE plpgsql AS $$ BEGIN %s; END $$",
	},
	"mysql": {
		"trigger: after insert":  "CREATE TRIGGER t AFTER INSERT ON o FOR EACH ROW %s",
		"trigger: before insert": "CREATE TRIGGER t BEFORE INSERT ON o FOR EACH ROW %s",
		"trigger: after update":  "CREATE TRIGGER t AFTER UPDATE ON o FOR EACH ROW BEGIN IF NEW.n > 1 THEN %s; END IF; END",
		"trigger: before delete": "CREATE TRIGGER t BEFORE DELETE ON o FOR EACH ROW %s",
		"function: called":       "CREATE FUNCTION g() RETURNS int DETERMINISTIC MODIFIES SQL DATA BEGIN %s; RETURN 1; END",
		"procedure: called":      "CREATE PROCEDURE g() BEGIN %s; END",
		"procedure: prepared":    "CREATE PROCEDURE g() BEGIN PREPARE s FROM '%s'; EXECUTE s; END",
		"event: scheduled":       "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01' DO %s",
	},
	"sqlite": {
		"trigger: after insert": "CREATE TRIGGER t AFTER INSERT ON o BEGIN %s; END",
		"trigger: after update": "CREATE TRIGGER t AFTER UPDATE OF n ON o BEGIN %s; END",
		"trigger: after delete": "CREATE TRIGGER t AFTER DELETE ON o BEGIN %s; END",
		"trigger: instead of":   "CREATE VIEW v AS SELECT n FROM o; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN %s; END",
	},
}

// The test creates each object of insertingCode with an INSERT that gives no key, and again
// with an INSERT that gives a key. Code without a key fails once the database no longer
// assigns keys. So the plan must have exactly one blocker for such a trigger or rule, and a
// note for such a function, procedure or event. It must not report code that gives a key.
func TestCodeThatInserts(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, auditedTables[db.Name()]...)
		for name, create := range insertingCode[db.Name()] {
			for _, insert := range []string{withoutKey, withKey} {
				runCode(t, db, strings.ReplaceAll(create, "%s", insert))
				plan := migratetest.MustInspect(t, db, "o", "o_audit")
				kind, _, _ := strings.Cut(name, ":")
				blocked := slices.ContainsFunc(plan.Blockers, func(b sqlmigrate.Blocker) bool {
					return strings.HasPrefix(b.Object, kind) && strings.Contains(b.Reason, "without its key aid")
				})
				noted := strings.Contains(strings.ToLower(strings.Join(plan.Notes, "\n")), "inserts into table o_audit without its key aid")
				fires := kind == "trigger" || kind == "rule"
				if blocked != (fires && insert == withoutKey) || noted != (!fires && insert == withoutKey) {
					t.Errorf("%s, %s: blocked %t, noted %t:\n%v", name, insert, blocked, noted, plan)
				}
				if blocked && len(plan.Blockers) > 1 {
					t.Errorf("%s, %s: the plan reports it several times: %+v", name, insert, plan.Blockers)
				}
				dropCode(t, db)
			}
		}
	})
}

// runCode creates the objects of code. On SQLite it executes the statements for a view
// and for its trigger separately.
func runCode(t *testing.T, db *gorm.DB, code string) {
	t.Helper()
	before, trigger, two := strings.Cut(code, "; CREATE TRIGGER")
	if db.Name() == "sqlite" && two {
		migratetest.Run(t, db, before, "CREATE TRIGGER"+trigger)
		return
	}
	migratetest.Run(t, db, code)
}

// dropCode drops the objects that runCode may have created.
func dropCode(t *testing.T, db *gorm.DB) {
	t.Helper()
	switch db.Name() {
	case "postgres":
		migratetest.Run(t, db, "DROP VIEW IF EXISTS v CASCADE", "DROP RULE IF EXISTS r ON o", "DROP ROUTINE IF EXISTS g CASCADE")
	case "mysql":
		migratetest.Run(t, db, "DROP TRIGGER IF EXISTS t", "DROP FUNCTION IF EXISTS g", "DROP PROCEDURE IF EXISTS g", "DROP EVENT IF EXISTS e")
	default:
		migratetest.Run(t, db, "DROP TRIGGER IF EXISTS t", "DROP VIEW IF EXISTS v")
	}
}

// If the DEFAULT of a key calls a function, code that inserts rows without a key works
// after the move, because the plan keeps such a DEFAULT.
func TestCodeWithComputedKeys(t *testing.T) {
	t.Parallel()
	for target, created := range map[testdb.Target][]string{
		testdb.Postgres: {"CREATE FUNCTION next_key() RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'", "CREATE TABLE o_audit (aid bigint PRIMARY KEY DEFAULT next_key(), o_id bigint)"},
		testdb.MariaDB:  {"CREATE TABLE o_audit (aid bigint PRIMARY KEY DEFAULT (char_length(user())), o_id bigint)"},
		testdb.MySQL:    {"CREATE TABLE o_audit (aid bigint PRIMARY KEY DEFAULT (char_length(user())), o_id bigint)"},
	} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			migratetest.Run(t, db, auditedTables[db.Name()][0]) // table o
			migratetest.Run(t, db, created...)
			runCode(t, db, strings.ReplaceAll(insertingCode[db.Name()]["trigger: after insert"], "%s", withoutKey))
			if err := migratetest.MustInspect(t, db, "o", "o_audit").Apply(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			migratetest.Run(t, db, "INSERT INTO o (id) VALUES (1)")
		})
	}
}

// TryKeys reports a trigger that was created after the move and inserts rows without a
// key. The plan could not know it.
func TestTryKeysFindsCode(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, auditedTables[db.Name()]...)
		if err := migratetest.MustInspect(t, db, "o", "o_audit").Apply(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		runCode(t, db, strings.ReplaceAll(insertingCode[db.Name()]["trigger: after update"], "%s", withoutKey))
		rejected, _, err := sqlmigrate.TryKeys(t.Context(), db, []any{"o", "o_audit"})
		if err != nil || len(rejected) != 1 || !strings.HasPrefix(rejected[0].Object, "trigger t on") {
			t.Errorf("rejected %+v, %v, want trigger t", rejected, err)
		}
	})
}

// A trigger that writes the key to a narrow column of another table would fail at the first
// Snowflake ID, so it is a blocker. A trigger that writes the key to a wide column, or to a
// column that the plan widens, is not.
func TestTriggerIntoNarrowColumn(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			migratetest.Run(t, db, auditedTables[db.Name()]...)
			migratetest.Run(t, db, "ALTER TABLE o ADD parent int, ADD FOREIGN KEY (parent) REFERENCES o (id)") // the plan widens column parent, so no finding may be about it
			migratetest.Run(t, db, "CREATE TABLE lg (what int, big bigint)", "INSERT INTO lg VALUES (1, 1)")
			for _, column := range []string{"what", "big"} {
				for _, write := range []string{"INSERT INTO lg (" + column + ") VALUES (NEW.id)", "UPDATE lg SET " + column + " = NEW.id WHERE big = 1"} {
					runCode(t, db, strings.ReplaceAll(insertingCode[db.Name()]["trigger: after insert"], "%s", write))
					plan := migratetest.MustInspect(t, db, "o")
					want := 0
					if column == "what" {
						want = 1
					}
					if len(plan.Blockers) != want {
						t.Errorf("%s: blockers %+v, notes %q, want %d", write, plan.Blockers, plan.Notes, want)
					}
					dropCode(t, db)
				}
			}
			// The plan widens column o_id of u, also if the trigger names u with its schema.
			var current string
			if err := db.Raw(map[string]string{"mysql": "SELECT DATABASE()", "postgres": "SELECT current_schema()"}[db.Name()]).Scan(&current).Error; err != nil {
				t.Fatal(err)
			}
			migratetest.Run(t, db, "CREATE TABLE u (id bigint PRIMARY KEY, o_id int, FOREIGN KEY (o_id) REFERENCES o (id))")
			runCode(t, db, strings.ReplaceAll(insertingCode[db.Name()]["trigger: after insert"], "%s", "INSERT INTO "+current+".u (id, o_id) VALUES (1, NEW.id)"))
			if plan := migratetest.MustInspect(t, db, "o"); len(plan.Blockers) > 0 {
				t.Errorf("a table with its schema: blockers %+v, want none", plan.Blockers)
			}
		})
	}
}

// A program can insert into a view of a single table, even if the view does not show the key
// of the table. Such an INSERT fails after phase detach, because it cannot give a key. The
// plan has a note on these views. The note does not name views that show the key, even under
// another name, views of several tables, or views with an aggregate. After Apply, the INSERT
// fails as the note says.
func TestViewsThatInsert(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			migratetest.Run(t, db, auditedTables[db.Name()]...)
			migratetest.Run(t, db, "CREATE VIEW hides AS SELECT n FROM o", "CREATE VIEW renames AS SELECT id AS number, n FROM o WHERE n > 0",
				"CREATE VIEW also_hides AS SELECT n AS m FROM o WHERE n > 0", "CREATE VIEW joins AS SELECT n FROM o JOIN o_audit ON o_id = n",
				"CREATE VIEW counts AS SELECT count(*) AS c FROM o", "INSERT INTO hides (n) VALUES (1)")
			plan := migratetest.MustInspect(t, db, "o", sqlmigrate.WithRecreateViews())
			const want = "An INSERT into view also_hides, view hides fails after phase detach, because it cannot give key id of table o."
			named := slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.HasPrefix(note, want) })
			if err := plan.Err(); err != nil || !named {
				t.Fatalf("%v, notes %q, want %q", err, plan.Notes, want)
			}
			if err := plan.Apply(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec("INSERT INTO hides (n) VALUES (2)").Error; err == nil {
				t.Error("an INSERT into the view did not fail, although the plan says so")
			}
		})
	}
}
