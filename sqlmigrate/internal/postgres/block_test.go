package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Each case has an object because of which the plan for table t, or for the given
// targets, must be refused, with a blocker of table and object. The field silent marks
// the cases in which PostgreSQL itself would run the statements of the plan. Table child
// refers to t.
var pgBlockers = []struct {
	name, ddl, table, object string
	targets                  []any
	silent                   bool
}{
	{"view", "CREATE VIEW v_t AS SELECT id FROM t", "t", "view v_t", nil, false},
	{"materialized view", "CREATE MATERIALIZED VIEW m AS SELECT id + 1 AS x FROM t", "t", "materialized view m", nil, false},
	{"rule", "CREATE RULE r AS ON DELETE TO t DO INSTEAD UPDATE t SET n = 1 WHERE id = OLD.id", "t", "rule r on table t", nil, false},
	{"view of the child", "CREATE VIEW v AS SELECT t_id FROM child", "child", "view v", nil, false},
	{"view in another schema", `CREATE SCHEMA "Other"; CREATE VIEW "Other"."V 1" AS SELECT id FROM t`, "t", `view "Other"."V 1"`, nil, false},
	{"generated column", "ALTER TABLE t ADD code text GENERATED ALWAYS AS ('c' || id) STORED", "t", "column code of table t", nil, false},
	{"trigger of a column", "CREATE TRIGGER tr BEFORE UPDATE OF id ON t EXECUTE FUNCTION f()", "t", "trigger tr on table t", nil, false},
	{"trigger with a condition", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id > 5) EXECUTE FUNCTION f()", "t", "trigger tr on table t", nil, false},
	{"policy", "CREATE POLICY p ON t USING (id > 5)", "t", "policy p on table t", nil, false},
	{"function with a parsed body", "CREATE FUNCTION g() RETURNS integer BEGIN ATOMIC SELECT max(id) FROM t; END", "t", "function g()", nil, false},
	{"publication with a condition", "CREATE PUBLICATION pub FOR TABLE t WHERE (id > 5)", "t", "publication of table t in publication pub", nil, false},
	{"publication of columns", "CREATE PUBLICATION pub FOR TABLE t (id)", "t", "publication of table t in publication pub", nil, false},
	{"row type", "CREATE TABLE rows (r t)", "t", "column r of table rows", nil, false},
	{"row type in an array of a domain", "CREATE DOMAIN d AS t; CREATE TYPE c AS (ds d[]); CREATE TABLE rows (r c)", "t", "column r of table rows", nil, false},
	{
		"partition key", "CREATE TABLE p (id serial PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (9)",
		"p", "partition key of table p",
		[]any{"p"},
		false,
	},
	{"partition key expression", "CREATE TABLE p (id integer) PARTITION BY RANGE ((id % 5)); CREATE TABLE q (id serial PRIMARY KEY)", "p", "partition key of table p", []any{"q", sqlmigrate.WithReference("p.id", "q.id")}, false},
	{
		"partition key of a partition",
		"CREATE TABLE p (id serial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY HASH (id)",
		"p1", "partition key of table p1",
		[]any{"p"},
		false,
	},
	{
		"view of a partition",
		"CREATE TABLE p (id serial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); CREATE VIEW v AS SELECT id FROM p1",
		"p1", "view v",
		[]any{"p1"},
		false,
	},
	{
		"foreign partition", "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER w FOREIGN DATA WRAPPER w; CREATE TABLE p (t_id integer, at date) PARTITION BY RANGE (at); CREATE INDEX ON p (t_id); CREATE FOREIGN TABLE away PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') SERVER w",
		"p", "foreign table away",
		[]any{"t", sqlmigrate.WithReference("p.t_id", "t.id")},
		true,
	},
	{"typed table", "CREATE TYPE ty AS (id integer); CREATE TABLE typed OF ty (PRIMARY KEY (id))", "typed", "table typed", []any{"typed"}, false},
	{"two parents", "CREATE TABLE a (id serial PRIMARY KEY); CREATE TABLE b (id serial PRIMARY KEY); CREATE TABLE ab (id integer DEFAULT 1) INHERITS (a, b)", "ab", "column id", []any{"a", "b"}, false},
	{"identity sequence used elsewhere", "CREATE TABLE i (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n integer); CREATE TABLE j (n integer DEFAULT nextval('i_id_seq'))", "i", "default value for column n of table public.j", []any{"i"}, false},
	{"constraint of a function", "CREATE FUNCTION g() RETURNS void BEGIN ATOMIC INSERT INTO t (n) VALUES (1) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING; END", "t", "constraint t_pkey on table t", nil, false},
	{"constraint of a rule", "CREATE RULE r AS ON INSERT TO child DO INSTEAD INSERT INTO t (n) VALUES (1) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING", "t", "constraint t_pkey on table t", nil, false},
	{"invalid index", "INSERT INTO t (n) VALUES (1), (1); CREATE INDEX broken ON t (n); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken'::regclass", "t", "index broken", nil, true},
	{
		"index without its partitions' indexes", "CREATE TABLE p (id serial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); CREATE INDEX half ON ONLY p (id)",
		"p", "index half",
		[]any{"p"},
		true,
	},
	{
		"constraint of a partition's index", "CREATE TABLE p (id serial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); ALTER TABLE p1 ADD CONSTRAINT own UNIQUE (at, id); CREATE UNIQUE INDEX plain ON p (at, id)",
		"p1", "index own",
		[]any{"p"},
		true,
	},
	{
		"reference of a partition's own", "CREATE TABLE p (id serial, at date, t_id integer, CONSTRAINT up FOREIGN KEY (t_id) REFERENCES t, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01'); ALTER TABLE p1 ADD CONSTRAINT own FOREIGN KEY (t_id) REFERENCES t",
		"p1", "constraint own on table p1",
		[]any{"p", "t"},
		true,
	},
	{"disabled trigger of a reference", "ALTER TABLE child DISABLE TRIGGER ALL", "child", "constraint child_t_id_fkey on table child", nil, true},
	{"disabled trigger of a key", "ALTER TABLE t DISABLE TRIGGER ALL", "t", "constraint child_t_id_fkey on table child", nil, true},
	{"right that another role granted", "CREATE ROLE granting; CREATE ROLE granted; GRANT SELECT ON SEQUENCE t_id_seq TO granting WITH GRANT OPTION; SET ROLE granting; GRANT SELECT ON SEQUENCE t_id_seq TO granted; RESET ROLE", "t", "sequence t_id_seq", nil, true},
	{"label of a sequence", "SET allow_system_table_mods = on; INSERT INTO pg_seclabel (objoid, classoid, objsubid, provider, label) VALUES ('t_id_seq'::regclass, 'pg_class'::regclass, 0, 'dummy', 'secret')", "t", "sequence t_id_seq", nil, true},
	{"uuid", "CREATE TABLE u (id uuid PRIMARY KEY)", "u", "column id", []any{"u"}, true},
	{"text", "CREATE TABLE u (id text PRIMARY KEY)", "u", "column id", []any{"u"}, true},
	{"numeric", "CREATE TABLE u (id numeric(20) PRIMARY KEY)", "u", "column id", []any{"u"}, true},
	{"no key", "CREATE TABLE u (id integer)", "u", "primary key", []any{"u"}, true},
	{"domain", "CREATE DOMAIN d AS integer; CREATE TABLE u (id d PRIMARY KEY)", "u", "column id", []any{"u"}, true},
	{"short reference", "CREATE TABLE u (t_id varchar(18))", "u", "column t_id", []any{"t", sqlmigrate.WithReference("u.t_id", "t.id")}, true},
	{"numeric reference", "CREATE TABLE u (t_id numeric(20, 2))", "u", "column t_id", []any{"t", sqlmigrate.WithReference("u.t_id", "t.id")}, true},
	{"inexact reference", "CREATE TABLE u (t_id double precision)", "u", "column t_id", []any{"t", sqlmigrate.WithReference("u.t_id", "t.id")}, true},
	{"key above the generator's", "CREATE TABLE big (id bigint PRIMARY KEY); INSERT INTO big VALUES (9000000000000000000)", "big", "column id", []any{"big"}, true},
}

// A plan with a blocker is refused before it changes anything. PostgreSQL itself must also
// refuse the statements of the plan, except in the cases with silent. If it executed them,
// the blocker would be unnecessary.
func postgresBlockers(t *testing.T, server *migratetest.PgServer) {
	for _, test := range pgBlockers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, `CREATE TABLE t (id serial PRIMARY KEY, n integer); CREATE TABLE child (t_id integer REFERENCES t);
				CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';`+test.ddl)
			targets := test.targets
			if targets == nil {
				targets = []any{"t"}
			}
			before := d.Dump(t)
			plan := d.Inspect(t, targets...)
			if len(plan.Blockers) != 1 || plan.Blockers[0].Table.String() != test.table || plan.Blockers[0].Object != test.object {
				t.Errorf("blockers %+v, want one: table %s, %s", plan.Blockers, test.table, test.object)
			}
			err := plan.Apply(context.Background(), d.DB)
			migratetest.WantError(t, err, "table "+test.table, test.object)
			migratetest.PgSame(t, "after the refusal", d.Dump(t), before)
			if !test.silent {
				forced := *plan
				forced.Blockers = nil
				up, _ := migratetest.FilesOf(t, &forced, sqlmigrate.GolangMigrate)
				if err := d.TryScript(strings.Join(up, "")); err == nil {
					t.Error("PostgreSQL does it all the same")
				}
			}
		})
	}
}

// These objects look like blockers, but the plan must not be refused because of them.
func postgresNoBlockers(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct{ name, ddl string }{
		{"view of another column", "CREATE VIEW v AS SELECT n FROM t"},
		{"view, but the column is wide", "DROP TABLE child; ALTER TABLE t ALTER id TYPE bigint; CREATE VIEW v AS SELECT id FROM t"},
		{"partition key is wide", "CREATE TABLE p (id bigint REFERENCES t) PARTITION BY RANGE (id)"},
		{"text reference", "CREATE TABLE u (t_id text); CREATE TABLE w (t_id varchar(19)); CREATE TABLE x (t_id numeric(19))"},
		{"row type in a view", "CREATE VIEW v AS SELECT 1 AS x; CREATE FUNCTION g(t) RETURNS integer LANGUAGE sql AS 'SELECT 1'"},
		{"plain trigger", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()"},
		{"plain publication", "CREATE PUBLICATION pub FOR TABLE t"},
		{"function over a bigint", "CREATE FUNCTION twice(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'; CREATE INDEX over ON t (twice(id)) WHERE n > 0; ALTER TABLE t ADD CHECK (twice(id) + tableoid::bigint > 0)"},
		{"generated reference", "CREATE TABLE u (n integer, t_id integer GENERATED ALWAYS AS (n + 1) STORED REFERENCES t)"},
		{"wide domain", "CREATE DOMAIN d AS bigint; CREATE TABLE u (t_id d REFERENCES t)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, `CREATE TABLE t (id serial PRIMARY KEY, n integer); CREATE TABLE child (t_id integer REFERENCES t);
				CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';`+test.ddl)
			targets := []any{"t"}
			for _, table := range []string{"u", "w", "x"} { // tables of this case, without foreign keys
				if test.name == "text reference" {
					targets = append(targets, sqlmigrate.WithReference(table+".t_id", "t.id"))
				}
			}
			d.RoundTrip(t, targets...)
		})
	}
}

// A target that does not exist, or that is not a table, is an error of Inspect. Names
// are taken as they are, so that T is not table t.
func postgresNotThere(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, "CREATE TABLE t (id serial PRIMARY KEY); CREATE VIEW v AS SELECT 1; CREATE SEQUENCE s")
	for _, test := range []struct {
		name   string
		target any
		want   string
	}{
		{"table", "T", "there is no table T"},
		{"schema", "nowhere.t", "there is no table nowhere.t"},
		{"view", "v", "v is not a table"},
		{"sequence", "s", "s is not a table"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := migratetest.Inspect(context.Background(), d.DB, test.target)
			migratetest.WantError(t, err, test.want)
		})
	}
}
