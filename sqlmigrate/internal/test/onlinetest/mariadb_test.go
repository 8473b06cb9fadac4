package onlinetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// TestMariaDB runs tests that share a server. Each of them creates its own database.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	runAll(t, startMariaDB(t), slices.Concat(mariadbAndMySQLTests, []namedTest{
		{"Unreadable", mariadbUnreadable},
		{"TriggerFile", mariadbTriggerFile},
	}))
}

// TestMySQL leaves out the tests of unreadable triggers, which occur on MariaDB only.
func TestMySQL(t *testing.T) {
	t.Parallel()
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

// mariadbKilled kills the process that moves the tables up to ten times, and starts it
// again until the move is complete. The programs that use the tables must not get an
// error, and no write may be lost. Five kills are enough, because on a busy machine the
// process gets further before it is killed.
func mariadbKilled(t *testing.T, server *mariadbServer) {
	const kills, enough = 10, 5
	d := server.database(t, mariadbShop(customers)...)
	programs := mariadbLoad(t, d)
	done, killed := false, 0
	for !done {
		var steps int
		if done, steps = childOnce(t, d.dsn, killed < kills, 3); !done {
			killed++
			t.Logf("killed after %d steps of its own", steps)
		}
	}
	programs.end(t)
	if killed < enough {
		t.Errorf("killed %d times, want %d at least", killed, enough)
	}
	mariadbCheckRows(t, d)
	if err := d.online(t).Finish(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	mariadbCheckRows(t, d)
	mariadbCheckEnd(t, server, d)
}

// mariadbEnded tests that a run can be resumed after its context was canceled or its
// connection was killed, in turn. After a KILL the triggers may be unreadable until the
// run is resumed, so programs may get that error here, and operators are told not to kill
// the connection. In stage swap the test only cancels the context, because no run can
// repair the damage that a killed RENAME leaves.
func mariadbEnded(t *testing.T, server *mariadbServer) {
	const ends = 10
	d := server.database(t, mariadbShop(customers)...)
	programs := mariadbLoad(t, d, unreadable)
	for ended := 0; ; ended++ {
		ctx, cancel := context.WithCancel(context.Background())
		steps, last, ending := 0, 1+rand.IntN(4), sync.WaitGroup{}
		err := d.online(t).Apply(ctx, d.DB, sqlmigrate.WithBatchRows(50, 200), sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			swap := p.Stage == sqlmigrate.StageSwap
			if steps++; ended < ends && steps == last {
				ending.Go(func() {
					time.Sleep(rand.N(20 * time.Millisecond))
					mariadbEnd(d, ended%2 == 0 && !swap, cancel)
				})
			}
			if steps > last+5 || swap { // without this wait, the run would get far ahead on a busy machine
				ending.Wait()
			}
		}))
		ending.Wait() // otherwise the goroutine could end the next run
		cancel()
		if err == nil {
			if ended < ends/2 {
				t.Errorf("ended %d times, want more", ended)
			}
			break
		}
		t.Logf("ended: %.120s", err)
	}
	programs.end(t)
	programs = mariadbLoad(t, d)
	if err := d.online(t).Finish(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	mariadbCheckRows(t, d)
	mariadbCheckEnd(t, server, d)
}

// mariadbEnd kills the connection that has the lock of runs. If kill is false or there is
// no such connection, it cancels the context.
func mariadbEnd(d *mariadbDatabase, kill bool, cancel context.CancelFunc) {
	var id int64
	d.Raw("SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE ID = IS_USED_LOCK(CONCAT('sqlmigrate ', LEFT(SHA2(DATABASE(), 256), 40)))").Scan(&id)
	if !kill || id == 0 {
		cancel()
		return
	}
	d.Exec(fmt.Sprintf("KILL %d", id)) // the connection may be gone already
}

// mariadbUnreadable tests that a resumed run repairs triggers that MariaDB cannot read
// after a KILL. Until then, programs cannot write to the table. Column open of the
// journal is true while a run is in progress. If it is true when a run begins, the
// previous run was killed, and the run repairs the triggers.
func mariadbUnreadable(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy)); err != nil {
		t.Fatal(err)
	}
	if !mariadbBreak(t, d) {
		t.Skip("a thousand kills have left the triggers as they were")
	}
	d.exec(t, "UPDATE sqlmigrate_online SET open = TRUE") // as a killed run leaves it
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		d.exec(t, "INSERT INTO notes (user_id) VALUES (1)")
	}
	d.want(t, "SELECT open FROM sqlmigrate_online", "0")
	if err := d.online(t).Apply(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
}

// mariadbTriggerFile tests the damage that a KILL during the RENAME of stage swap can
// leave. MariaDB takes the RENAME back, cannot read the triggers because the session was
// killed, and writes an unreadable file of triggers. The table cannot be opened until an
// operator removes the file. The triggers of the table, which keep the new table the
// same, are lost then. So the run must refuse the RENAME, and only Revert is possible.
// The test writes the file itself, because a KILL rarely hits the moment.
func mariadbTriggerFile(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	schema := d.schema(t)
	path := filepath.Join(server.data, d.Migrator().CurrentDatabase(), "users.TRG")
	const unreadable = "TYPE=TRIGGERS\ntriggers=\nsql_modes=\ndefiners=\nclient_cs_names=\nconnection_cl_names=\ndb_cl_names=\ncreated=\n"
	// lose replaces the file of the triggers, and makes the server read it.
	lose := func() {
		if err := os.WriteFile(path, []byte(unreadable), 0o600); err != nil {
			t.Fatal(err)
		}
		d.exec(t, "FLUSH TABLES users")
	}
	err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if strings.Contains(strings.Join(p.SQL, "\n"), "RENAME TABLE") {
			lose()
		}
	}))
	// The four tables of the move have three triggers each.
	wantError(t, err, "stage swap", "9 triggers that can be read, want 12", "take the move back")
	// Now the operator removes the file. A row that is written from then on is not copied
	// to the new table, and must not be lost.
	_, err = tryOnline(context.Background(), mariadbOpen(t, d.dsn), mariadbTargets...)
	wantError(t, err, "table users", "users.TRG", "FLUSH TABLES", "1343")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "FLUSH TABLES")
	d.exec(t, "INSERT INTO users (email) VALUES ('not in the shadow')")
	d.exec(t, "UPDATE sqlmigrate_online SET open = TRUE") // as a killed run leaves it, see mariadbUnreadable
	wantError(t, d.online(t).Apply(context.Background(), d.DB), "stage swap", "take the move back")
	if err := d.online(t).Revert(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	same(t, "after the way back", d.schema(t), schema)
	if err := d.online(t).Apply(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	d.want(t, "SELECT COUNT(*) FROM users WHERE email = 'not in the shadow'", "1")
}

// mariadbForgotten tests that a run stops, before the tables are renamed, if somebody
// deletes the row of table sqlmigrate_online that stores the move. It deletes the row
// before a step of each kind.
func mariadbForgotten(t *testing.T, server *mariadbServer) {
	for _, stage := range []sqlmigrate.StageName{sqlmigrate.StagePrepare, sqlmigrate.StageCopy, sqlmigrate.StageConstrain, sqlmigrate.StageSwap} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			d := server.database(t, mariadbShop(300)...)
			// In stage swap, delete the row before the last step, which renames the
			// tables.
			forget := sync.OnceFunc(func() { d.exec(t, "DELETE FROM sqlmigrate_online") })
			err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
				if p.Stage == stage && (stage != sqlmigrate.StageSwap || strings.Contains(strings.Join(p.SQL, "\n"), "RENAME TABLE")) {
					forget()
				}
			}))
			wantError(t, err, "table sqlmigrate_online has lost the move of table", "restore it from a backup")
			d.want(t, "SELECT DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'users' AND COLUMN_NAME = 'id'", "int")
		})
	}
}

// mariadbBreak makes triggers unreadable by killing connections while they open a table,
// and reports whether it succeeded. On MariaDB 10.11, 30 of 1,200 kills of connections
// that read, wrote or created triggers left the table in this state until FLUSH TABLES,
// although the files of the triggers were intact. Among 1,100 clients that ended their
// connection, none did.
func mariadbBreak(t *testing.T, d *mariadbDatabase) bool {
	t.Helper()
	for range 1000 {
		conn, err := d.pool(t).Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var id int64
		if err := conn.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			for {
				for _, s := range []string{"FLUSH TABLES notes", "SELECT COUNT(*) FROM notes WHERE id = 1"} {
					if _, err := conn.ExecContext(context.Background(), s); err != nil {
						return
					}
				}
			}
		}()
		time.Sleep(rand.N(2 * time.Millisecond))
		d.exec(t, fmt.Sprintf("KILL %d", id))
		<-closed
		conn.Close()
		if _, err := d.pool(t).Exec("INSERT INTO notes (user_id) VALUES (1)"); err != nil {
			if !unreadable.MatchString(err.Error()) {
				t.Fatal(err)
			}
			return true
		}
	}
	return false
}

// mariadbLongName is a table name that is so long that the names of the move's triggers,
// which contain it, would exceed 64 characters.
var mariadbLongName = strings.Repeat("n", 60)

// mariadbRefuses tests that a schema that the move would damage, or could not move, is
// refused with the name of the object before anything is changed.
func mariadbRefuses(t *testing.T, server *mariadbServer) {
	for _, test := range []struct{ name, change, object, reason string }{
		{"trigger", "CREATE TRIGGER own BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = 'y'", "trigger own", "order"},
		{"self-reference", "ALTER TABLE users ADD boss_id int unsigned, ADD CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id)", "foreign key fk_boss", "itself"},
		{"circle", "ALTER TABLE users ADD last_id int, ADD CONSTRAINT fk_last FOREIGN KEY (last_id) REFERENCES orders (id)", "foreign keys", "circle"},
		{"composite", "ALTER TABLE users ADD UNIQUE KEY two (id, email), ADD KEY (email); CREATE TABLE more (u int unsigned, e varchar(60), CONSTRAINT fk_two FOREIGN KEY (u, e) REFERENCES users (id, email))", "foreign key fk_two", "several columns"},
		{"not in the set", "ALTER TABLE users ADD UNIQUE KEY (code); CREATE TABLE more (c binary(2), CONSTRAINT fk_code FOREIGN KEY (c) REFERENCES users (code))", "table more", "not widened"},
		{"parent not in the set", "CREATE TABLE more (c char(2) PRIMARY KEY); ALTER TABLE users ADD c char(2), ADD CONSTRAINT fk_c FOREIGN KEY (c) REFERENCES more (c)", "foreign key fk_c", "not widened"},
		{"zerofill", "ALTER TABLE notes ADD n int zerofill", "column n", "ZEROFILL"},
		{"no integer first", "CREATE TABLE more (a char(2), user_id int unsigned, PRIMARY KEY (a, user_id), CONSTRAINT fk_more FOREIGN KEY (user_id) REFERENCES users (id))", "table more", "primary key"},
		{"name", "CREATE TABLE _users_sfnew (id int)", "table _users_sfnew", "name"},
		{"unfinished run", "CREATE TABLE sqlmigrate_journal (id char(64), kind varchar(16), table_schema varchar(64), table_name varchar(64), name varchar(64), definition mediumtext)", "table sqlmigrate_journal", "half-way"},
		{"partitions", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "table more", "partitions"},
		{"engine", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM", "table more", "InnoDB"},
		{"versions", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) WITH SYSTEM VERSIONING", "table more", "system-versioned"},
		{"period", "CREATE TABLE more (id int AUTO_INCREMENT, f date, u date, PERIOD FOR p (f, u), PRIMARY KEY (id, p WITHOUT OVERLAPS))", "table more", "WITHOUT OVERLAPS"},
		{"long name", "CREATE TABLE " + mariadbLongName + " (id int AUTO_INCREMENT PRIMARY KEY)", "table " + mariadbLongName, "no room"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if server.mysql && (test.name == "versions" || test.name == "period") {
				t.Skip("MySQL has no system versioning, and no PERIOD")
			}
			d := server.database(t, mariadbShop(10)...)
			d.exec(t, strings.Split(test.change, "; ")...)
			schema := d.schema(t)
			plan := d.online(t)
			// A case that creates a table with a key of its own tests a plan for this
			// table.
			if name, ok := strings.CutPrefix(test.object, "table "); ok && strings.HasPrefix(test.change, "CREATE TABLE "+name+" (id int AUTO_INCREMENT") {
				plan = d.onlineOf(t, name)
			}
			wantBlocker(t, test.name, plan, test.object, test.reason)
			wantError(t, plan.Apply(context.Background(), d.DB), test.object)
			same(t, "schema", d.schema(t), schema)
		})
	}
}

// mariadbChanged tests that the swap is refused if somebody changed a table during the
// move, because the new table was created before the change and would replace it.
func mariadbChanged(t *testing.T, server *mariadbServer) {
	for _, change := range []string{
		"ALTER TABLE orders ADD extra int",
		"ALTER TABLE orders ALTER note SET DEFAULT 'X'",
		"ALTER TABLE users ADD KEY extra (code)",
		"ALTER TABLE users ADD CONSTRAINT extra CHECK (email <> '')",
		"ALTER TABLE notes DROP FOREIGN KEY fk_note",
		"CREATE TRIGGER own BEFORE INSERT ON notes FOR EACH ROW SET NEW.id = NEW.id",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, mariadbShop(10)...)
			if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
				t.Fatal(err)
			}
			d.exec(t, change)
			wantError(t, d.online(t).Apply(context.Background(), d.DB), "refuse it if it has been changed since the plan")
			if err := d.online(t).Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			d.want(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE '%\\_sf%'", "0")
		})
	}
}

// mariadbCounts tests that the swap keeps a counter that a program has raised during the
// move. The new table has a counter of its own, which the statement does not reach.
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

// mariadbHeld tests that the swap tries again until a long transaction ends. On MySQL,
// where the shortest lock timeout is a second, the run ends its waiting statement earlier
// over another connection, so a program behind the statement must wait for less than a
// second. This is checked with GORMFLAKE_TEST_ROWS only, because programs wait longer on
// a machine that runs other tests at the same time.
func mariadbHeld(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(customers)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	release := mariadbHold(t, d)
	programs := mariadbLoad(t, d)
	waited := 0
	err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if strings.Contains(p.Waiting, "a lock, after") {
			if waited++; waited == 2 {
				release()
			}
		}
	}))
	programs.end(t)
	if err != nil {
		t.Fatal(err)
	}
	if waited < 2 {
		t.Errorf("it waited %d times for a lock, want 2", waited)
	}
	for _, p := range programs.programs {
		if limit := 700 * time.Millisecond; server.mysql && os.Getenv("GORMFLAKE_TEST_ROWS") != "" && p.longest > limit {
			t.Errorf("%s waited %v, want %v at most", p.name, p.longest, limit)
		}
	}
	mariadbCheckRows(t, d)
}

// mariadbHold opens a transaction that reads orders, and returns the function that ends
// it.
func mariadbHold(t *testing.T, d *mariadbDatabase) (release func()) {
	t.Helper()
	reader := d.Begin()
	if err := reader.Exec("SELECT * FROM orders LIMIT 1").Error; err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { reader.Rollback() })
}

// mariadbPolite tests that a short step first tries for three seconds without making
// programs wait, so that a transaction of two seconds does not stop it. A statement that
// waits for the lock in the queue would give up after a second, which is the lock
// timeout, and the run would report the wait.
func mariadbPolite(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	plan, release := d.online(t), mariadbHold(t, d)
	time.AfterFunc(2*time.Second, release)
	err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		if p.Waiting != "" {
			t.Errorf("it waits for %s", p.Waiting)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// mariadbTwice tests that a second run is refused while another run is under way, because
// two runs would do the same steps at once.
func mariadbTwice(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	plan, second := d.online(t), d.online(t)
	tried := false
	err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(sqlmigrate.OnlineProgress) {
		if !tried {
			tried = true
			wantError(t, second.Apply(context.Background(), mariadbOpen(t, d.dsn)), "another run is under way")
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}
