package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgParted creates tables with every kind of partition, on two levels, and with foreign
// keys between partitioned and other tables. The key is only a part of the primary key.
const pgParted = `
CREATE TABLE users (id serial PRIMARY KEY, name text);
CREATE TABLE orders (id serial, region text NOT NULL, user_id integer NOT NULL CONSTRAINT fk_user REFERENCES users ON DELETE CASCADE, before_id integer, changed integer NOT NULL DEFAULT 0, note text DEFAULT 'new',
  CONSTRAINT orders_key PRIMARY KEY (id, region), CONSTRAINT uq UNIQUE (region, id) DEFERRABLE, CONSTRAINT own CHECK (id > 0 OR before_id <> id)) PARTITION BY LIST (region);
COMMENT ON COLUMN orders.id IS 'the key';
COMMENT ON CONSTRAINT own ON orders IS 'own';
ALTER TABLE orders ALTER before_id SET STATISTICS 500;
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN ('1');
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES IN ('2', '3') PARTITION BY HASH (region);
CREATE TABLE "Orders 2a" PARTITION OF orders_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE orders_2b PARTITION OF orders_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE orders_4 (gone text, note text DEFAULT 'new', changed integer NOT NULL DEFAULT 0, before_id integer, user_id integer NOT NULL, region text NOT NULL, id integer NOT NULL DEFAULT nextval('orders_id_seq'),
  CONSTRAINT own CHECK (id > 0 OR before_id <> id), CONSTRAINT first CHECK (id > 0 OR note = 'id'));
ALTER TABLE orders_4 DROP gone, ALTER before_id SET STATISTICS 500;
ALTER TABLE orders ATTACH PARTITION orders_4 DEFAULT;
ALTER TABLE orders ADD CONSTRAINT fk_before FOREIGN KEY (before_id, region) REFERENCES orders (id, region) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
COMMENT ON CONSTRAINT fk_before ON orders IS 'before';
CREATE INDEX ix_user ON orders (user_id, lower(note), note text_pattern_ops) WHERE note <> 'id';
COMMENT ON INDEX ix_user IS 'user';
CREATE INDEX ix_tens ON orders ((id % 10) DESC, region);
CREATE INDEX ix_2 ON orders_2 (before_id);
CREATE UNIQUE INDEX ux_1 ON orders_1 (id) WITH (fillfactor = 80);
COMMENT ON INDEX ux_1 IS 'one';
ALTER TABLE orders_1 CLUSTER ON ux_1, REPLICA IDENTITY USING INDEX ux_1, ADD CONSTRAINT later CHECK (id + user_id > 0) NOT VALID;
CREATE STATISTICS spread ON user_id, note FROM orders;
CREATE POLICY mine ON orders USING (id > 0);
CREATE POLICY mine ON orders_1 USING (id > 1);
CREATE VIEW open_orders AS SELECT o.id, o.user_id FROM orders o JOIN users u ON u.id = o.user_id;
CREATE VIEW first_orders AS SELECT id FROM orders_1;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.changed := NEW.changed + 1 + NEW.id * 0;
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION stamp();
CREATE TRIGGER number AFTER UPDATE OF id ON orders FOR EACH ROW EXECUTE FUNCTION stamp();
CREATE TABLE lines (order_id integer NOT NULL, region text NOT NULL, number integer NOT NULL, day date NOT NULL DEFAULT '2026-01-02', PRIMARY KEY (order_id, number, day),
  CONSTRAINT fk_order FOREIGN KEY (order_id, region) REFERENCES orders (id, region) ON UPDATE CASCADE ON DELETE CASCADE) PARTITION BY RANGE (day);
CREATE TABLE lines_2025 PARTITION OF lines FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE lines_2026 PARTITION OF lines FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE notes (order_id integer, region text, note text, CONSTRAINT fk_note FOREIGN KEY (order_id, region) REFERENCES orders ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE firsts (order_id integer CONSTRAINT fk_first REFERENCES orders_1 (id) ON DELETE CASCADE);
CREATE TABLE visits (user_id bigint CONSTRAINT fk_visitor REFERENCES users ON DELETE CASCADE, h integer) PARTITION BY HASH (h);
CREATE TABLE visits_0 PARTITION OF visits FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE visits_1 RENAME CONSTRAINT fk_visitor TO fk_one;
`

// pgPartedDDL returns the statements that create and fill the tables of pgParted, and
// table mirror, which contains what the orders must contain. rows is the number of users.
func pgPartedDDL(rows int) string {
	return pgParted + fmt.Sprintf(`
COMMENT ON COLUMN orders_1.id IS 'first';
INSERT INTO users (name) SELECT 'user ' || n FROM generate_series(1, %[1]d) AS n;
INSERT INTO orders (region, user_id) SELECT 1 + n %% 5, 1 + n %% %[1]d FROM generate_series(1, 2 * %[1]d) AS n;
UPDATE orders SET before_id = id WHERE id %% 7 = 0;
INSERT INTO lines SELECT id, region, n, '2025-12-30'::date + n FROM orders, generate_series(1, 3) AS n;
INSERT INTO notes SELECT id, region, 'note' FROM orders WHERE id %% 5 = 0;
INSERT INTO firsts SELECT id FROM orders_1 WHERE id %% 50 = 0;
INSERT INTO visits SELECT 1 + n %% %[1]d, n FROM generate_series(1, %[1]d) AS n;
CREATE TABLE mirror AS SELECT id::bigint, region, user_id::bigint, id %% 2 AS parity FROM orders;
ALTER TABLE mirror ADD PRIMARY KEY (id);
ANALYZE;`, rows)
}

// pgPartedTargets are the targets of the move of pgParted, which finds the other tables
// by their references.
var pgPartedTargets = []any{"users", "orders"}

// pgPartedStages tests that Revert restores the former schema and rows of partitioned
// tables after the last two stages that can be reverted.
func pgPartedStages(t *testing.T, server *pgServer) {
	for _, last := range []sqlmigrate.StageName{sqlmigrate.StageConstrain, sqlmigrate.StageSwap} {
		t.Run(string(last), func(t *testing.T) {
			t.Parallel()
			d := server.database(t, pgPartedDDL(300))
			before := d.dump(t)
			if err := d.online(t, pgPartedTargets...).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(last)); err != nil {
				t.Fatal(err)
			}
			if err := d.online(t, pgPartedTargets...).Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			same(t, "after the way back", d.dump(t), before)
		})
	}
}

// partedWriter returns a program that changes orders and moves some of them to another
// partition. In the same transaction it makes the same change in table mirror. Each of
// the two writers has the orders whose parity in table mirror is its own, so that they do
// not wait for each other.
func partedWriter(parity, users int) *program {
	do := func(ctx context.Context, conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit, it says so
		var order int64
		err = tx.QueryRowContext(ctx, `SELECT id FROM mirror WHERE parity = $1::integer ORDER BY random() LIMIT 1`, parity).Scan(&order)
		if err != nil {
			return err
		}
		region, user := 1+rand.IntN(5), 1+rand.IntN(users)
		statements := [][]string{
			{
				fmt.Sprintf(`UPDATE orders SET user_id = %d WHERE id = %d`, user, order),
				fmt.Sprintf(`UPDATE mirror SET user_id = %d WHERE id = %d`, user, order),
			},
			{fmt.Sprintf(`DELETE FROM orders WHERE id = %d`, order), fmt.Sprintf(`DELETE FROM mirror WHERE id = %d`, order)},
			{
				fmt.Sprintf(`DELETE FROM firsts WHERE order_id = %d`, order),
				fmt.Sprintf(`UPDATE orders SET before_id = NULL WHERE before_id = %d`, order),
				fmt.Sprintf(`UPDATE orders SET before_id = NULL, region = %d WHERE id = %d`, region, order),
				fmt.Sprintf(`UPDATE mirror SET region = %d WHERE id = %d`, region, order),
			},
			nil,
		}[rand.IntN(4)]
		statements = append(statements,
			fmt.Sprintf(`WITH o AS (INSERT INTO orders (region, user_id) VALUES (%d, %d) RETURNING id, region, user_id)
				INSERT INTO mirror SELECT id, region, user_id, %d FROM o`, region, user, parity),
			fmt.Sprintf(`INSERT INTO lines (order_id, region, number) SELECT id, region, 9 FROM mirror WHERE parity = %d ORDER BY id DESC LIMIT 1`, parity),
			fmt.Sprintf(`INSERT INTO notes (order_id, region, note) SELECT id, region, 'new' FROM mirror WHERE parity = %d ORDER BY id DESC LIMIT 1`, parity),
		)
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return tx.Commit()
	}
	return &program{name: fmt.Sprintf("writer %d", parity), do: do, pause: time.Millisecond}
}

// pgCheckParted compares the rows with table mirror. If the keys are wide, it also
// inserts keys from 2^53 + 1 on (9007199254740993) through every reference.
func pgCheckParted(t *testing.T, d *pgDatabase, wide bool) {
	t.Helper()
	d.want(t, `SELECT count(*) FROM (SELECT id, region, user_id FROM orders EXCEPT SELECT id, region, user_id FROM mirror) AS x`, "0")
	d.want(t, `SELECT count(*) FROM (SELECT id, region, user_id FROM mirror EXCEPT SELECT id, region, user_id FROM orders) AS x`, "0")
	d.want(t, `SELECT count(*) FROM lines l LEFT JOIN orders o ON o.id = l.order_id AND o.region = l.region WHERE o.id IS NULL`, "0")
	d.want(t, `SELECT count(*) FROM notes l LEFT JOIN orders o ON o.id = l.order_id AND o.region = l.region WHERE o.id IS NULL`, "0")
	d.want(t, `SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND conname <> 'later' AND conparentid = 0`, "0")
	if !wide {
		return
	}
	d.Script(t, `
INSERT INTO users (id, name) VALUES (9007199254740993, 'a');
INSERT INTO visits VALUES (9007199254740993, 1), (9007199254740993, 2);
INSERT INTO orders (id, region, user_id) SELECT 9007199254740993 + n, n, 9007199254740993 FROM generate_series(1, 5) AS n;
UPDATE orders SET before_id = id WHERE id > 9007199254740993;
INSERT INTO lines (order_id, region, number, day) SELECT id, region, 1, day FROM orders, (VALUES ('2025-12-31'::date), ('2026-12-31')) AS x (day) WHERE id > 9007199254740993;
INSERT INTO notes (order_id, region, note) SELECT id, region, 'wide' FROM orders WHERE id > 9007199254740993;
INSERT INTO firsts (order_id) VALUES (9007199254740994);`)
	for _, orphan := range []string{
		`INSERT INTO orders (region, user_id) VALUES ('3', 9007199254740999)`, `INSERT INTO notes (order_id, region) VALUES (9007199254740994, '2')`,
		`INSERT INTO lines (order_id, region, number) VALUES (9007199254740994, '2', 5)`, `INSERT INTO firsts (order_id) VALUES (9007199254740995)`,
		`INSERT INTO visits VALUES (9007199254740999, 1)`, `INSERT INTO orders (region, user_id, before_id) VALUES ('4', 1, 9007199254740994)`,
	} {
		wantError(t, d.Exec(orphan).Error, "violates foreign key constraint")
	}
	d.Script(t, `DELETE FROM users WHERE id >= 9007199254740993`)
	d.want(t, `SELECT (SELECT count(*) FROM lines WHERE order_id >= 9007199254740993) + (SELECT count(*) FROM notes WHERE order_id >= 9007199254740993) + (SELECT count(*) FROM visits WHERE user_id >= 9007199254740993)`, "0")
}

// pgPartedLoad tests that no write to partitioned tables is lost while they are moved and
// taken back, and then while they are moved by a process that is killed again and again.
func pgPartedLoad(t *testing.T, server *pgServer) {
	const users, kills = 300, 6
	d := server.database(t, pgPartedDDL(users))
	before := d.Dumped(t, "--schema-only")
	start := func() *load {
		return startLoad(t, migratetest.PgOpen(t, d.URL+"&default_query_exec_mode=exec"), partedWriter(0, users), partedWriter(1, users))
	}
	plan := d.online(t, pgPartedTargets...)
	programs := start()
	if err := plan.Apply(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	if err := d.online(t, pgPartedTargets...).Revert(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	pgCheckParted(t, d, false)
	pgCheckNames(t, d)
	same(t, "after the way back", d.Dumped(t, "--schema-only"), before)

	programs = start()
	for done, killed := false, 0; !done; killed++ {
		done, _ = childOnce(t, d.URL+partedChild, killed < kills, 12)
		if done && killed < kills {
			t.Errorf("killed %d times, want %d", killed, kills)
		}
	}
	programs.end(t)
	pgCheckParted(t, d, true)
	programs = start()
	if err := d.online(t, pgPartedTargets...).Finish(context.Background(), d.DB); err != nil {
		t.Error(err)
	}
	programs.end(t)
	pgCheckParted(t, d, true)
	pgCheckNames(t, d)
	if plan := d.online(t, pgPartedTargets...); !plan.Empty() {
		t.Errorf("afterwards, the plan is not empty: %v", plan.Tables)
	}
	d.want(t, `SELECT count(*) FROM pg_attribute WHERE attrelid IN (SELECT relid FROM pg_partition_tree('orders')) AND attname IN ('id', 'user_id', 'before_id') AND atttypid <> 'bigint'::regtype`, "0")
	d.want(t, `SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE conrelid IN ('visits_0'::regclass, 'visits_1'::regclass)`, "fk_one fk_visitor")
}

// pgPartedSmall creates a partitioned table with partitions in two schemas, and a
// partitioned table that refers to it.
const pgPartedSmall = `CREATE SCHEMA other; CREATE TABLE t (id integer GENERATED BY DEFAULT AS IDENTITY, x text, PRIMARY KEY (id, x)) PARTITION BY LIST (x);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN ('1'); CREATE TABLE other."t 2" PARTITION OF t FOR VALUES IN ('2');
CREATE TABLE u (t_id integer, x text, FOREIGN KEY (t_id, x) REFERENCES t) PARTITION BY LIST (x); CREATE TABLE u_1 PARTITION OF u FOR VALUES IN ('1');
INSERT INTO t (x) SELECT 1 + n % 2 FROM generate_series(1, 100) AS n; ANALYZE`

// pgPartedSteps tests that Revert restores the former state after any part of the swap.
// The swap of partitioned tables has several steps, because their foreign keys are
// validated after the exchange of the columns. The test cancels the context before each
// of these steps, and then in the middle of Revert.
func pgPartedSteps(t *testing.T, server *pgServer) {
	d := server.database(t, pgPartedSmall)
	before := d.dump(t)
	plan := d.online(t, "t")
	if err := plan.Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
		t.Fatal(err)
	}
	last := plan.Stages[len(plan.Stages)-2] // stage swap
	for n := range last.Steps {
		// stopBefore returns a context, and the option of a run that cancels the context
		// when the run has completed done steps.
		stopBefore := func(done int) (context.Context, sqlmigrate.OnlineOption) {
			ctx, cancel := context.WithCancel(context.Background())
			first := -1
			return ctx, sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
				if first < 0 {
					first = p.Done
				}
				if p.Done == first+done {
					cancel()
				}
			})
		}
		ctx, stop := stopBefore(n)
		wantError(t, d.online(t, "t").Apply(ctx, d.DB, stop), "context canceled")
		ctx, stop = stopBefore(3 * n) // at another step of Revert each time
		wantError(t, d.online(t, "t").Revert(ctx, d.DB, stop), "context canceled")
		if err := d.online(t, "t").Revert(context.Background(), d.DB); err != nil {
			t.Fatal(err)
		}
		same(t, "after the way back", d.dump(t), before)
		if err := d.online(t, "t").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
			t.Fatal(err)
		}
	}
}

// pgPartedChanged tests that the swap is refused if somebody added or removed partitions
// during the move, because the plan has steps for the former partitions only. A Revert
// after the swap is refused too. A Revert before the swap, and Finish, must succeed and
// leave no object of the move.
func pgPartedChanged(t *testing.T, server *pgServer) {
	const strange = "partitions have come or gone since the plan was made: "
	d := server.database(t, pgPartedSmall)
	apply := func(last sqlmigrate.StageName) error {
		return d.online(t, "t").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(last))
	}
	revert := func() {
		t.Helper()
		if err := d.online(t, "t").Revert(context.Background(), d.DB); err != nil {
			t.Fatal(err)
		}
		pgCheckNames(t, d)
	}
	// found is the partition that the error names.
	for _, test := range []struct{ change, found string }{
		{"CREATE TABLE t_3 PARTITION OF t FOR VALUES IN ('3')", "t_3"},
		{"ALTER TABLE t DETACH PARTITION t_3; DROP TABLE t_3", `"public"."t_3"`},
		{"CREATE TABLE u_3 PARTITION OF u FOR VALUES IN ('3')", "u_3"},
		{`ALTER TABLE t DETACH PARTITION other."t 2"`, `"other"."t 2"`},
	} {
		if err := apply(sqlmigrate.StageConstrain); err != nil {
			t.Fatal(err)
		}
		d.Script(t, test.change)
		wantError(t, apply(sqlmigrate.StageSwap), "stage swap", strange+test.found)
		revert()
	}
	if err := apply(sqlmigrate.StageSwap); err != nil {
		t.Fatal(err)
	}
	// The partition that was detached has not got the columns of the move.
	wantError(t, d.Exec(`ALTER TABLE t ATTACH PARTITION other."t 2" FOR VALUES IN ('2')`).Error, "gormflake_")
	d.Script(t, "CREATE TABLE t_4 PARTITION OF t FOR VALUES IN ('4'); INSERT INTO t (x) VALUES ('4')")
	wantError(t, d.online(t, "t").Revert(context.Background(), d.DB), "find partitions that have come or gone", "1 row found, want none (nothing has been taken back)")
	d.Script(t, `ALTER TABLE t DETACH PARTITION t_1`)
	if err := d.online(t, "t").Finish(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	pgCheckNames(t, d)
	d.Script(t, "INSERT INTO t (id, x) VALUES (9007199254740993, '4')")
}

// pgPartedMany tests that a plan is refused if both tables of a foreign key have so many
// partitions that the server could not lock them all in a transaction. Otherwise the swap
// would fail after a long copy. The foreign key has a part, with a lock of its own, for
// each pair of the 55 partitions.
func pgPartedMany(t *testing.T, server *pgServer) {
	d := server.database(t, `CREATE TABLE t (id serial, x text, PRIMARY KEY (id, x)) PARTITION BY LIST (x);
CREATE TABLE u (t_id integer, x text, FOREIGN KEY (t_id, x) REFERENCES t) PARTITION BY LIST (x);
DO $$ BEGIN FOR i IN 1..55 LOOP EXECUTE format('CREATE TABLE t_%1$s PARTITION OF t FOR VALUES IN (%1$L); CREATE TABLE u_%1$s PARTITION OF u FOR VALUES IN (%1$L)', i); END LOOP; END $$`)
	wantBlocker(t, "locks", d.online(t, "t"), "table t", "stage swap needs about ")
}

// pgCheckNames checks that no object of the move is left. The names of all of them
// contain gormflake or sqlmigrate.
func pgCheckNames(t *testing.T, d *pgDatabase) {
	t.Helper()
	d.want(t, "SELECT count(*) FROM pg_class WHERE relname LIKE '%gormflake%' OR relname LIKE 'sqlmigrate%'", "0")
	d.want(t, "SELECT count(*) FROM information_schema.columns WHERE column_name LIKE '%gormflake%'", "0")
	d.want(t, "SELECT count(*) FROM pg_proc WHERE proname LIKE '%gormflake%'", "0")
	d.want(t, "SELECT count(*) FROM pg_constraint WHERE conname LIKE '%gormflake%'", "0")
	d.want(t, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE '%gormflake%'", "0")
}

// pgPartedMoving tests that the copy misses no row that a program moves to another
// partition at the same time. Such an UPDATE deletes the row in a partition and inserts
// it in another, where the copy may already have passed.
func pgPartedMoving(t *testing.T, server *pgServer) {
	d := server.database(t, `
CREATE TABLE t (id serial, region integer NOT NULL, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE t_0 PARTITION OF t FOR VALUES IN (0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
INSERT INTO t (region) SELECT n % 2 FROM generate_series(1, 20000) AS n;
ANALYZE;`)
	mover := func(first int) *program { // each program moves its own rows
		return &program{name: "mover", do: func(ctx context.Context, conn *sql.Conn) error {
			from := first + 20*rand.IntN(1000)
			_, err := conn.ExecContext(ctx, fmt.Sprintf(`UPDATE t SET region = 1 - region WHERE id BETWEEN %d AND %d`, from, from+9))
			return err
		}}
	}
	programs := startLoad(t, migratetest.PgOpen(t, d.URL), mover(1), mover(11))
	if err := d.online(t, "t").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy)); err != nil {
		t.Error(err)
	}
	programs.end(t)
	d.want(t, `SELECT count(*) FROM t WHERE gormflake_new_id = id`, "20000")
}
