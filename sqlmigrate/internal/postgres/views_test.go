package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgViewed creates the tables that the views of pgViews use.
const pgViewed = `
CREATE TABLE users (id serial PRIMARY KEY, name text, manager_id integer REFERENCES users);
CREATE TABLE orders (id serial PRIMARY KEY, user_id integer REFERENCES users, what text DEFAULT 'x');
CREATE TABLE apart (n integer);
INSERT INTO users (name) VALUES ('a'), ('b'); INSERT INTO orders (user_id) VALUES (1), (2); INSERT INTO apart VALUES (1);
`

// pgViews creates views that use every property that a view can have.
const pgViews = `
CREATE VIEW plain AS SELECT id, name FROM users WHERE id > 0;
CREATE VIEW "Odd ""x"" % $$ 'v'" WITH (security_barrier) AS SELECT id AS "Id %", name FROM users WHERE id <> ALL (ARRAY[7, 8]);
CREATE VIEW checked AS SELECT * FROM plain WHERE id < 1000000 WITH CASCADED CHECK OPTION;
CREATE VIEW locally WITH (security_barrier = false) AS SELECT * FROM plain WHERE id < 9 WITH LOCAL CHECK OPTION;
CREATE VIEW above AS SELECT o.id, o.user_id, c.name FROM orders o LEFT JOIN checked c ON c.id = o.user_id;
CREATE VIEW top AS SELECT above.*, coalesce(user_id, 0) AS some_user, count(*) OVER () AS n FROM above UNION ALL SELECT id, id, name, 0, 1 FROM plain;
CREATE VIEW renamed AS SELECT id, name FROM users; ALTER VIEW renamed RENAME COLUMN id TO user_id;
CREATE VIEW whole AS SELECT u, u.id FROM users u;
CREATE VIEW recursive_one AS WITH RECURSIVE up AS (SELECT id, manager_id FROM users UNION ALL SELECT u.id, u.manager_id FROM up JOIN users u ON u.manager_id = up.id) SELECT * FROM up;
CREATE VIEW grouped AS SELECT u.*, count(o.id) AS orders FROM users u LEFT JOIN orders o ON o.user_id = u.id GROUP BY u.id;
CREATE VIEW nameless AS SELECT q.id, q.name FROM (SELECT id, name FROM users UNION ALL SELECT NULL, 'x' UNION ALL SELECT id, E'it''s\n   NULL::integer,\n ''x''::text\\' FROM users UNION ALL SELECT -5, NULL) q WHERE EXISTS (SELECT 1, NULL, '2022-02-02'::date);
CREATE VIEW nameless_too AS SELECT q.* FROM (SELECT 1.50::numeric(10,2) AS n, now()::timestamp(3) AS at, NULL::text[] AS many, id, name::varchar(9) AS short, '1 day'::interval AS d, true AS b FROM users
  UNION SELECT 7, NULL, NULL, 5, '', NULL, NULL UNION SELECT -0.5, NULL, '{}', NULL, 'y,()'::varchar, '1 day', false) AS q
  WHERE q.short IN (SELECT name FROM users UNION SELECT DISTINCT 'x' FROM users);
CREATE VIEW untouched AS SELECT name FROM users; GRANT SELECT ON untouched TO viewing;
ALTER VIEW plain ALTER COLUMN name SET DEFAULT 'nobody';
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO orders (id, user_id) VALUES (NEW.id, NEW.user_id); RETURN NEW; END';
CREATE TRIGGER inserts INSTEAD OF INSERT ON above FOR EACH ROW EXECUTE FUNCTION instead(); COMMENT ON TRIGGER inserts ON above IS 'trigger';
CREATE RULE removes AS ON DELETE TO top DO INSTEAD DELETE FROM orders WHERE id = OLD.id; COMMENT ON RULE removes ON top IS 'it''s a rule';
CREATE RULE adds AS ON INSERT TO renamed DO INSTEAD INSERT INTO users (id, name) VALUES (NEW.user_id, NEW.name) RETURNING id, name;
COMMENT ON VIEW plain IS E'of \\ lines\nand ''quotes'' $$'; COMMENT ON COLUMN plain.id IS 'id';
CREATE MATERIALIZED VIEW matter (id, n) WITH (fillfactor = 70, autovacuum_enabled = off) AS SELECT user_id, count(*) FROM above GROUP BY 1;
CREATE UNIQUE INDEX matter_id ON matter (id) WITH (fillfactor = 60); CREATE INDEX matter_n ON matter ((n % 10)) TABLESPACE space; CREATE INDEX other ON matter (lower(n::text)) WHERE id > 5;
ALTER INDEX matter_n ALTER COLUMN 1 SET STATISTICS 7; COMMENT ON INDEX other IS 'index'; ALTER MATERIALIZED VIEW matter CLUSTER ON matter_id;
CREATE STATISTICS stats ON id, n FROM matter; COMMENT ON STATISTICS stats IS 'stats'; ALTER STATISTICS stats OWNER TO viewing;
ALTER MATERIALIZED VIEW matter ALTER COLUMN n SET STATISTICS 5, ALTER COLUMN id SET (n_distinct = 9);
CREATE MATERIALIZED VIEW later TABLESPACE space AS SELECT * FROM matter WITH NO DATA; COMMENT ON MATERIALIZED VIEW later IS 'later'; COMMENT ON COLUMN later.n IS 'n';
CREATE MATERIALIZED VIEW texts AS SELECT id, name FROM users; ALTER MATERIALIZED VIEW texts ALTER COLUMN name SET STORAGE EXTERNAL;
CREATE VIEW on_matter AS SELECT m.n FROM matter m JOIN texts USING (id);
GRANT SELECT ON plain, top TO viewing, PUBLIC; GRANT UPDATE, INSERT ON plain TO viewing WITH GRANT OPTION; GRANT SELECT ON checked TO viewing; GRANT SELECT (id), UPDATE (id, name) ON checked TO viewing;
REVOKE DELETE, TRUNCATE ON plain FROM postgres; REVOKE DELETE ON matter FROM postgres; GRANT SELECT ON matter TO viewing;
ALTER VIEW above OWNER TO viewing; ALTER MATERIALIZED VIEW texts OWNER TO viewing;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, viewing;
`

// Views are the same after a move that recreates them, phase by phase and at once, by the
// library and by migration files. Afterwards they show and accept Snowflake IDs.
func postgresViews(t *testing.T, server *migratetest.PgServer) {
	migratetest.Run(t, server.Admin, "CREATE ROLE viewing")
	d := server.Database(t, "GRANT CREATE ON SCHEMA public TO viewing; GRANT SELECT ON ALL TABLES IN SCHEMA public TO viewing; "+pgViewed+
		"GRANT SELECT ON users, orders TO viewing;"+pgViews)
	if got := len(d.Inspect(t, "users", "orders").Blockers); got < 10 {
		t.Errorf("%d blockers, want one for each view", got)
	}
	plan := d.RoundTrip(t, "users", "orders", sqlmigrate.WithRecreateViews())
	d.PgFiles(t, plan)
	d.PhaseByPhase(t, "users", "orders", sqlmigrate.WithRecreateViews())
	d.Apply(t, plan)
	d.Apply(t, plan)               // this run finds no work
	const id = 1801439850948198400 // a Snowflake ID
	migratetest.Run(t, d.DB, fmt.Sprintf("INSERT INTO plain VALUES (%d, 'x')", id), fmt.Sprintf("INSERT INTO above VALUES (%d, %d)", id+1, id),
		"REFRESH MATERIALIZED VIEW matter", "REFRESH MATERIALIZED VIEW later")
	if got := d.Value(t, "SELECT max(id) FROM top"); got != fmt.Sprint(id+1) {
		t.Errorf("the largest key of a view is %s, want %d", got, id+1)
	}
	if got := d.Value(t, "SELECT max(id) FROM later"); got != fmt.Sprint(id) {
		t.Errorf("the largest key of a materialized view is %s, want %d", got, id)
	}
}

// A move recreates views, but not the objects of other kinds that use a view. Such an object
// blocks the move. A view also blocks the move if it has rights that another role has granted,
// or belongs to an extension, because the move could not restore that.
func postgresViewBlockers(t *testing.T, server *migratetest.PgServer) {
	migratetest.Run(t, server.Admin, "CREATE ROLE regranting")
	for _, test := range []struct{ name, ddl, table, object, reason string }{
		{"a column of its rows", "CREATE VIEW v AS SELECT id FROM users; CREATE TABLE uses (x v)", "users", "view v", "column x of table public.uses uses it"},
		{"an array of its rows", "CREATE VIEW v AS SELECT id FROM users; CREATE TABLE uses (x v[])", "users", "view v", "uses it"},
		{"a function", "CREATE VIEW v AS SELECT id FROM users; CREATE FUNCTION f() RETURNS SETOF v LANGUAGE sql AS 'SELECT 1'", "users", "view v", "function public.f() uses it"},
		{"a function's body", "CREATE VIEW v AS SELECT id FROM users; CREATE FUNCTION f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM v; END", "users", "view v", "function public.f() uses it"},
		{"a policy", "CREATE VIEW v AS SELECT id FROM users; CREATE POLICY p ON apart USING (EXISTS (SELECT FROM v))", "users", "view v", "policy p on table public.apart uses it"},
		{"a rule", "CREATE VIEW v AS SELECT id FROM users; CREATE RULE r AS ON DELETE TO apart DO ALSO SELECT * FROM v", "users", "view v", "rule r on table public.apart uses it"},
		{"another's grant", "CREATE VIEW v AS SELECT id FROM users; GRANT SELECT ON v TO regranting WITH GRANT OPTION; SET ROLE regranting; GRANT SELECT ON v TO PUBLIC; RESET ROLE", "users", "view v", "rights on it were granted by regranting"},
		{"a function of a view on a view", "CREATE VIEW v AS SELECT id FROM users; CREATE VIEW w AS SELECT id FROM v; CREATE FUNCTION f() RETURNS SETOF w LANGUAGE sql AS 'SELECT 1'", "users", "view w", "function public.f() uses it"},
		{"a function of a view with a rule", "CREATE VIEW v AS SELECT id FROM users; CREATE TABLE other (n bigint); CREATE VIEW x AS SELECT n FROM other; CREATE RULE r AS ON INSERT TO x DO INSTEAD INSERT INTO other SELECT id FROM v; CREATE FUNCTION f() RETURNS SETOF x LANGUAGE sql AS 'SELECT 1'", "", "view x", "function public.f() uses it"},
		{"of an extension", "CREATE VIEW v AS SELECT id FROM users; ALTER EXTENSION plpgsql ADD VIEW v", "users", "view v", "it belongs to extension plpgsql"},
		// The option WithRecreateViews does not apply to the rule of a table.
		{"a rule of a table", "CREATE RULE r AS ON UPDATE TO users WHERE OLD.id > 5 DO INSTEAD NOTHING", "users", "rule r on table users", "it uses column id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, pgViewed+test.ddl)
			targets := []any{"users", "orders", sqlmigrate.WithRecreateViews()}
			plan := d.Inspect(t, targets...)
			if len(plan.Blockers) != 1 || plan.Blockers[0].Table.String() != test.table || plan.Blockers[0].Object != test.object || !strings.Contains(plan.Blockers[0].Reason, test.reason) {
				t.Errorf("blockers %+v, want one of %s that says %q", plan.Blockers, test.object, test.reason)
			}
		})
	}
}

// A view of two moved tables is a blocker of both tables.
func postgresBlockersByObject(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, pgViewed+"CREATE VIEW v AS SELECT o.id, u.id AS u, o.user_id FROM orders o JOIN users u ON u.id = o.user_id")
	plan := d.Inspect(t, "users", "orders")
	if len(plan.Blockers) != 2 || plan.Blockers[0].Table == plan.Blockers[1].Table || !strings.Contains(plan.Blockers[0].Fix, "WithRecreateViews") {
		t.Errorf("blockers %+v, want one for each table", plan.Blockers)
	}
}

// Revert finds objects that began to use a column after Apply, and refuses before it
// takes the first phase back.
func postgresRevertBlocked(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct{ name, before, since, want string }{
		{"a view", "", "CREATE VIEW v AS SELECT id FROM users", "view v"},
		{"a view on a view that is recreated", "CREATE VIEW v AS SELECT id FROM users", "CREATE VIEW w AS SELECT * FROM v", "view w"},
		{"a rule", "", "CREATE RULE r AS ON UPDATE TO users WHERE OLD.id > 5 DO INSTEAD NOTHING", "rule r on table users"},
		{"a policy", "", "CREATE POLICY p ON users USING (id > 5)", "policy p on table users"},
		{"a generated column", "", "ALTER TABLE users ADD g bigint GENERATED ALWAYS AS (id * 2) STORED", "column g of table users"},
		{"a trigger", "", "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER g AFTER UPDATE OF id ON users FOR EACH ROW EXECUTE FUNCTION f()", "trigger g on table users"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, pgViewed+test.before)
			start := d.Dump(t)
			plan := d.Inspect(t, "users", "orders", sqlmigrate.WithRecreateViews())
			d.Apply(t, plan)
			d.Script(t, test.since)
			before := d.Dump(t)
			migratetest.WantError(t, plan.Revert(t.Context(), d.DB), test.want, "drop it before", "nothing of this phase has been changed)")
			migratetest.PgSame(t, "after the refusal", d.Dump(t), before)
			if test.name == "a view" {
				d.Script(t, "DROP VIEW v")
				d.Revert(t, plan)
				migratetest.PgSame(t, "after down", d.Dump(t), start)
			}
		})
	}
}
