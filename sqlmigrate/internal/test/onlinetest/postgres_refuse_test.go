package onlinetest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// pgRefused are changes after which table t cannot be moved online, with the object that
// blocks the move and a part of the reason. The trigger of the move must fire last, so
// that it sees the values that other triggers set; triggers fire in the order of their
// names.
var pgRefused = []struct{ name, ddl, object, reason string }{
	{"materialized view", "CREATE MATERIALIZED VIEW v AS SELECT id FROM t", "view v", "it is materialized"},
	{"check that the server refuses", "CREATE FUNCTION small(integer) RETURNS boolean LANGUAGE sql AS 'SELECT $1 > 0'; ALTER TABLE t ADD CHECK (small(id))", "table t", "function public.small(bigint) does not exist"},
	{"operator class", "CREATE INDEX ON t USING brin (id int4_minmax_multi_ops)", "table t", "does not accept data type bigint"},
	{"view that something uses", "CREATE VIEW v AS SELECT id FROM t; CREATE FUNCTION u() RETURNS SETOF v LANGUAGE sql AS 'SELECT NULL::integer'", "view v", "function public.u() uses it"},
	{"generated column", "ALTER TABLE t ADD code text GENERATED ALWAYS AS ('c' || id) STORED", "column code of table public.t", "uses column id"},
	{"exclusion", "ALTER TABLE t ADD CONSTRAINT x EXCLUDE USING btree (id WITH =)", "constraint x", "exclusion constraint"},
	{"trigger after ours", "CREATE TRIGGER zzzzz BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()", "trigger zzzzz", "fires after"},
	{"trigger always", "CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE t ENABLE ALWAYS TRIGGER g", "trigger g", "for every row that is copied"},
	{"rule", "CREATE RULE r AS ON DELETE TO t DO ALSO NOTHING", "rule r", "rewrite the statements"},
	{"function", "CREATE FUNCTION a() RETURNS bigint BEGIN ATOMIC SELECT max(id) FROM t; END", "function public.a()", "uses column id"},
	{"publication", "CREATE PUBLICATION p FOR TABLE t (id)", "publication of table public.t in publication p", "uses column id"},
	{"column grant", "GRANT SELECT (id) ON t TO PUBLIC", "column id", "rights on the column"},
	{"options", "ALTER TABLE t ALTER id SET (n_distinct = 5)", "column id", "options"},
	{"name", "ALTER TABLE t ADD gormflake_old_id integer", "column id", "gormflake_old_id"},
	{"no room for a column", "DO $$ BEGIN EXECUTE (SELECT 'ALTER TABLE t ' || string_agg('ADD c' || n || ' boolean', ', ') FROM generate_series(1, 1598) n); END $$; ALTER TABLE t DROP c1, DROP c2", "table t", "1600 columns, dropped ones included"},
	{"child", "CREATE TABLE child () INHERITS (t)", "table t", "inherits"},
	{"partition key", "DROP TABLE t; CREATE TABLE t (id serial PRIMARY KEY) PARTITION BY RANGE (id)", "partition key of table t", "it has column id"},
	{"partition key of a child", "CREATE TABLE p (t_id integer REFERENCES t, x integer) PARTITION BY LIST (abs(t_id))", "partition key of table p", "it has column t_id"},
	{"partition key of a partition", pgPartitioned + "CREATE TABLE p PARTITION OF t DEFAULT PARTITION BY HASH (id)", "partition key of table p", "it has column id"},
	{"partition's default", pgPartitioned + "CREATE TABLE p PARTITION OF t DEFAULT; ALTER TABLE p ALTER id SET DEFAULT 7", "column id", "that table t does not have"},
	{"partition's NOT NULL", pgPartitioned + "ALTER TABLE t ADD t_id integer, ADD FOREIGN KEY (t_id, x) REFERENCES t; CREATE TABLE p PARTITION OF t (t_id NOT NULL) DEFAULT", "column t_id", "that table t does not have"},
	{"partition's trigger", pgPartitioned + "CREATE TABLE p PARTITION OF t DEFAULT; CREATE TRIGGER zzzzz BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION f()", "trigger zzzzz", "fires after"},
	{"partition's function", pgPartitioned + "CREATE TABLE p PARTITION OF t DEFAULT; CREATE FUNCTION a() RETURNS bigint BEGIN ATOMIC SELECT max(id) FROM p; END", "function public.a()", "uses column id"},
	{"identity's sequence", "ALTER TABLE t ALTER id DROP DEFAULT, ALTER id ADD GENERATED ALWAYS AS IDENTITY; GRANT SELECT ON SEQUENCE t_id_seq1 TO PUBLIC", "sequence t_id_seq1", "rights"},
}

// pgPartitioned replaces table t by a partitioned table without partitions.
const pgPartitioned = "DROP TABLE t; CREATE TABLE t (id serial, x text, PRIMARY KEY (id, x)) PARTITION BY LIST (x);"

// pgRefuses tests that each table of pgRefused is refused with the name of the object
// before anything is changed.
func pgRefuses(t *testing.T, server *pgServer) {
	d := server.database(t, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
	for _, test := range pgRefused {
		d.Script(t, "DROP TABLE IF EXISTS t CASCADE; DROP SEQUENCE IF EXISTS t_id_seq; CREATE TABLE t (id serial PRIMARY KEY, name text);"+test.ddl)
		plan := d.online(t, "t")
		wantBlocker(t, test.name, plan, test.object, test.reason)
		if len(plan.Stages) > 0 && plan.Err() == nil {
			t.Errorf("%s: there are stages", test.name)
		}
		if err := plan.Apply(context.Background(), d.DB); err == nil {
			t.Errorf("%s: it was applied", test.name)
		}
		d.want(t, "SELECT count(*) FROM pg_class WHERE relname LIKE '%gormflake%' OR relname LIKE 'sqlmigrate%'", "0")
		d.Script(t, "DROP TABLE IF EXISTS p CASCADE; DROP PUBLICATION IF EXISTS p; DROP FUNCTION IF EXISTS a(), u(), small(integer) CASCADE")
	}
}

// wantBlocker fails the test unless the plan has a blocker with this object, a fix, and a
// reason that contains reason. name is the name of the case.
func wantBlocker(t *testing.T, name string, plan *sqlmigrate.OnlinePlan, object, reason string) {
	t.Helper()
	for _, b := range plan.Blockers {
		if b.Object == object && strings.Contains(b.Reason, reason) && b.Fix != "" {
			return
		}
	}
	t.Errorf("%s: blockers %+v, want %s: %s", name, plan.Blockers, object, reason)
}

// pgRoles tests that a plan has a blocker for each right that a later step would need and
// its role does not have. After the missing rights were granted, the move succeeds, also
// for a program that logs in with another role and uses SET ROLE.
func pgRoles(t *testing.T, server *pgServer) {
	d := server.database(t, `
CREATE ROLE mover LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE shower;
GRANT CREATE ON SCHEMA public TO mover;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE t (id serial PRIMARY KEY, name text);
INSERT INTO t (name) SELECT 'x' FROM generate_series(1, 100);
CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();
GRANT SELECT ON t, t_id_seq TO reader;
ALTER TABLE t OWNER TO mover;
ALTER TABLE t FORCE ROW LEVEL SECURITY;
CREATE VIEW v AS SELECT id FROM t; ALTER VIEW v OWNER TO shower;`)
	for _, test := range []struct{ role, object, reason string }{
		{"reader", "table t", "role reader may not change it"},
		{"mover", "trigger g", "its function public.f() remembers the type"},
		{"mover", "trigger g", "fire for every row"},
		{"mover", "table t", "policies hide rows"},
		{"mover", "view v", "role mover may not: do this as shower"},
		{"mover", "view v", "its owner may not create it again in schema public"},
	} {
		plan, err := tryOnline(context.Background(), d.As(t, test.role), "t")
		if err != nil {
			t.Fatal(err)
		}
		wantBlocker(t, test.role, plan, test.object, test.reason)
	}
	d.Script(t, "GRANT SET ON PARAMETER session_replication_role TO mover; ALTER FUNCTION f() OWNER TO mover; ALTER TABLE t NO FORCE ROW LEVEL SECURITY; GRANT shower TO mover; GRANT CREATE ON SCHEMA public TO shower; GRANT SELECT ON t TO shower")
	d.Script(t, "CREATE ROLE program LOGIN; GRANT mover TO program; ALTER ROLE program SET role = mover")
	db := d.As(t, "program")
	d.Script(t, "REVOKE TEMPORARY ON DATABASE "+d.Value(t, "SELECT current_database()")+" FROM PUBLIC")
	plan, err := tryOnline(context.Background(), db, "t")
	if err != nil {
		t.Fatal(err)
	}
	wantBlocker(t, "mover", plan, "table t", "permission denied to create temporary tables")
	d.Script(t, "GRANT TEMPORARY ON DATABASE "+d.Value(t, "SELECT current_database()")+" TO mover")
	if plan, err = tryOnline(context.Background(), db, "t"); err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	if err := plan.Finish(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	d.want(t, "SELECT count(DISTINCT id) FROM t", "100")
}
