package onlinetest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgSmall creates two tables of a thousand rows, of which u refers to t.
const pgSmall = `
CREATE TABLE t (id serial PRIMARY KEY, name text);
INSERT INTO t (name) SELECT 'row ' || n FROM generate_series(1, 1000) AS n;
CREATE TABLE u (id serial PRIMARY KEY, t_id integer NOT NULL REFERENCES t);
INSERT INTO u (t_id) SELECT id FROM t;
ANALYZE;`

// pgApplyTo applies the move of [pgSmall] up to and including stage last.
func pgApplyTo(t *testing.T, d *pgDatabase, last sqlmigrate.StageName) {
	t.Helper()
	if err := d.online(t, "t", "u").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(last)); err != nil {
		t.Fatal(err)
	}
}

// pgChangedView tests that somebody can change a view or policy during the move, without
// losing the change. The swap drops views and policies and creates them again as they were
// when the plan was made, and so does a Revert after the swap. Both must be refused after
// such a change. A Revert before the swap leaves views and policies alone, so it succeeds
// and keeps the change.
func pgChangedView(t *testing.T, server *pgServer) {
	const ddl = "CREATE TABLE t (id serial PRIMARY KEY, name text); INSERT INTO t (name) VALUES ('x'); CREATE VIEW v AS SELECT id FROM t; CREATE POLICY p ON t USING (id > 0)"
	for _, change := range []string{"CREATE OR REPLACE VIEW v AS SELECT id, name FROM t", "GRANT SELECT ON v TO PUBLIC", "ALTER POLICY p ON t USING (id > 1)"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, ddl)
			if err := d.online(t, "t").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
				t.Fatal(err)
			}
			d.Script(t, change)
			wantError(t, d.online(t, "t").Apply(context.Background(), d.DB), "has been changed, which would be lost")
			// The names of all objects of the move contain gormflake. Revert drops these
			// objects and keeps the change, so that the move can begin again.
			changed := d.dump(t)
			if err := d.online(t, "t").Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			before := d.dump(t)
			if strings.Contains(before, "gormflake") || !strings.Contains(changed, "gormflake") {
				t.Errorf("after the way back: %s", before)
			}
			if err := d.online(t, "t").Apply(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			if err := d.online(t, "t").Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			same(t, "after the way back", d.dump(t), before)
			if err := d.online(t, "t").Apply(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			d.Script(t, "DROP VIEW v; CREATE VIEW v AS SELECT 1::bigint AS id")
			wantError(t, d.online(t, "t").Revert(context.Background(), d.DB), "has been changed, which would be lost")
		})
	}
}

// pgDiffer tests that stage constrain finds rows whose new column differs from the old
// one. The test replaces the function of the trigger that keeps the columns the same, and
// changes two rows. They are found and copied again, and from then on a CHECK rejects
// such changes.
func pgDiffer(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	pgApplyTo(t, d, sqlmigrate.StageCopy)
	d.Script(t, `CREATE OR REPLACE FUNCTION gormflake_sync_u() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		INSERT INTO u (t_id) VALUES (7); UPDATE u SET t_id = 8 WHERE id = 9`)
	var waited string
	err := d.online(t, "t", "u").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain),
		sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) { waited += p.Waiting }))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(waited, "rows that differ are copied again: 2 rows found, want none") {
		t.Errorf("it waited for %q", waited)
	}
	d.want(t, "SELECT count(*) FROM u WHERE t_id IS DISTINCT FROM gormflake_new_t_id OR id IS DISTINCT FROM gormflake_new_id", "0")
	wantError(t, d.Exec("UPDATE u SET t_id = 9 WHERE id = 9").Error, "gormflake_same")
}

// pgChanged tests that the swap is refused, with the name of the object, if somebody
// changed the tables between two stages. After the change is undone, the swap succeeds.
func pgChanged(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	pgApplyTo(t, d, sqlmigrate.StageConstrain)
	for _, test := range []struct{ change, undo, want string }{
		{"CREATE VIEW v AS SELECT id FROM t", "DROP VIEW v", "v"},
		{"CREATE TABLE w (t_id integer REFERENCES t)", "DROP TABLE w", "constraint w_t_id_fkey on table public.w"},
		{"CREATE INDEX extra ON u (t_id)", "DROP INDEX extra", "index public.extra"},
		{"ALTER TABLE t DISABLE TRIGGER zzzz_gormflake", "ALTER TABLE t ENABLE ALWAYS TRIGGER zzzz_gormflake", "trigger zzzz_gormflake of table t is missing or disabled"},
	} {
		d.Script(t, test.change)
		wantError(t, d.online(t, "t", "u").Apply(context.Background(), d.DB), "stage swap", test.want)
		d.want(t, "SELECT data_type FROM information_schema.columns WHERE table_name = 't' AND column_name = 'id'", "integer")
		d.Script(t, test.undo)
	}
	pgApplyTo(t, d, sqlmigrate.StageSwap)
}

// pgNoWayBack tests that Revert is refused, before it changes anything, if the old column
// cannot hold a new key, and that Finish and Revert are refused in the wrong stage.
func pgNoWayBack(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	wantError(t, d.online(t, "t").Finish(context.Background(), d.DB), "no online move of these tables is under way")
	wantError(t, d.online(t, "t").Revert(context.Background(), d.DB), "no online move of these tables is under way")
	pgApplyTo(t, d, sqlmigrate.StageConstrain)
	wantError(t, d.online(t, "t").Finish(context.Background(), d.DB), "the move is in stage swap: want all stages before finish applied")
	pgApplyTo(t, d, sqlmigrate.StageSwap)
	d.Script(t, "INSERT INTO t (id) VALUES (9007199254740993)")
	plan := d.online(t, "t", "u")
	wantError(t, plan.Revert(context.Background(), d.DB), "find keys of table t that the old columns do not hold: 1 row found, want none (nothing has been taken back)")
	status, err := plan.Status(context.Background(), d.DB)
	if err != nil || !status.Swapped || status.Reverting || status.Stage != sqlmigrate.StageFinish {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := plan.Finish(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	wantError(t, plan.Revert(context.Background(), d.DB), "no online move of these tables is under way")
}

// pgEachStep cancels the context of the move before each of its steps in turn. After each
// time, the number of completed steps must be right, no session may keep a transaction
// open, and the next Apply must resume the move.
func pgEachStep(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	stopped := errors.New("stopped")
	steps := 0
	for done := 0; ; done++ {
		ctx, cancel := context.WithCancelCause(context.Background())
		err := d.online(t, "t", "u").Apply(ctx, d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			steps = p.Of
			if p.Step != "" && p.Done == done {
				cancel(stopped)
			}
		}))
		cancel(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) && !errors.Is(err, stopped) {
			t.Fatalf("step %d: %v", done, err)
		}
		status, err := d.online(t, "t", "u").Status(context.Background(), d.DB)
		if err != nil || status.Done != done {
			t.Errorf("stopped before step %d: %+v, %v", done, status, err)
		}
		if done == steps/2 { // also take the move back half-way, and start it again
			if err := d.online(t, "t", "u").Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			pgApplyTo(t, d, sqlmigrate.StageIndex)
		}
		const open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
		for began := time.Now(); d.Value(t, open) != "0" && time.Since(began) < time.Minute; { // the server needs a moment to notice that the connection is closed
			time.Sleep(time.Millisecond)
		}
		d.want(t, open, "0")
	}
	d.want(t, "SELECT count(*) FROM u JOIN t ON t.id = t_id WHERE t.id::text = u.t_id::text", "1000")
}

// pgBackStopped stops Revert before each of its steps in turn. After the first stop, Apply
// must be refused, because the move is being taken back, and the next Revert must continue.
// At the end the database must be as before the move.
func pgBackStopped(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	before := d.dump(t)
	pgApplyTo(t, d, sqlmigrate.StageSwap)
	for done := 0; ; done++ {
		ctx, cancel := context.WithCancel(context.Background())
		err := d.online(t, "t", "u").Revert(ctx, d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			if p.Step != "" && p.Done == done {
				cancel()
			}
		}))
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("step %d: %v", done, err)
		}
		wantError(t, d.online(t, "t", "u").Apply(context.Background(), d.DB), "is being taken back")
	}
	same(t, "afterwards", d.dump(t), before)
}

// pgForgotten tests that a run stops if somebody deletes the row of table
// sqlmigrate_online that stores the move. It deletes the row before a step of each kind.
func pgForgotten(t *testing.T, server *pgServer) {
	for _, stage := range []sqlmigrate.StageName{sqlmigrate.StagePrepare, sqlmigrate.StageCopy, sqlmigrate.StageIndex, sqlmigrate.StageSwap} {
		t.Run(string(stage), func(t *testing.T) {
			t.Parallel()
			d := server.database(t, pgSmall)
			forget := sync.OnceFunc(func() { d.Script(t, "DELETE FROM sqlmigrate_online") })
			err := d.online(t, "t", "u").Apply(context.Background(), d.DB, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
				if p.Stage == stage {
					forget()
				}
			}))
			wantError(t, err, `"sqlmigrate_online" has lost the move of table`, "restore it from a backup")
		})
	}
}

// pgTwice tests two programs that apply the same move at the same time. Each of them must
// succeed, after it may have waited for the other, or get an error that names the other
// session. Afterwards the move must be complete, and no row may be lost.
func pgTwice(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	var both sync.WaitGroup
	for range 2 {
		plan, db := d.online(t, "t", "u"), migratetest.PgOpen(t, d.URL)
		both.Go(func() {
			if err := plan.Apply(context.Background(), db); err != nil && !strings.Contains(err.Error(), "another session") {
				t.Error(err)
			}
		})
	}
	both.Wait()
	d.want(t, "SELECT count(*) FROM u JOIN t ON t.id = t_id", "1000")
	d.want(t, "SELECT data_type FROM information_schema.columns WHERE table_name = 't' AND column_name = 'id'", "bigint")
}

// pgHeld tests a swap while a long transaction holds one of the tables. Readers that come
// later wait behind a try of the swap only until its lock timeout, and the swap succeeds
// after the transaction has ended.
func pgHeld(t *testing.T, server *pgServer) {
	const held, lockWait = 2 * time.Second, 100 * time.Millisecond
	d := server.database(t, pgSmall)
	pgApplyTo(t, d, sqlmigrate.StageConstrain)
	holder := migratetest.PgOpen(t, d.URL).Begin()
	if err := holder.Exec("SELECT count(*) FROM t").Error; err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { holder.Rollback() })
	defer release()
	later := sync.OnceFunc(func() { time.AfterFunc(held, release) })
	// If the swap never reports a wait, the transaction ends after a minute, so that the
	// test ends too.
	defer time.AfterFunc(time.Minute, release).Stop()
	reader := &program{name: "reader", do: shopCount("t")}
	programs := startLoad(t, migratetest.PgOpen(t, d.URL+"&default_query_exec_mode=exec"), reader)
	begun, waited := time.Now(), ""
	err := d.online(t, "t", "u").Apply(context.Background(), d.DB, sqlmigrate.WithLockTimeout(lockWait),
		sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			if waited += p.Waiting; p.Waiting != "" {
				later()
			}
		}))
	if took := time.Since(begun); err != nil || took < held {
		t.Errorf("it took %v: %v", took, err)
	}
	programs.end(t)
	if reader.longest > held/2 {
		t.Errorf("a reader waited for %v, want about %v", reader.longest, lockWait)
	}
	if !strings.Contains(waited, "a lock, after 1 try: process ") || !strings.Contains(waited, "SELECT count(*) FROM t") {
		t.Errorf("it waited for %q", waited)
	}
}

// pgHeldRow tests that the copy waits while a transaction holds rows of the table, and
// reports the reason. The copy skips locked rows at first, so it must come back to them.
func pgHeldRow(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	holder := migratetest.PgOpen(t, d.URL).Begin()
	pgApplyTo(t, d, sqlmigrate.StagePrepare)
	if err := holder.Exec("SELECT FROM t WHERE id < 10 FOR UPDATE").Error; err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { holder.Rollback() })
	defer time.AfterFunc(time.Minute, release).Stop() // if the copy never reports a wait
	waited := ""
	err := d.online(t, "t", "u").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy),
		sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
			if waited += p.Waiting; p.Waiting != "" {
				release()
			}
		}))
	if err != nil || !strings.Contains(waited, "that another program holds") {
		t.Errorf("it waited for %q: %v", waited, err)
	}
	d.want(t, "SELECT count(*) FROM t WHERE gormflake_new_id = id", "1000")
}

// pgCached tests programs that keep their statements prepared. When the columns of a
// table change, PostgreSQL refuses a prepared statement with error 0A000, because the
// types of its result would change, and the driver prepares the statement again. Programs
// may get only this error, and once for each such change.
func pgCached(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	errorsSeen := 0
	seen := func(err error) error {
		var state interface{ SQLState() string }
		if errors.As(err, &state) && state.SQLState() == "0A000" {
			errorsSeen++
			return nil
		}
		return err
	}
	reader := &program{name: "reader", pause: time.Millisecond}
	reader.do = checkQueries(seen, "SELECT * FROM t WHERE id = 5", "SELECT id FROM t WHERE id = 6", "SELECT count(*) FROM t")
	programs := startLoad(t, migratetest.PgOpen(t, d.URL), reader)
	plan := d.online(t, "t", "u")
	if err := plan.Apply(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := plan.Finish(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	time.Sleep(200 * time.Millisecond)
	programs.end(t)
	// SELECT * fails after prepare, after swap and after finish, and SELECT id fails
	// after swap. A program that is busy may miss some of the changes.
	if errorsSeen < 2 || errorsSeen > 4 {
		t.Errorf("%d errors, want from 2 to 4", errorsSeen)
	}
}

// pgPositions tests that a program can execute INSERT without a list of columns in each
// stage. The move appends its new columns behind the others. After the swap, such an
// INSERT writes the key to the old column, which is still the first, and a trigger moves
// it to the new one.
func pgPositions(t *testing.T, server *pgServer) {
	d := server.database(t, pgSmall)
	for i, last := range []sqlmigrate.StageName{sqlmigrate.StagePrepare, sqlmigrate.StageConstrain, sqlmigrate.StageSwap} {
		pgApplyTo(t, d, last)
		id := 5000 + i
		if err := d.Exec("INSERT INTO t VALUES (?, 'by position')", id).Error; err != nil {
			t.Fatal(err)
		}
	}
	d.want(t, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t WHERE name = 'by position'", "5000 5001 5002")
}
