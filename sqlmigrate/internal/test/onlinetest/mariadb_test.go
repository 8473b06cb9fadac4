package onlinetest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// TestMariaDB tests online moves on MariaDB. Its tests share a server, and each of them
// creates its own database.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	runAll(t, startMariaDB(t), slices.Concat(mariadbAndMySQLTests, []namedTest{
		{"Unreadable", mariadbUnreadable},
		{"MayNotFlush", mariadbMayNotFlush},
		{"TriggerFile", mariadbTriggerFile},
	}))
}

// TestMySQL tests online moves on MySQL. It leaves out the tests of unreadable triggers,
// which occur on MariaDB only.
func TestMySQL(t *testing.T) {
	t.Parallel()
	// MySQL has a binary log by default, with which this setting allows triggers.
	server := startMariaDBOrMySQL(t, testserver.MySQL, "log_bin_trust_function_creators=1")
	server.mysql = true
	runAll(t, server, mariadbAndMySQLTests)
}

// A namedTest is a test of [TestMariaDB] or [TestMySQL].
type namedTest struct {
	name string
	run  func(*testing.T, *mariadbServer)
}

// mariadbAndMySQLTests are the tests that run on MariaDB and on MySQL.
var mariadbAndMySQLTests = []namedTest{
	{"Stages", mariadbStages},
	{"Load", mariadbMoved},
	{"Back", mariadbBack},
	{"Killed", mariadbKilled},
	{"Ended", mariadbEnded},
	{"Forgotten", mariadbForgotten},
	{"Refuses", mariadbRefuses},
	{"Changed", mariadbChanged},
	{"Counts", mariadbCounts},
	{"Compared", mariadbCompared},
	{"ComparedAsText", mariadbComparedAsText},
	{"KeyOrder", mariadbKeyOrder},
	{"KeyZero", mariadbKeyZero},
	{"Held", mariadbHeld},
	{"Polite", mariadbPolite},
	{"Twice", mariadbTwice},
	{"Faults", mariadbFaults},
	{"Steered", mariadbSteered},
}

// runAll runs the tests in parallel on one server.
func runAll(t *testing.T, server *mariadbServer, tests []namedTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, server)
		})
	}
}

// mariadbKeyZero tests a row with key 0. The copy begins at the position before the smallest
// key, which is -1 here, and -1 is no value of an unsigned column.
func mariadbKeyZero(t *testing.T, server *mariadbServer) {
	d := server.database(t,
		"CREATE TABLE zeros (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, note varchar(9))",
		"INSERT INTO zeros (note) VALUES ('zero'), ('one')", "UPDATE zeros SET id = id - 1 ORDER BY id")
	plan, err := tryOnline(context.Background(), d.DB, "zeros")
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	d.want(t, "SELECT GROUP_CONCAT(id, note ORDER BY id) FROM zeros", "0zero,1one")
	d.want(t, "SELECT DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'zeros' AND COLUMN_NAME = 'id'", "bigint")
}

// mariadbSteered tests that another process can pause and continue a move.
func mariadbSteered(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	checkSteering(t, func() *sqlmigrate.OnlinePlan { return d.online(t) }, d.DB, mariadbOpen(t, d.dsn), mariadbTargets...)
}

// mariadbStages tests that Revert restores the former schema and rows after each stage
// that can be reverted.
func mariadbStages(t *testing.T, server *mariadbServer) {
	for _, last := range []sqlmigrate.StageName{sqlmigrate.StagePrepare, sqlmigrate.StageCopy, sqlmigrate.StageIndex, sqlmigrate.StageConstrain} {
		t.Run(string(last), func(t *testing.T) {
			t.Parallel()
			d := server.database(t, mariadbShop(300)...)
			schema, data := d.schema(t), d.data(t)
			if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(last)); err != nil {
				t.Fatal(err)
			}
			if d.schema(t) == schema {
				t.Error("nothing has been changed")
			}
			if err := d.online(t).Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			same(t, "schema after the way back", d.schema(t), schema)
			same(t, "data after the way back", d.data(t), data)
		})
	}
}

// mariadbMoved tests that a whole move succeeds while programs use the tables, that no
// write is lost, and that Revert is refused after stage swap.
func mariadbMoved(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(customers)...)
	programs := mariadbLoad(t, d)
	if err := d.online(t).Apply(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	mariadbCheckRows(t, d)
	mariadbCheckLikely(t, d)
	wantError(t, d.online(t).Revert(context.Background(), d.DB), "there is a way back only until the tables are renamed", "nothing has been taken back")
	programs = mariadbLoad(t, d)
	if err := d.online(t).Finish(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	mariadbCheckRows(t, d)
	d.exec(t, "INSERT INTO users (email) VALUES ('next')")
	d.want(t, "SELECT id FROM users WHERE email = 'next'", fmt.Sprint(customers+4001)) // the counter continues after the row that mariadbShop deleted
	mariadbCheckEnd(t, server, d)
	if !d.online(t).Empty() {
		t.Error("a second plan is not empty")
	}
}

// mariadbCheckLikely checks that a new plan does not list the old tables, which exist
// until Finish, or the journal under [sqlmigrate.Plan.Likely]. They have narrow columns
// with keys, but nobody has to do anything about them.
func mariadbCheckLikely(t *testing.T, d *mariadbDatabase) {
	t.Helper()
	plan, err := sqlmigrate.Inspect(context.Background(), d.DB, mariadbTargets...)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range plan.Likely {
		// The names of the tables that the move creates contain _sf.
		if strings.Contains(l.Column, "_sf") || strings.Contains(l.Column, "sqlmigrate_online") {
			t.Errorf("%s is taken for a forgotten reference", l.Column)
		}
	}
}

// mariadbCheckEnd checks that the schema is the same as if phase widen had been applied
// instead of the online move, and that keys above 2^53 are accepted.
func mariadbCheckEnd(t *testing.T, server *mariadbServer, d *mariadbDatabase) {
	t.Helper()
	other := server.database(t, mariadbShop(customers)...)
	plan, err := sqlmigrate.Inspect(context.Background(), other.DB, mariadbTargets...)
	if err == nil {
		err = plan.Apply(context.Background(), other.DB, sqlmigrate.WithPhases(sqlmigrate.Widen))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := other.schema(t)
	if server.mysql { // on MySQL the name of a CHECK is unique in the database
		want = strings.Replace(want, "`positive`", "`orders_chk_1`", 1)
	}
	same(t, "schema", d.schema(t), want)
	const wide = int64(1) << 54
	d.exec(t, fmt.Sprintf("INSERT INTO users VALUES (%d, 'wide', NULL)", wide), fmt.Sprintf("INSERT INTO orders (id, user_id) VALUES (%d, %d)", wide+1, wide),
		fmt.Sprintf("INSERT INTO order_lines VALUES (%d, 1)", wide+1), fmt.Sprintf("INSERT INTO notes VALUES (%d, %d)", wide+2, wide))
}

// mariadbBack tests Revert in the middle of a move, while programs use the tables. No
// write may be lost.
func mariadbBack(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(customers)...)
	schema := d.schema(t)
	programs := mariadbLoad(t, d)
	for _, last := range []sqlmigrate.StageName{sqlmigrate.StageCopy, sqlmigrate.StageConstrain} {
		if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(last)); err != nil {
			t.Error(err)
		}
		if err := d.online(t).Revert(context.Background(), d.DB); err != nil {
			t.Error(err)
		}
	}
	programs.end(t)
	mariadbCheckRows(t, d)
	same(t, "after the way back", d.schema(t), schema)
}

// mariadbCompared tests that the comparison of a table with its shadow finds a missing row, a
// row with another value, and a row that only the shadow has. The move then copies missing
// and differing rows again. It fails if the shadow has a row that the table does not have.
func mariadbCompared(t *testing.T, server *mariadbServer) {
	for _, test := range []struct {
		name, damage string
		repaired     bool
	}{
		{"missing", "DELETE FROM _notes_sfnew WHERE id = 4", true},
		{"different", "UPDATE _notes_sfnew SET user_id = 5 WHERE id = 4", true},
		{"surplus", "INSERT INTO _notes_sfnew VALUES (9000, NULL)", false},
		{"missing and surplus", "UPDATE _notes_sfnew SET id = 9000 WHERE id = 4", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, mariadbShop(10)...)
			if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy)); err != nil {
				t.Fatal(err)
			}
			d.exec(t, test.damage)
			err := d.online(t).Apply(context.Background(), d.DB)
			if !test.repaired {
				wantError(t, err, "stage constrain, table notes", "rows that differ")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d.want(t, "SELECT CONCAT(COUNT(*), ' ', SUM(id = user_id)) FROM notes", "10 9") // one user_id is NULL
		})
	}
}

// mariadbCounts tests that the swap keeps the counter of a table. During the move, the test
// raises the counter of the old table to 9000. The new table has a counter of its own,
// which is lower, so the swap must raise it.
func mariadbCounts(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(10)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "ALTER TABLE users AUTO_INCREMENT = 9000")
	if err := d.online(t).Apply(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "INSERT INTO users (email) VALUES ('next')")
	d.want(t, "SELECT id FROM users WHERE email = 'next'", "9000")
}
