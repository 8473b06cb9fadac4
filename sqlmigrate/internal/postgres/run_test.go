package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// After a failure at any statement, a second run of the same plan completes the move. The
// failure is a context that is canceled when a statement begins, once for each statement,
// up and down. A third run finds nothing to do.
func postgresFailures(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	ctx := context.Background()
	plan := d.Inspect(t, "users", "orders")
	start := d.Dump(t)
	d.Apply(t, plan)
	end := d.Dump(t)
	d.Revert(t, plan)
	for _, direction := range []struct {
		name         string
		start, end   string
		call, finish func(context.Context, ...sqlmigrate.ApplyOption) error // finish takes the result of call back
	}{
		{
			"up", start, end,
			func(ctx context.Context, opts ...sqlmigrate.ApplyOption) error { return plan.Apply(ctx, d.DB, opts...) },
			func(ctx context.Context, opts ...sqlmigrate.ApplyOption) error {
				return plan.Revert(ctx, d.DB, opts...)
			},
		},
		{
			"down", end, start,
			func(ctx context.Context, opts ...sqlmigrate.ApplyOption) error {
				return plan.Revert(ctx, d.DB, opts...)
			},
			func(ctx context.Context, opts ...sqlmigrate.ApplyOption) error { return plan.Apply(ctx, d.DB, opts...) },
		},
	} {
		statements := 0
		for fail := 1; ; fail++ { // until a run has no statement with this number, and succeeds
			cancelled, cancel := context.WithCancelCause(ctx)
			seen := 0
			err := direction.call(cancelled, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
				if p.SQL == "" { // after the last statement of a phase
					return
				}
				if seen++; seen == fail {
					cancel(errors.New("injected"))
				}
			}))
			cancel(nil)
			if err == nil {
				statements = fail - 1
				break
			}
			if err := direction.call(ctx); err != nil {
				t.Fatalf("%s, second run after a failure at statement %d: %v", direction.name, fail, err)
			}
			migratetest.PgSame(t, fmt.Sprintf("%s, second run after a failure at statement %d", direction.name, fail), d.Dump(t), direction.end)
			if err := direction.call(ctx); err != nil {
				t.Fatalf("%s, third run: %v", direction.name, err)
			}
			if err := direction.finish(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if statements < 8 { // the loop has ended before it reached all statements
			t.Errorf("%s: %d statements, want at least 8", direction.name, statements)
		}
		migratetest.PgSame(t, direction.name, d.Dump(t), direction.end)
	}
}

// An error of the database in the middle of a phase rolls the phase back. The test
// inserts a division by zero after each statement of the plan. Only phase guard has a
// second transaction, after whose failure the first transaction stays.
func postgresRollsBack(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	plan := d.Inspect(t, "users", "orders")
	for _, phase := range plan.Phases {
		for i, step := range phase.Steps {
			for j := range step.Up {
				broken := *plan
				broken.Phases = []sqlmigrate.Phase{{Name: phase.Name, Steps: slices.Clone(phase.Steps)}}
				broken.Phases[0].Steps[i].Up = slices.Concat(step.Up[:j+1], []sqlmigrate.Statement{{SQL: "SELECT 1/0"}})
				before := d.Dump(t)
				state := "nothing of this phase has been changed"
				if step.Transaction > 0 { // the first transaction of the phase has been committed
					state = "of this phase applied and kept: fix the cause and run the same plan again to resume"
				}
				migratetest.WantError(t, broken.Apply(context.Background(), d.DB), "SELECT 1/0", "division by zero", state)
				if step.Transaction > 0 {
					d.Revert(t, plan, sqlmigrate.WithPhases(phase.Name))
				}
				migratetest.PgSame(t, fmt.Sprintf("%s, after statement %d of step %d", phase.Name, j+1, i+1), d.Dump(t), before)
			}
		}
		d.Apply(t, plan, sqlmigrate.WithPhases(phase.Name))
	}
	if again := d.Inspect(t, "users", "orders"); !again.Empty() {
		t.Errorf("the plan is not empty:\n%s", again)
	}
}

// If another session holds a lock, Apply fails after the lock timeout, changes nothing, and
// names the statement that waited. Without a lock timeout, Apply waits until its context is
// canceled. The setting lock_timeout is then as before, and the plan can be applied after the
// session has released its lock.
func postgresLockTimeout(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, migratetest.PgShop)
	plan := d.Inspect(t, "users", "orders")
	before := d.Dump(t)
	reader := d.Begin()
	defer reader.Rollback()
	migratetest.Run(t, reader, "SELECT count(*) FROM orders")
	err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithLockTimeout(50*time.Millisecond), sqlmigrate.WithRetryFor(0))
	migratetest.WantError(t, err, `LOCK TABLE "public"."orders"`, "55P03", "longer lock timeout")

	// Without a timeout the plan waits until its context is canceled.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- plan.Apply(ctx, d.DB, sqlmigrate.WithLockTimeout(0)) }()
	for d.Value(t, "SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	for d.Value(t, "SELECT count(*) FROM pg_locks WHERE NOT granted") != "0" { // the server needs a moment to notice
		time.Sleep(time.Millisecond)
	}
	reader.Rollback()
	migratetest.PgSame(t, "after the attempts", d.Dump(t), before)
	if got := d.Value(t, "SELECT current_setting('lock_timeout')"); got != "0" {
		t.Errorf("lock_timeout %s is left behind", got)
	}
	d.Apply(t, plan, sqlmigrate.WithLockTimeout(50*time.Millisecond))
}

// After phase detach was taken back, the database assigns the key that follows the keys
// in use. If a key of the table was past the sequence before the move already, the sequence
// continues with its next key, as it would without the move.
//
// The test inserts ddl into CREATE TABLE t (…). A ddl with further statements closes the
// parenthesis, and ends with a CREATE TABLE whose parenthesis is still open. The statements in
// between write keys after Apply, as programs would.
func postgresNextKey(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct {
		name, ddl, between string
		want               string
	}{
		{"empty", "id serial PRIMARY KEY", "", "1"},
		{"max+1", "id serial PRIMARY KEY", "INSERT INTO t VALUES (41)", "42"},
		{"unchanged", "id serial PRIMARY KEY); INSERT INTO t VALUES (DEFAULT), (DEFAULT); CREATE TABLE x (n integer", "", "3"},
		{"never a key that was given away", "id serial PRIMARY KEY); INSERT INTO t VALUES (DEFAULT), (DEFAULT); DELETE FROM t; CREATE TABLE x (n integer", "INSERT INTO t VALUES (1)", "3"},
		{"identity", "id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "INSERT INTO t VALUES (41)", "42"},
		{"bigserial", "id bigserial PRIMARY KEY", "INSERT INTO t VALUES (361439850948198)", "361439850948199"},
		{"behind already", "id serial PRIMARY KEY); INSERT INTO t VALUES (7), (40); CREATE TABLE x (n integer", "DELETE FROM t WHERE id = 7", "1"},
		{"behind already, and further", "id serial PRIMARY KEY); INSERT INTO t VALUES (DEFAULT), (40); CREATE TABLE x (n integer", "INSERT INTO t VALUES (41)", "42"},
		{"behind already and called", "id serial PRIMARY KEY); INSERT INTO t VALUES (DEFAULT), (40); CREATE TABLE x (n integer", "", "2"},
		{"shared, behind already", "id integer PRIMARY KEY); CREATE SEQUENCE s; ALTER TABLE t ALTER id SET DEFAULT nextval('s'); INSERT INTO t VALUES (40); CREATE TABLE x (n integer DEFAULT nextval('s')", "", "1"},
		{"backwards, behind already", "id integer GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY -2 MINVALUE 1 MAXVALUE 500 START WITH 400) PRIMARY KEY); INSERT INTO t VALUES (300); CREATE TABLE x (n integer", "", "400"},
		{"the series continues", "id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 3 INCREMENT BY 10) PRIMARY KEY", "INSERT INTO t VALUES (25)", "33"},
		{"the series is met", "id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 3 INCREMENT BY 10) PRIMARY KEY", "INSERT INTO t VALUES (23)", "33"},
		{"first of the series", "id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 3 INCREMENT BY 10) PRIMARY KEY", "INSERT INTO t VALUES (3)", "13"},
		{"before the series", "id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 100) PRIMARY KEY", "INSERT INTO t VALUES (99)", "100"},
		{"backwards", "id integer GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY -2 MINVALUE 1 MAXVALUE 500 START WITH 400) PRIMARY KEY", "INSERT INTO t VALUES (399), (450)", "398"},
		{"shared, and gone on", "id integer PRIMARY KEY); CREATE SEQUENCE s; ALTER TABLE t ALTER id SET DEFAULT nextval('s'); CREATE TABLE x (n integer DEFAULT nextval('s')", "INSERT INTO x VALUES (DEFAULT), (DEFAULT)", "3"},
		{"shared, and met", "id integer PRIMARY KEY); CREATE SEQUENCE s; ALTER TABLE t ALTER id SET DEFAULT nextval('s'); CREATE TABLE x (n integer DEFAULT nextval('s')", "INSERT INTO t VALUES (1)", "2"},
		{"child of an earlier name", "id serial PRIMARY KEY); CREATE TABLE a (n integer) INHERITS (t", "INSERT INTO t VALUES (5); INSERT INTO a VALUES (4)", "6"},
		{"child's own", "id serial PRIMARY KEY); CREATE TABLE c (id serial) INHERITS (t); CREATE TABLE x (n integer", "INSERT INTO t VALUES (5); INSERT INTO c VALUES (9)", "10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "CREATE TABLE t ("+test.ddl+")")
			plan := d.Inspect(t, "t")
			d.Apply(t, plan)
			d.Script(t, test.between)
			d.Revert(t, plan)
			var got string
			if err := d.Raw("INSERT INTO t DEFAULT VALUES RETURNING id").Row().Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("the next key is %s, want %s", got, test.want)
			}
		})
	}
}

// A table whose sequence has no further value is moved back to the state that it had,
// also if only a key that was written by hand is at the end of the sequence.
func postgresAtEnd(t *testing.T, server *migratetest.PgServer) {
	for name, ddl := range map[string]string{
		"used up":                   "CREATE TABLE t (id serial PRIMARY KEY); ALTER SEQUENCE t_id_seq RESTART 2147483647; INSERT INTO t DEFAULT VALUES",
		"written by hand":           "CREATE TABLE t (id serial PRIMARY KEY); INSERT INTO t VALUES (2147483647)",
		"identity used up":          "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT 2 MAXVALUE 3) PRIMARY KEY, n integer); INSERT INTO t (n) VALUES (1), (2)",
		"backwards, to its minimum": "CREATE TABLE t (id integer GENERATED BY DEFAULT AS IDENTITY (INCREMENT -1 MINVALUE 1 MAXVALUE 9 START 2) PRIMARY KEY, n integer); INSERT INTO t (n) VALUES (1), (2)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.Database(t, ddl).RoundTrip(t, "t")
		})
	}
}

// Revert refuses a key that does not fit into the former type of its column (the check of phase
// widen), and a key after which a sequence could not continue (the check of phase detach). It
// refuses before it changes the database.
func postgresLargeKeys(t *testing.T, server *migratetest.PgServer) {
	const id = "361439850948198"
	for _, test := range []struct{ name, ddl, insert, want string }{
		{"key", "CREATE TABLE t (id serial PRIMARY KEY)", "INSERT INTO t VALUES (" + id + ")", "column id of table t holds keys"},
		{"smallint", "CREATE TABLE t (id smallserial PRIMARY KEY)", "INSERT INTO t VALUES (32768)", "column id of table t holds keys"},
		{"reference", "CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE c (t_id integer, CONSTRAINT f FOREIGN KEY (t_id) REFERENCES t NOT VALID)", "ALTER TABLE c DROP CONSTRAINT f; INSERT INTO c VALUES (" + id + ")", "column t_id of table c holds keys that do not fit into integer"},
		{"bigserial", "CREATE TABLE t (id bigserial PRIMARY KEY)", "INSERT INTO t VALUES (9000000000000000000)", "column id of table t has Snowflake IDs, from which the database would continue"},
		{"sequence", "CREATE TABLE t (id bigserial PRIMARY KEY); ALTER SEQUENCE t_id_seq AS integer", "INSERT INTO t VALUES (2147483647)", "sequence t_id_seq cannot continue"},
		{"identity with a maximum", "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 99) PRIMARY KEY)", "INSERT INTO t VALUES (100)", "sequence t_id_seq cannot continue"},
		{"partition", "CREATE TABLE t (id serial, n integer, PRIMARY KEY (id, n)) PARTITION BY RANGE (n); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (9)", "INSERT INTO t VALUES (" + id + ", 1)", "column id of table t holds keys"},
		{"odd names", `CREATE TABLE "T $$ 'x' %" ("Id %s $$" serial PRIMARY KEY); CREATE TABLE t (id integer PRIMARY KEY REFERENCES "T $$ 'x' %")`, `INSERT INTO "T $$ 'x' %" VALUES (` + id + ")", `column Id %s $$ of table T $$ 'x' % holds keys`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, test.ddl)
			plan := d.Inspect(t, "t")
			d.Apply(t, plan)
			d.Script(t, test.insert)
			before := d.Dump(t)
			migratetest.WantError(t, plan.Revert(context.Background(), d.DB), test.want, "nothing of this phase has been changed")
			migratetest.PgSame(t, "after the refusal", d.Dump(t), before)
		})
	}
}
