package sqlmigrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/types"
)

// createCounted creates a table orders with keys of 64 bits. It also creates a narrow table
// that refers to orders, as older applications have it, with a name that needs quoting. It
// inserts three orders, and deletes the last one, so that only the counter shows that the
// next key is 4. On PostgreSQL the key of orders is GENERATED ALWAYS, so that the database
// refuses the keys of programs.
func createCounted(t *testing.T, db *gorm.DB) {
	t.Helper()
	migratetest.Run(t, db, map[string][]string{
		"sqlite": {
			"CREATE TABLE orders (id integer PRIMARY KEY AUTOINCREMENT, note varchar(9))",
			"CREATE TABLE `50% of 'em` (id integer PRIMARY KEY AUTOINCREMENT, order_id int REFERENCES orders (id))",
		},
		"mysql": {
			"CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, note varchar(9))",
			"CREATE TABLE `50% of 'em` (id int AUTO_INCREMENT PRIMARY KEY, order_id bigint, FOREIGN KEY (order_id) REFERENCES orders (id))",
		},
		"postgres": {
			"CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note varchar(9))",
			`CREATE TABLE "50% of 'em" (id serial PRIMARY KEY, order_id int REFERENCES orders (id))`,
		},
	}[db.Name()]...)
	for range 3 {
		migratetest.Run(t, db, "INSERT INTO orders (note) VALUES ('old')")
	}
	migratetest.Run(t, db, "DELETE FROM orders WHERE id = 3")
}

// insertOld inserts a row without a key, as a program without the plugin does, and
// returns its key.
func insertOld(t *testing.T, db *gorm.DB, table string) types.ID {
	t.Helper()
	// An INSERT needs a column, so it sets the column besides the key to NULL.
	column, quoted := map[string]string{"orders": "note", narrowTable: "order_id"}[table], db.Statement.Quote(table)
	var before, after []types.ID
	keys := "SELECT id FROM " + quoted
	if err := db.Raw(keys).Scan(&before).Error; err != nil {
		t.Fatal(err)
	}
	migratetest.Run(t, db, "INSERT INTO "+quoted+" ("+column+") VALUES (NULL)")
	if err := db.Raw(keys).Scan(&after).Error; err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(after, func(id types.ID) bool { return slices.Contains(before, id) })[0]
}

// narrowTable is the name of the narrow table of createCounted.
const narrowTable = "50% of 'em"

// parkPlan plans the move of the tables of createCounted, with a layout whose IDs are
// below 2^53.
func parkPlan(t *testing.T, db *gorm.DB, opts ...sqlmigrate.Option) *sqlmigrate.Plan {
	t.Helper()
	plan, err := sqlmigrate.InspectWith(t.Context(), db, []any{"orders", narrowTable},
		append(opts, sqlmigrate.WithLayout(snowflake.JSSafeLayout()))...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// phaseNames returns the names of the plan's phases, separated by spaces.
func phaseNames(plan *sqlmigrate.Plan) string {
	var names []string
	for _, phase := range plan.Phases {
		names = append(names, string(phase.Name))
	}
	return strings.Join(names, " ")
}

// mustApply applies a plan and stops the test if that fails.
func mustApply(t *testing.T, db *gorm.DB, plan *sqlmigrate.Plan) {
	t.Helper()
	if err := plan.Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// Phase park sets the counters above the IDs of the next ten years, and below 2^53, the
// limit of the layout. The keys that old programs then get from a counter do not block a
// new plan or phase detach. On PostgreSQL there is nothing to park, because inserting a
// key does not raise a sequence; there, phase park lets programs write keys to GENERATED
// ALWAYS columns.
func TestPark(t *testing.T) {
	t.Parallel()
	park := sqlmigrate.WithParkedCounters()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		createCounted(t, db)
		layout := snowflake.JSSafeLayout()
		plan := parkPlan(t, db, park)
		want := map[string]string{"sqlite": "park", "mysql": "widen park", "postgres": "widen park"}[db.Name()]
		if got := phaseNames(plan); got != want {
			t.Fatalf("phases %q, want %q\n%v", got, want, plan)
		}
		text := map[string]string{"postgres": "orders: id takes the keys of programs too"}[db.Name()]
		if text == "" {
			text = "above all IDs until 21" // the beginning of a year
		}
		if !strings.Contains(plan.String(), text) {
			t.Errorf("the plan does not say %q:\n%v", text, plan)
		}
		mustApply(t, db, plan)
		mustApply(t, db, plan) // the plan can be applied again
		if again := parkPlan(t, db, park); !again.Empty() || again.Err() != nil {
			t.Errorf("planned again: %v", again)
		}
		if db.Name() == "postgres" {
			if notes := parkPlan(t, db, park).Notes; len(notes) != 1 || !strings.Contains(notes[0], "there is no counter to park") {
				t.Errorf("notes %q do not say why there is nothing to do", notes)
			}
			migratetest.Run(t, db, fmt.Sprintf("INSERT INTO orders (id, note) VALUES (%d, 'new')", layout.Min(time.Now())))
			if id := insertOld(t, db, "orders"); id > 10 { // the sequence continues, although a program has written a large key
				t.Errorf("the database assigns %d", id)
			}
			return
		}
		for _, table := range []string{"orders", narrowTable} {
			migratetest.Run(t, db, fmt.Sprintf("INSERT INTO `%s` (id) VALUES (%d)", table, layout.Min(time.Now())))
			if id := insertOld(t, db, table); id < layout.Max(time.Now().AddDate(10, 0, 0)) || id > 1<<53 {
				t.Errorf("%s: the database assigns %d", table, id)
			}
		}
		if again := parkPlan(t, db, park); !again.Empty() || again.Err() != nil {
			t.Errorf("planned after parked keys: %v, %v", again, again.Err())
		}
		detach := parkPlan(t, db)
		if err := detach.Err(); err != nil || phaseNames(detach) != "detach guard" {
			t.Fatalf("phases %q, err = %v", phaseNames(detach), err)
		}
		mustApply(t, db, detach)
	})
}

// With parked counters, the plan has no findings about phases detach and guard, which it does
// not have: a key of 0, which the guard would reject, a trigger of SQLite that has the name of
// the guard, and a function of PostgreSQL that names the sequence.
func TestParkHasNoFindingsOfOtherPhases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		createCounted(t, db)
		switch db.Name() {
		case "sqlite":
			migratetest.Run(t, db, "INSERT INTO orders (id) VALUES (0)",
				"CREATE TRIGGER orders_snowflake_guard BEFORE INSERT ON orders BEGIN SELECT 1; END")
		case "mysql":
			migratetest.Run(t, db, "INSERT INTO orders (note) VALUES ('zero')", "UPDATE orders SET id = 0 ORDER BY id DESC LIMIT 1")
		case "postgres":
			migratetest.Run(t, db, "CREATE FUNCTION number() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('orders_id_seq'); END $$")
		}
		plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
		if text := plan.String(); strings.Contains(text, "guard") || strings.Contains(text, "detach") || plan.Err() != nil {
			t.Errorf("the plan has findings of other phases:\n%s", text)
		}
		mustApply(t, db, plan)
	})
}

// On SQLite, a table without AUTOINCREMENT has no counter that can be parked, so it is a
// blocker unless it has the trigger of the guard. Another trigger with the name of the
// guard does not protect the table. The plan must not take that trigger for the guard.
func TestParkWithForeignGuard(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	migratetest.Run(t, db, "CREATE TABLE orders (id integer PRIMARY KEY)", "CREATE TABLE `50% of 'em` (order_id integer PRIMARY KEY REFERENCES orders (id))",
		"CREATE TRIGGER orders_snowflake_guard BEFORE INSERT ON orders BEGIN SELECT 1; END")
	plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
	migratetest.WantError(t, plan.Err(), "table orders: blocked by", "trigger orders_snowflake_guard", "it has the name of the guard and another text")
}

// Revert restores the former values of the counters, so that the next keys are 4 and 1.
// It fails while there is a key that a parked counter assigned, because the counter could
// not go below it.
func TestRevertPark(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		createCounted(t, db)
		plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
		mustApply(t, db, plan)
		if db.Name() != "postgres" {
			insertOld(t, db, "orders")
			migratetest.WantError(t, plan.Revert(t.Context(), db), "orders", "has Snowflake IDs")
			migratetest.Run(t, db, "DELETE FROM orders WHERE note IS NULL")
		}
		if err := plan.Revert(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		for i, table := range []string{"orders", narrowTable} {
			if id, want := insertOld(t, db, table), []types.ID{4, 1}[i]; id != want {
				t.Errorf("%s: the database assigns %d, want %d", table, id, want)
			}
		}
		if again := parkPlan(t, db, sqlmigrate.WithParkedCounters()); phaseNames(again) != phaseNames(plan) {
			t.Errorf("after the way back the plan is %v", again)
		}
	})
}

// Apply refuses phase park before phase widen. A parked counter assigns keys above all IDs
// of the next years. If a column of MySQL or MariaDB were still an int, it would reject
// every such key.
func TestParkNeedsWide(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.MariaDB, testdb.MySQL}, func(t *testing.T, db *gorm.DB) {
		createCounted(t, db)
		plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
		err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Park))
		migratetest.WantError(t, err, "50% of 'em.id is not a bigint with AUTO_INCREMENT: apply phase widen")
	})
}

// A table of SQLite without AUTOINCREMENT has no counter that could be parked, so it is a
// blocker. A key that refers to another key, or that a guard protects, needs no counter,
// because the database does not assign it.
func TestParkWithoutAutoincrement(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	migratetest.Run(t, db, "CREATE TABLE orders (id integer PRIMARY KEY)", "CREATE TABLE `50% of 'em` (order_id integer PRIMARY KEY REFERENCES orders (id))")
	plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
	migratetest.WantError(t, plan.Err(), "table orders: blocked by column id: without AUTOINCREMENT", "create the table again with AUTOINCREMENT")
	if len(plan.Blockers) != 1 {
		t.Errorf("blockers %v, want 1", plan.Blockers)
	}
	mustApply(t, db, parkPlan(t, db))
	if plan := parkPlan(t, db, sqlmigrate.WithParkedCounters()); plan.Err() != nil || !plan.Empty() {
		t.Errorf("with a guard: %v", plan)
	}
}

// The statements of a plan park the counters even in a database whose counters have other
// values than in the inspected database. This is the case for migration files, which run
// in several databases. Running them twice changes nothing.
func TestParkFiles(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	createCounted(t, db)
	plan := parkPlan(t, db, sqlmigrate.WithParkedCounters())
	// The counter of orders is lost, and the counter of the other table is at 1. The
	// phase has a step for each table.
	migratetest.Run(t, db, "DELETE FROM sqlite_sequence", "INSERT INTO `50% of 'em` DEFAULT VALUES")
	up := slices.Concat(plan.Phases[0].Steps[0].Up, plan.Phases[0].Steps[1].Up)
	for _, s := range slices.Concat(up, up) {
		migratetest.Run(t, db, s.SQL)
	}
	if id := insertOld(t, db, "orders"); id < 1<<52 { // a counter that is not parked would assign a small key
		t.Errorf("the database assigns %d", id)
	}
	var rows int // sqlite_sequence must have one row for each of the two tables
	if err := db.Raw("SELECT count(*) FROM sqlite_sequence").Row().Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows of counters, err = %v", rows, err)
	}
}

// With phase park, a trigger that assigns keys is accepted, as counters are. With phase
// detach, after which the database must not assign keys, the plan lists the trigger under
// Omitted, and Apply returns ErrIncomplete.
func TestParkedTriggersAssign(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		statements := map[string][]string{
			"mysql": {"CREATE TABLE t (id bigint AUTO_INCREMENT PRIMARY KEY, n int)", "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 77"},
			"postgres": {
				"CREATE TABLE t (id bigserial PRIMARY KEY, n int)", "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 77; RETURN NEW; END'",
				"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g()",
			},
		}[db.Name()]
		if statements == nil {
			t.Skip("SQLite parks no table without AUTOINCREMENT, and no trigger of it can assign a key before the counter does")
		}
		migratetest.Run(t, db, statements...)
		for _, test := range []struct {
			name string
			opts []sqlmigrate.Option
			want int
		}{{"parked", []sqlmigrate.Option{sqlmigrate.WithParkedCounters()}, 0}, {"detached", nil, 1}} {
			plan, err := sqlmigrate.InspectWith(t.Context(), db, []any{"t"}, test.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Omitted) != test.want || plan.Err() != nil {
				t.Errorf("%s: left undone %v and %v, want %d triggers", test.name, plan.Omitted, plan.Err(), test.want)
			}
			err = plan.Apply(t.Context(), db)
			if errors.Is(err, sqlmigrate.ErrIncomplete) != (test.want > 0) || err != nil && test.want == 0 {
				t.Errorf("%s: apply: %v", test.name, err)
			}
		}
	})
}
