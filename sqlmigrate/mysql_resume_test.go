package sqlmigrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// mysqlSmall is a schema whose plan has every kind of statement.
func mysqlSmall(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	return mysqlOpen(t, on,
		"CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s \\\\ one', boss_id int, CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id) ON DELETE SET NULL)",
		"CREATE TABLE orders (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, a_id int, b_id int, CONSTRAINT fk_b FOREIGN KEY (b_id) REFERENCES users (id), CONSTRAINT fk_a FOREIGN KEY (a_id) REFERENCES users (id) ON DELETE CASCADE)",
		"CREATE TABLE flags (id int NOT NULL DEFAULT 7 PRIMARY KEY)",
		"INSERT INTO users VALUES (1, NULL), (2, 1)", "INSERT INTO orders VALUES (1, 1, 2), (4, 2, NULL)", "INSERT INTO flags VALUES (3)")
}

// mysqlImplicit has indexes that come with foreign keys and have other names.
func mysqlImplicit(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	db := mysqlSmall(t, on)
	mysqlExec(t, db, "CREATE TABLE parts (user_id int, order_id int unsigned, note int, paid int,"+
		" FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL, FOREIGN KEY (order_id) REFERENCES orders (id), KEY (note), KEY (paid))",
		"INSERT INTO parts VALUES (2, 4, 1, 1)")
	return db
}

func mysqlSmallTargets() []any { return []any{"users", "orders", "flags"} }

// mysqlFailure ends what is under way when a statement is about to begin.
type mysqlFailure struct {
	name string
	step int // it comes at every so many statements, from one of the first on
	fail func(t *testing.T, db *gorm.DB, cancel context.CancelFunc)
}

func mysqlFailures(on testdb.Target) []mysqlFailure {
	return []mysqlFailure{
		{"context", mysqlStep(on, 2), func(_ *testing.T, _ *gorm.DB, cancel context.CancelFunc) { cancel() }},
		{"connection", mysqlStep(on, 5), func(t *testing.T, db *gorm.DB, _ context.CancelFunc) {
			for _, id := range mysqlStrings(t, db, "SELECT id FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND id <> CONNECTION_ID()") {
				mysqlExec(t, db, "KILL "+id)
			}
		}},
	}
}

// mysqlFailAt is the option that lets statement n of all phases fail, counted
// from 0, and reports through reached whether there was one.
func mysqlFailAt(t *testing.T, db *gorm.DB, n int, f mysqlFailure, cancel context.CancelFunc, reached *bool) sqlmigrate.ApplyOption {
	seen := 0
	return sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		if p.SQL == "" {
			return
		}
		if seen == n {
			*reached = true
			f.fail(t, db, cancel)
		}
		seen++
	})
}

// mysqlMoved are the schema and the data that a run without a failure leaves.
func mysqlMoved(t *testing.T, on testdb.Target) (before, schema, data map[string]string) {
	t.Helper()
	db := mysqlSmall(t, on)
	before = mysqlSchema(t, db)
	mysqlApply(t, db, mysqlInspect(t, db, mysqlSmallTargets()...))
	return before, mysqlSchema(t, db), mysqlData(t, db)
}

// After a failure at any statement, a new plan finishes what the other began,
// and takes it back as a whole.
func TestMySQLResumesWithNewPlan(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, data := mysqlMoved(t, on)
		for _, f := range mysqlFailures(on) {
			for n := rand.IntN(f.step); ; n += f.step {
				reached := false
				t.Run(fmt.Sprintf("%s at %d", f.name, n), func(t *testing.T) {
					db := mysqlSmall(t, on)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					first := mysqlInspect(t, db, mysqlSmallTargets()...)
					err := first.Apply(ctx, db, mysqlFailAt(t, db, n, f, cancel, &reached))
					if reached == (err == nil) {
						t.Fatalf("Apply: %v, failure injected: %v", err, reached)
					}
					second := mysqlInspect(t, db, mysqlSmallTargets()...)
					mysqlApply(t, db, second)
					mysqlSame(t, "schema", mysqlSchema(t, db), schema)
					mysqlSame(t, "data", mysqlData(t, db), data)
					if third := mysqlInspect(t, db, mysqlSmallTargets()...); !third.Empty() {
						t.Errorf("a third plan is not empty:\n%s", third)
					}
					mysqlRevert(t, db, first)
					mysqlSame(t, "schema after down", mysqlSchema(t, db), before)
					mysqlSame(t, "data after down", mysqlData(t, db), data)
				})
				if !reached {
					break
				}
			}
		}
	})
}

// The plan of a phase that has stopped half-way takes back all of it.
func TestMySQLNewPlanTakesBackWiden(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		for n := rand.IntN(mysqlStep(on, 1)); ; n += mysqlStep(on, 1) {
			reached := false
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				db := mysqlImplicit(t, on)
				before, data := mysqlSchema(t, db), mysqlData(t, db)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := mysqlInspect(t, db, mysqlSmallTargets()...).Apply(ctx, db, sqlmigrate.WithPhases(sqlmigrate.Widen),
					mysqlFailAt(t, db, n, mysqlFailures(on)[0], cancel, &reached))
				if !reached {
					return
				}
				if strings.Contains(err.Error(), "DROP TABLE `sqlmigrate_journal`") {
					return // the phase is done: what is left is to remove an empty table
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("Apply: %v, want context.Canceled", err)
				}
				mysqlRevert(t, db, mysqlInspect(t, db, mysqlSmallTargets()...))
				mysqlSame(t, "schema", mysqlSchema(t, db), before)
				mysqlSame(t, "data", mysqlData(t, db), data)
			})
			if !reached {
				break
			}
		}
	})
}

// The same plan resumes where it stopped, up and down.
func TestMySQLResumesWithSamePlan(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		before, schema, data := mysqlMoved(t, on)
		for _, f := range mysqlFailures(on) {
			for n := rand.IntN(f.step); ; n += f.step {
				reached := false
				t.Run(fmt.Sprintf("%s at %d", f.name, n), func(t *testing.T) {
					db := mysqlSmall(t, on)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					plan := mysqlInspect(t, db, mysqlSmallTargets()...)
					_ = plan.Apply(ctx, db, mysqlFailAt(t, db, n, f, cancel, &reached))
					mysqlApply(t, db, plan)
					mysqlSame(t, "schema", mysqlSchema(t, db), schema)
					mysqlSame(t, "data", mysqlData(t, db), data)
					mysqlApply(t, db, plan) // nothing left to do
					mysqlSame(t, "schema after another run", mysqlSchema(t, db), schema)
				})
				if !reached {
					break
				}
			}
		}
		for _, f := range mysqlFailures(on) {
			for n := rand.IntN(f.step); ; n += f.step {
				reached := false
				t.Run(fmt.Sprintf("down, %s at %d", f.name, n), func(t *testing.T) {
					db := mysqlSmall(t, on)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					plan := mysqlInspect(t, db, mysqlSmallTargets()...)
					mysqlApply(t, db, plan)
					_ = plan.Revert(ctx, db, mysqlFailAt(t, db, n, f, cancel, &reached))
					if n%2 == 0 {
						mysqlApply(t, db, mysqlInspect(t, db, mysqlSmallTargets()...))
						mysqlSame(t, "schema of the way back up", mysqlSchema(t, db), schema)
					}
					mysqlRevert(t, db, plan)
					mysqlSame(t, "schema", mysqlSchema(t, db), before)
					mysqlSame(t, "data", mysqlData(t, db), data)
					mysqlExec(t, db, "INSERT INTO users (boss_id) VALUES (1)", "INSERT INTO orders (a_id) VALUES (1)")
					if got := mysqlRow(t, db, "SELECT (SELECT MAX(id) FROM users), (SELECT MAX(id) FROM orders)"); strings.Join(got, " ") != "3 5" {
						t.Errorf("next keys = %s, want 3 5", got)
					}
				})
				if !reached {
					break
				}
			}
		}
	})
}

// The plan that has stopped half-way takes back what it has done. The server
// names an index after its column, and after its foreign key when that is added
// back.
func TestMySQLSamePlanTakesBackWiden(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		for n := rand.IntN(mysqlStep(on, 1)); ; n += mysqlStep(on, 1) {
			reached := false
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				db := mysqlImplicit(t, on)
				before, data := mysqlSchema(t, db), mysqlData(t, db)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				plan := mysqlInspect(t, db, mysqlSmallTargets()...)
				err := plan.Apply(ctx, db, sqlmigrate.WithPhases(sqlmigrate.Widen), mysqlFailAt(t, db, n, mysqlFailures(on)[0], cancel, &reached))
				if reached == (err == nil) {
					t.Fatalf("Apply: %v, failure injected: %v", err, reached)
				}
				mysqlRevert(t, db, plan)
				mysqlSame(t, "schema", mysqlSchema(t, db), before)
				mysqlSame(t, "data", mysqlData(t, db), data)
			})
			if !reached {
				break
			}
		}
	})
}

// An index that somebody has changed since stays as it is on the way down.
func TestMySQLRevertLeavesIndex(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlImplicit(t, on)
		before := mysqlSchema(t, db)
		plan := mysqlInspect(t, db, mysqlSmallTargets()...)
		mysqlApply(t, db, plan)
		mysqlExec(t, db, "ALTER TABLE parts RENAME KEY user_id TO mine")
		mysqlRevert(t, db, plan)
		before["parts"] = strings.Replace(before["parts"], "KEY `user_id`", "KEY `mine`", 1)
		mysqlSame(t, "schema", mysqlSchema(t, db), before)
	})
}

// A plan for other tables finishes what a run has left, and no more than that.
func TestMySQLOtherPlanFinishes(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlSmall(t, on)
		keys := mysqlForeignKeys(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := mysqlInspect(t, db, "users").Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if strings.Contains(p.SQL, "ADD CONSTRAINT") {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Apply: %v, want context.Canceled", err)
		}
		mysqlApply(t, db, mysqlInspect(t, db, "flags"))
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
		if rest := mysqlInspect(t, db, "users"); len(rest.Phases) != 2 || rest.Phases[0].Name != sqlmigrate.Detach {
			t.Errorf("what is left is not detach and guard:\n%s", rest)
		}
	})
}

func TestMySQLLockTimeout(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlSmall(t, on)
		tx, err := mysqlPool(t, db).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders (a_id) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		plan := mysqlInspect(t, db, mysqlSmallTargets()...)
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

func TestMySQLOneRunAtATime(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlSmall(t, on)
		plan := mysqlInspect(t, db, mysqlSmallTargets()...)
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

// Without the right to create the journal, nothing is changed.
func TestMySQLRights(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlSmall(t, on)
		name, user := mysqlRow(t, db, "SELECT DATABASE()")[0], mysqlReader(t, db)
		limited := mysqlAs(t, db, user, "x")
		schema := mysqlSchema(t, db)
		plan := mysqlInspect(t, limited, mysqlSmallTargets()...)
		hidden := "1142" // MySQL shows foreign keys to those who may only read
		if mysqlMariaDB(t, db) {
			hidden = "may not ALTER it"
		}
		if err := plan.Apply(t.Context(), limited); err == nil || !strings.Contains(err.Error(), hidden) {
			t.Errorf("Apply with the right to read: %v, want an error with %q", err, hidden)
		}
		mysqlExec(t, db, "GRANT ALTER ON "+name+".* TO "+user)
		if err := plan.Apply(t.Context(), limited); err == nil || !strings.Contains(err.Error(), "1142") {
			t.Errorf("Apply with the rights to read and alter: %v, want error 1142", err)
		}
		mysqlSame(t, "schema", mysqlSchema(t, db), schema)
		mysqlExec(t, db, "REVOKE SELECT, ALTER ON "+name+".* FROM "+user, "GRANT SELECT ON "+name+".users TO "+user)
		if _, err := sqlmigrate.Inspect(t.Context(), mysqlAs(t, db, user, "x"), "orders"); err == nil || !strings.Contains(err.Error(), "no right to see it") {
			t.Errorf("Inspect without a right: %v, want an error that says so", err)
		}
	})
}
