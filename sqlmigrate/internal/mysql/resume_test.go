package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlImplicit creates the tables of MySQLSmall and a table with foreign keys for which
// the server creates indexes. The server names such an index after the column. When the
// foreign key is added again, the server would name the index after the constraint.
func mysqlImplicit(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	db := migratetest.MySQLSmall(t, on)
	migratetest.MySQLExec(t, db, "CREATE TABLE parts (user_id int, order_id int unsigned, note int, paid int,"+
		" FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL, FOREIGN KEY (order_id) REFERENCES orders (id), KEY (note), KEY (paid))",
		"INSERT INTO parts VALUES (2, 4, 1, 1)")
	return db
}

// mysqlFailure is a way to stop a run when a statement is about to begin.
type mysqlFailure struct {
	name string
	step int // the distance between the statements at which the run is stopped
	fail func(t *testing.T, db *gorm.DB, cancel context.CancelFunc)
}

// mysqlCanceled cancels the context of the run.
func mysqlCanceled(step int) mysqlFailure {
	return mysqlFailure{name: "context", step: step, fail: func(_ *testing.T, _ *gorm.DB, cancel context.CancelFunc) { cancel() }}
}

// mysqlFailures returns the ways to stop a run. The first cancels its context, and the
// second kills its connections.
func mysqlFailures(on testdb.Target) []mysqlFailure {
	return []mysqlFailure{
		mysqlCanceled(mysqlStep(on, 2)),
		{"connection", mysqlStep(on, 5), func(t *testing.T, db *gorm.DB, _ context.CancelFunc) {
			for _, id := range migratetest.MySQLStrings(t, db, "SELECT id FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND id <> CONNECTION_ID()") {
				migratetest.MySQLExec(t, db, "KILL "+id)
			}
		}},
	}
}

// A mysqlStop stops a run of Apply or Revert once.
type mysqlStop struct {
	mysqlFailure
	statement int                // the statement at which the run is stopped, counted from 0 over all phases
	reached   bool               // whether the run came to the statement, so that it was stopped
	ctx       context.Context    // the context for the run
	cancel    context.CancelFunc // cancels ctx
}

// at returns an option that stops the run in db at the statement.
func (s *mysqlStop) at(t *testing.T, db *gorm.DB) sqlmigrate.ApplyOption {
	seen := 0
	return sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		if p.SQL == "" {
			return
		}
		if seen == s.statement {
			s.reached = true
			s.fail(t, db, s.cancel)
		}
		seen++
	})
}

// mysqlEachStop calls test in a subtest again and again, each time with a stop at a later
// statement, until the run in test ends before the stop. It starts at a random statement,
// so that repeated tests stop at all of them. The name of a subtest is name and the
// number of the statement.
func mysqlEachStop(t *testing.T, name string, f mysqlFailure, test func(t *testing.T, stop *mysqlStop)) {
	t.Helper()
	for n := rand.IntN(f.step); ; n += f.step {
		stop := &mysqlStop{mysqlFailure: f, statement: n}
		t.Run(fmt.Sprint(name, n), func(t *testing.T) {
			stop.ctx, stop.cancel = context.WithCancel(t.Context())
			defer stop.cancel()
			test(t, stop)
		})
		if !stop.reached {
			return
		}
	}
}

// mysqlMoved returns the schema before a move, and the schema and the rows after a move
// without a failure.
func mysqlMoved(t *testing.T, on testdb.Target) (before, schema, data map[string]string) {
	t.Helper()
	db := migratetest.MySQLSmall(t, on)
	before = migratetest.MySQLSchema(t, db)
	mysqlApply(t, db, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...))
	return before, migratetest.MySQLSchema(t, db), mysqlData(t, db)
}

// After a failure at any statement, a new plan completes the move, and the first plan
// takes the whole move back.
func TestMySQLResumesWithNewPlan(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, data := mysqlMoved(t, on)
		for _, f := range mysqlFailures(on) {
			mysqlEachStop(t, f.name+" at ", f, func(t *testing.T, stop *mysqlStop) {
				db := migratetest.MySQLSmall(t, on)
				first := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				err := first.Apply(stop.ctx, db, stop.at(t, db))
				if stop.reached == (err == nil) { // it must fail exactly if it was stopped
					t.Fatalf("Apply: %v, failure injected: %v", err, stop.reached)
				}
				second := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				mysqlApply(t, db, second)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
				if third := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...); !third.Empty() {
					t.Errorf("a third plan is not empty:\n%s", third)
				}
				mysqlRevert(t, db, first)
				migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), before)
				migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
			})
		}
	})
}

// If phase widen has stopped half-way, a new plan can take the whole phase back, although
// the new plan has not seen the original schema.
func TestMySQLNewPlanTakesBackWiden(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		mysqlEachStop(t, "", mysqlCanceled(mysqlStep(on, 1)), func(t *testing.T, stop *mysqlStop) {
			db := mysqlImplicit(t, on)
			before, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
			err := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...).Apply(stop.ctx, db, sqlmigrate.WithPhases(sqlmigrate.Widen),
				stop.at(t, db))
			if !stop.reached { // the phase was not stopped, so a new plan would not take it back
				return
			}
			if strings.Contains(err.Error(), "DROP TABLE `sqlmigrate_journal`") {
				return // the phase is complete, and only the empty journal is left to drop
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Apply: %v, want context.Canceled", err)
			}
			mysqlRevert(t, db, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...))
			migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
			migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
		})
	})
}

// The same plan resumes a run where it stopped, in both directions. If Revert has
// stopped, a new plan can also apply the move again.
func TestMySQLResumesWithSamePlan(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, data := mysqlMoved(t, on)
		for _, f := range mysqlFailures(on) {
			mysqlEachStop(t, f.name+" at ", f, func(t *testing.T, stop *mysqlStop) {
				db := migratetest.MySQLSmall(t, on)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				_ = plan.Apply(stop.ctx, db, stop.at(t, db))
				mysqlApply(t, db, plan)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
				mysqlApply(t, db, plan) // finds no work
				migratetest.MySQLSame(t, "schema after another run", migratetest.MySQLSchema(t, db), schema)
			})
		}
		for _, f := range mysqlFailures(on) {
			mysqlEachStop(t, "down, "+f.name+" at ", f, func(t *testing.T, stop *mysqlStop) {
				db := migratetest.MySQLSmall(t, on)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				mysqlApply(t, db, plan)
				_ = plan.Revert(stop.ctx, db, stop.at(t, db))
				if stop.statement%2 == 0 { // in half of the cases, a new plan applies the move again
					mysqlApply(t, db, migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...))
					migratetest.MySQLSame(t, "schema of the way back up", migratetest.MySQLSchema(t, db), schema)
				}
				mysqlRevert(t, db, plan)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
				migratetest.MySQLExec(t, db, "INSERT INTO users (boss_id) VALUES (1)", "INSERT INTO orders (a_id) VALUES (1)")
				if got := migratetest.MySQLRow(t, db, "SELECT (SELECT MAX(id) FROM users), (SELECT MAX(id) FROM orders)"); strings.Join(got, " ") != "3 5" {
					t.Errorf("next keys = %s, want 3 5", got)
				}
			})
		}
	})
}

// If phase widen has stopped half-way, the same plan takes back all that it did, also the
// names of indexes that the server has created.
func TestMySQLSamePlanTakesBackWiden(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		mysqlEachStop(t, "", mysqlCanceled(mysqlStep(on, 1)), func(t *testing.T, stop *mysqlStop) {
			db := mysqlImplicit(t, on)
			before, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
			plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
			err := plan.Apply(stop.ctx, db, sqlmigrate.WithPhases(sqlmigrate.Widen), stop.at(t, db))
			if stop.reached == (err == nil) { // it must fail exactly if it was stopped
				t.Fatalf("Apply: %v, failure injected: %v", err, stop.reached)
			}
			mysqlRevert(t, db, plan)
			migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
			migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
		})
	})
}

// Revert does not change an index that somebody has renamed after Apply.
func TestMySQLRevertLeavesIndex(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlImplicit(t, on)
		before := migratetest.MySQLSchema(t, db)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		mysqlApply(t, db, plan)
		migratetest.MySQLExec(t, db, "ALTER TABLE parts RENAME KEY user_id TO mine")
		mysqlRevert(t, db, plan)
		before["parts"] = strings.Replace(before["parts"], "KEY `user_id`", "KEY `mine`", 1)
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
	})
}

// A plan for other tables completes the interrupted phase of an earlier run, because no
// foreign key may stay dropped. It does not begin the next phases for the tables of that
// run.
func TestMySQLOtherPlanFinishes(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		keys := mysqlForeignKeys(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := migratetest.MySQLInspect(t, db, "users").Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if strings.Contains(p.SQL, "ADD CONSTRAINT") {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Apply: %v, want context.Canceled", err)
		}
		mysqlApply(t, db, migratetest.MySQLInspect(t, db, "flags"))
		if got := mysqlForeignKeys(t, db); strings.Join(got, " ") != strings.Join(keys, " ") {
			t.Errorf("foreign keys = %q, want %q", got, keys)
		}
		for _, want := range []string{"users.id bigint auto_increment", "users.boss_id bigint", "orders.a_id bigint", "orders.id int unsigned auto_increment", "flags.id bigint"} {
			name, want, _ := strings.Cut(want, " ")
			table, column, _ := strings.Cut(name, ".")
			if got := mysqlColumnType(t, db, table, column); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if rest := migratetest.MySQLInspect(t, db, "users"); len(rest.Phases) != 2 || rest.Phases[0].Name != sqlmigrate.Detach {
			t.Errorf("what is left is not detach and guard:\n%s", rest)
		}
	})
}

// If a transaction uses a table for longer than the lock timeout, Apply returns the error
// of the server and names the statement. Later the same plan can be applied.
func TestMySQLLockTimeout(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		tx, err := migratetest.MySQLPool(t, db).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders (a_id) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		// The shortest timeout of the servers is a second.
		err = plan.Apply(t.Context(), db, sqlmigrate.WithLockTimeout(1), sqlmigrate.WithRetryFor(0))
		if err == nil || !strings.Contains(err.Error(), "1205") || !strings.Contains(err.Error(), "DROP FOREIGN KEY") {
			t.Errorf("Apply: %v, want error 1205 and the statement", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		mysqlApply(t, db, plan)
	})
}

// A second run in the same database does not begin while the first is in progress,
// because both would change the same tables.
func TestMySQLOneRunAtATime(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		var second error
		mysqlApply(t, db, plan, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if second == nil && strings.Contains(p.SQL, "MODIFY") {
				second = plan.Apply(t.Context(), db, sqlmigrate.WithLockTimeout(1), sqlmigrate.WithRetryFor(0))
			}
		}))
		if second == nil || !strings.Contains(second.Error(), "another run is under way") {
			t.Errorf("Apply during another one: %v, want an error that says so", second)
		}
	})
}

// If the account lacks a right that Apply needs, such as the right to create the journal,
// Apply does not change the database, and its error names the cause. The error of Inspect
// for a table that the account may not see names the cause too.
func TestMySQLRights(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		name, user := migratetest.MySQLRow(t, db, "SELECT DATABASE()")[0], mysqlReader(t, db)
		limited := mysqlAs(t, db, user)
		schema := migratetest.MySQLSchema(t, db)
		plan, err := migratetest.Inspect(t.Context(), limited, migratetest.MySQLSmallTargets()...)
		if err != nil {
			t.Fatal(err)
		}
		want := "1142" // the server's error for a statement without the right to it
		if mysqlMariaDB(t, db) {
			// Inspect reads the foreign keys by SHOW CREATE TABLE, and Apply looks for them
			// in information_schema, where MariaDB hides them from an account that may only
			// read. So the error of Apply says that the table has changed, or that the
			// account may not ALTER it.
			want = "may not ALTER it"
		}
		if err := plan.Apply(t.Context(), limited); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Apply with the right to read: %v, want an error with %q", err, want)
		}
		migratetest.MySQLExec(t, db, "GRANT ALTER ON "+name+".* TO "+user)
		if err := plan.Apply(t.Context(), limited); err == nil || !strings.Contains(err.Error(), "1142") {
			t.Errorf("Apply with the rights to read and alter: %v, want error 1142", err)
		}
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLExec(t, db, "REVOKE SELECT, ALTER ON "+name+".* FROM "+user, "GRANT SELECT ON "+name+".users TO "+user)
		if _, err := sqlmigrate.Inspect(t.Context(), mysqlAs(t, db, user), "orders"); err == nil || !strings.Contains(err.Error(), "no right to see it") {
			t.Errorf("Inspect without a right: %v, want an error that says so", err)
		}
	})
}
