package onlinetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
)

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
		steps, endAt, ending := 0, 1+rand.IntN(4), sync.WaitGroup{}
		err := d.online(t).Apply(ctx, d.DB, sqlmigrate.WithBatchRows(50, 200), sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			swap := p.Stage == sqlmigrate.StageSwap
			if steps++; ended < ends && steps == endAt {
				ending.Go(func() {
					time.Sleep(rand.N(20 * time.Millisecond))
					mariadbEnd(d, ended%2 == 0 && !swap, cancel)
				})
			}
			if steps > endAt+5 || swap { // without this wait, the run would get far ahead on a busy machine
				ending.Wait()
			}
		}))
		ending.Wait() // otherwise the goroutine could end the next run
		cancel()
		if err == nil {
			if ended < ends/2 { // fewer than ends, because a run on a busy machine gets further before it is ended
				t.Errorf("ended %d times, want more", ended)
			}
			break
		}
		t.Logf("ended: %.120s", err)
	}
	programs.end(t)
	programs = mariadbLoad(t, d) // the run was resumed, so the triggers must be readable again
	if err := d.online(t).Finish(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	mariadbCheckRows(t, d)
	mariadbCheckEnd(t, server, d)
}

// mariadbEnd kills the connection that has the named lock of a run. If kill is false, or if
// no connection has this lock, it cancels the context of the run.
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

// mariadbMayNotFlush tests that an account without the right to flush tables can resume a
// run that was killed. The resumed run closes each table by an ALTER instead. The ALTER
// fails while a transaction uses the table. Then column open of the journal stays true, so
// that the next run tries the ALTER again.
func mariadbMayNotFlush(t *testing.T, server *mariadbServer) {
	d := server.database(t, mariadbShop(300)...)
	if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy)); err != nil {
		t.Fatal(err)
	}
	name := d.Migrator().CurrentDatabase()
	d.exec(t, "CREATE USER u_"+name, "GRANT ALL ON "+name+".* TO u_"+name, "UPDATE sqlmigrate_online SET open = TRUE")
	account := mariadbOpen(t, strings.Replace(d.dsn, "root@", "u_"+name+"@", 1))
	resume := func() error {
		plan, err := tryOnline(context.Background(), account, mariadbTargets...)
		if err != nil {
			return err
		}
		return plan.Apply(context.Background(), account, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain))
	}
	tx, err := d.pool(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT COUNT(*) FROM users"); err != nil {
		t.Fatal(err)
	}
	wantError(t, resume(), "close table users", "1205") // the ALTER gets no lock
	d.want(t, "SELECT open FROM sqlmigrate_online", "1")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	d.want(t, "SELECT open FROM sqlmigrate_online", "0")
}

// mariadbTriggerFile tests the damage that a KILL during the RENAME of stage swap can leave.
// MariaDB takes the RENAME back, cannot read the triggers because the session was killed, and
// writes an unreadable file of triggers. The table cannot be opened until an operator removes
// the file. Then the triggers of the move, which copy each change to the new table, are lost.
// So the run must refuse the RENAME, and only Revert is possible. The test writes the file
// itself, because a KILL rarely hits the moment.
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
	wantError(t, err, "table users", "users.TRG", "FLUSH TABLES", "1343") // MariaDB's error for a file that it cannot parse
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
// although the files of the triggers were intact. None of 1,100 clients that closed their
// connection themselves left the table in this state.
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
