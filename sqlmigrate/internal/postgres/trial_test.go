package postgres_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/postgres"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// pgHostile are tables t that look as if they could be moved, but may reject the keys
// that are issued today. Either the plan gives the reason, or the table accepts a key and
// all views can be read.
var pgHostile = []struct {
	name, ddl string
	insert    string // with a verb for the key; if empty: INSERT INTO t (id) VALUES (%d)
	want      string // part of the plan's error; if empty, the plan has no error, and the moved table accepts a key
}{
	{"check", "CREATE TABLE t (id bigint PRIMARY KEY CHECK (id < 1000000))", "", `new row for relation "t" violates check constraint "t_id_check"`},
	{"check of an int", "CREATE TABLE t (id serial PRIMARY KEY, CONSTRAINT small CHECK (id BETWEEN 1 AND 2147483647))", "", `violates check constraint "small"`},
	{"check that casts", "CREATE TABLE t (id bigserial PRIMARY KEY CHECK ((id::int) > 0))", "", "integer out of range"},
	{"check of a text", "CREATE TABLE t (id bigint PRIMARY KEY); CREATE TABLE u (r bigint REFERENCES t CHECK (length(r::text) < 10))", "", "column r of table u: a copy of the table rejects key"},
	{"check of two keys", "CREATE TABLE t (id serial PRIMARY KEY, r int REFERENCES t, CHECK (id + r < 1e10))", "", "column r of table t"},
	{"check that is not valid", "CREATE TABLE t (id serial PRIMARY KEY); ALTER TABLE t ADD CONSTRAINT small CHECK (id < 100) NOT VALID", "", `violates check constraint "small"`},
	{"check that the table is a tree", "CREATE TABLE t (id bigserial PRIMARY KEY, r bigint REFERENCES t, CHECK (r < id))", "", ""},
	{"check that one is given", "CREATE TABLE t (id bigint PRIMARY KEY, r bigint REFERENCES t, s int REFERENCES t, CHECK (num_nonnulls(r, s) = 1))", "INSERT INTO t (id, r) VALUES (%[1]d, %[1]d)", ""},
	{"check of one that is given", "CREATE TABLE t (id bigint PRIMARY KEY, r bigint REFERENCES t, s bigint REFERENCES t CHECK (s < 99), CHECK (num_nonnulls(r, s) = 1))", "", `violates check constraint "t_s_check"`},
	{"check of others", "CREATE TABLE t (id bigint PRIMARY KEY CHECK (id < 1000000), state text NOT NULL CHECK (state IS NOT NULL AND state IN ('open', 'shut')))", "", "t_id_check"},
	{"keys from some on", "CREATE TABLE t (id bigint PRIMARY KEY CHECK (id > 1000))", "", ""},
	{"function over integers in a check", "CREATE FUNCTION good(integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true'; CREATE TABLE t (id serial PRIMARY KEY CONSTRAINT ck CHECK (good(id)))", "", "ERROR: function good(bigint) does not exist"},
	{"index that casts", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE INDEX small ON t ((id::int))", "", "ERROR: integer out of range"},
	{"index with a condition", "CREATE TABLE t (id bigserial PRIMARY KEY, n int); CREATE UNIQUE INDEX small ON t (n) WHERE id::int > 5", "", "ERROR: integer out of range"},
	{"unique expression", "CREATE TABLE t (id serial PRIMARY KEY); CREATE UNIQUE INDEX i ON t ((id / 2 * 0))", "", ""},
	{"function over integers in an index", "CREATE FUNCTION twice(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'; CREATE TABLE t (id serial PRIMARY KEY); CREATE INDEX i ON t (twice(id))", "", "function twice(bigint) does not exist"},
	{"operator class of integers", "CREATE TABLE t (id serial PRIMARY KEY, n int); CREATE INDEX bloom ON t USING brin (n, id int4_bloom_ops)", "", `ERROR: operator class "int4_bloom_ops" does not accept data type bigint`},
	{"generated and stored", "CREATE TABLE t (id bigserial PRIMARY KEY, k int GENERATED ALWAYS AS (id::int) STORED)", "", "ERROR: integer out of range"},
	{"generated as a short text", "CREATE TABLE t (id bigserial PRIMARY KEY, k varchar(10) GENERATED ALWAYS AS (id::text) STORED)", "", "value too long for type character varying(10)"},
	{"check of a generated column", "CREATE TABLE t (id bigserial PRIMARY KEY, k text GENERATED ALWAYS AS (id::text) STORED CHECK (length(k) < 10))", "", `violates check constraint "t_k_check"`},
	{"index of a generated column", "CREATE TABLE t (id bigserial PRIMARY KEY, k bigint GENERATED ALWAYS AS (id + 1) STORED); CREATE INDEX i ON t ((k::int))", "", "ERROR: integer out of range"},
	{"generated and wide enough", "CREATE TABLE t (id bigserial PRIMARY KEY, k text GENERATED ALWAYS AS ('T' || id) STORED UNIQUE)", "", ""},
	{"exclusion", "CREATE TABLE t (id serial PRIMARY KEY, EXCLUDE USING gist (int4range(id, id, '[]') WITH &&))", "", "function int4range(bigint, bigint, text) does not exist"},
	{"exclusion that is wide enough", "CREATE TABLE t (id bigserial PRIMARY KEY, EXCLUDE USING gist (numrange(id, id, '[]') WITH &&))", "", ""},
	{"statistics", "CREATE TABLE t (id bigserial PRIMARY KEY, n int); CREATE STATISTICS st ON (id::int), n FROM t", "", "ERROR: integer out of range"},
	{"domain of a reference", "CREATE DOMAIN d AS bigint CHECK (VALUE < 1000000); CREATE TABLE t (id bigserial PRIMARY KEY); CREATE TABLE u (r d REFERENCES t)", "", "value for domain d violates check constraint"},
	{"domain of a key", "CREATE DOMAIN d AS bigint NOT NULL CHECK (VALUE < 1000000); CREATE TABLE t (id d PRIMARY KEY)", "", "value for domain d violates check constraint"},
	{"domains of others", "CREATE DOMAIN d AS text NOT NULL CHECK (VALUE <> ''); CREATE TABLE t (id bigint PRIMARY KEY CHECK (id < 1000000), s d)", "", "t_id_check"},
	{"partitions by the key", "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (1000000)", "", "no partition of relation"},
	{"partitions by the key, from some on", "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1000) TO (1000000); INSERT INTO t VALUES (2000)", "", "no partition of relation"},
	{"partitions by the key that have room", "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (1000000); CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (1000000) TO (MAXVALUE)", "", ""},
	{"partitions in partitions", "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY HASH (id); CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0) PARTITION BY RANGE (id); CREATE TABLE t2 PARTITION OF t1 FOR VALUES FROM (0) TO (1000000)", "", "no partition of relation"},
	{"partitions by an expression", "CREATE TABLE t (id bigint PRIMARY KEY); CREATE TABLE u (r bigint REFERENCES t) PARTITION BY LIST ((r::int % 2)); CREATE TABLE u1 PARTITION OF u DEFAULT", "", "ERROR: integer out of range"},
	{"check of a partition", "CREATE TABLE t (id bigserial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2030-01-01'); ALTER TABLE t1 ADD CHECK (id < 1000000)", "", `violates check constraint "t1_id_check"`},
	{"check of a child", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE TABLE below (CHECK (id < 1000000)) INHERITS (t)", "", `violates check constraint "below_id_check"`},
	{"view", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE VIEW v AS SELECT id::int AS small FROM t", "", "view v: it cannot be read with key"},
	{"view of a narrow key", "CREATE TABLE t (id smallserial PRIMARY KEY); CREATE VIEW v AS SELECT id::integer FROM t", "", "view v: it cannot be read with key"},
	{"view with a function over integers", "CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 * 2'; CREATE TABLE t (id serial PRIMARY KEY); CREATE VIEW v AS SELECT twice(id) FROM t", "", "function twice(bigint) does not exist"},
	{"view of a view", "CREATE SCHEMA other; CREATE TABLE t (id bigserial PRIMARY KEY); CREATE VIEW other.a AS SELECT id + 1 AS next FROM t; CREATE VIEW v AS SELECT next::int FROM other.a", "", "integer out of range"},
	{"view of a join", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE TABLE u (id bigserial PRIMARY KEY, r bigint REFERENCES t); CREATE VIEW v AS SELECT u.id, t.id::int AS small FROM u JOIN t ON t.id = u.r", "", "integer out of range"},
	{"materialized view", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT 'T' || (id::int) AS name FROM t", "", "integer out of range"},
	{"view of a partition", "CREATE TABLE t (id bigserial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2030-01-01'); CREATE VIEW v AS SELECT id::int AS small FROM t1", "", "integer out of range"},
	{"view that is wide enough", "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE VIEW v AS SELECT id, NULL, id::text AS name FROM t; CREATE VIEW w AS SELECT v.* FROM v LEFT JOIN pg_class ON oid = id", "", ""},
	{"short reference", "CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE u (t_id varchar(18))", "", "does not hold the 19 digits of an ID"},
	{"function over integers in statistics", "CREATE FUNCTION twice(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'; CREATE TABLE t (id serial PRIMARY KEY, n int); CREATE STATISTICS st ON twice(id), n FROM t", "", "ERROR: function twice(bigint) does not exist"},
	{"casts by PostgreSQL", "CREATE TABLE t (id smallint PRIMARY KEY, CONSTRAINT ck CHECK (id % 5 < 4))", "", "ERROR: integer out of range"},
	{"trigger that refuses", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id > 2147483647 THEN RAISE EXCEPTION ''too large for the ERP''; END IF; RETURN NEW; END'; CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`, "", "trigger g: ERROR: too large for the ERP"},
	{"trigger with an integer", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'DECLARE small int; BEGIN small := NEW.id; RETURN NEW; END'; CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`, "", "trigger g: ERROR: "},
	{"trigger after the row", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'DECLARE small int; BEGIN SELECT NEW.id INTO small; RETURN NEW; END'; CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz); CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`, "", "trigger g: ERROR: "},
	{"trigger into a table of the plan", pgCopying("", "INSERT INTO u (r) VALUES (NEW.id)"), "", ""},
	{"trigger into two tables of the plan", "CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE u (r int REFERENCES t); CREATE TABLE \"V\" (r int REFERENCES t, n int NOT NULL DEFAULT 1)" + pgCopies("", "UPDATE u SET r = NEW.id; INSERT INTO \"V\" (r) VALUES (NEW.id)"), "", ""},
	{"trigger that reads a column named as a table", "CREATE TABLE t (id serial PRIMARY KEY, u int); CREATE TABLE u (r int REFERENCES t)" + pgCopies("", "INSERT INTO u (r) VALUES (coalesce(NEW.u, NEW.id))"), "", ""},
	{"trigger that sets something else", `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := coalesce(NEW.at, now()); IF NEW.id = 5 THEN NEW.at := NULL; END IF; RETURN NEW; END'; CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`, "", ""},
}

// pgCopying creates a table t and a table u that refers to it, with a trigger of t that
// writes the key to u. config is added to the definition of the trigger's function.
func pgCopying(config, write string) string {
	return "CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE u (r int REFERENCES t)" + pgCopies(config, write)
}

// pgCopies creates a trigger of t that runs the statements of write for each new row.
func pgCopies(config, write string) string {
	return "; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql " + config + " AS $$ BEGIN " + write + "; RETURN NEW; END $$; CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()"
}

// pgHostileTargets returns table t as a target, and the reference of a column t_id if ddl
// has one.
func pgHostileTargets(ddl string) []any {
	targets := []any{"t", sqlmigrate.WithRecreateViews()}
	if strings.Contains(ddl, "t_id ") {
		targets = append(targets, sqlmigrate.WithReference("u.t_id", "t.id"))
	}
	return targets
}

// Inspect finds tables and views that reject the keys of today, and changes nothing while
// it tries keys. The mutant is an engine that tries no keys. Nearly all of its plans must
// have no blocker, which shows that the trial finds the causes.
func postgresTrial(t *testing.T, server *migratetest.PgServer) {
	mutant := &migratetest.Mutant{Engine: postgres.Engine{}}
	t.Cleanup(func() { mutant.Want(t) })
	for _, test := range pgHostile {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, test.ddl)
			before := d.Dump(t)
			plan := d.Inspect(t, pgHostileTargets(test.ddl)...)
			migratetest.PgSame(t, "after the trial", d.Dump(t), before)
			if test.want != "" {
				mutant.Plan(t, d.DB)
				migratetest.WantError(t, plan.Err(), test.want)
				return
			}
			// The notes of a trial say either that no key was tried, or that only the
			// last key of the layout is rejected.
			if notes := strings.Join(plan.Notes, "\n"); regexp.MustCompile("was tried|the last one").MatchString(notes) {
				t.Errorf("notes:\n%s\nwant none on the trial", notes)
			}
			d.Apply(t, plan)
			insert := test.insert
			if insert == "" {
				insert = "INSERT INTO t (id) VALUES (%d)"
			}
			key := snowflake.TwitterLayout().Max(time.Now())
			migratetest.Run(t, d.DB, fmt.Sprintf(insert, key))
			for _, view := range pgViewNames(t, d) {
				if got := d.Value(t, "SELECT count(x::text) FROM "+view+" AS x"); got != "1" {
					t.Errorf("view %s has %s rows, want 1", view, got)
				}
			}
		})
	}
}

// pgViewNames returns the names of the views.
func pgViewNames(t *testing.T, d *migratetest.PgDatabase) []string {
	t.Helper()
	var names []string
	if err := d.Raw("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace").Scan(&names).Error; err != nil {
		t.Fatal(err)
	}
	return names
}

// pgAssigning are bodies of the function of a trigger g BEFORE INSERT ON t. The field
// assigns says whether the trigger assigns keys, so that the database would continue to
// do so after the move.
var pgAssigning = []struct {
	name, body string
	assigns    bool
}{
	{"sequence", "BEGIN NEW.id := nextval('s'); RETURN NEW; END", true},
	{"sequence for no key", "BEGIN IF NEW.id IS NULL THEN SELECT nextval('s') INTO NEW.id; END IF; RETURN NEW; END", true},
	{"maximum", "BEGIN NEW.id := coalesce(NEW.id, (SELECT coalesce(max(id), 0) + 1 FROM t)); RETURN NEW; END", true},
	{"quoted", `BEGIN "new"."id" = 1 + (SELECT count(*) FROM t); RETURN NEW; END`, true},
	{"row", "BEGIN NEW := jsonb_populate_record(NEW, '{\"id\": 5}'); RETURN NEW; END", true},
	{"function of a user", "BEGIN IF NEW.id IS NULL THEN NEW.id := next_key(); END IF; RETURN NEW; END", true},
	{"targets", "BEGIN SELECT now(), next_key() INTO NEW.at, NEW.id; RETURN NEW; END", true},
	{"another column", "BEGIN NEW.at := now(); RETURN NEW; END", false},
	{"compares", "BEGIN IF NEW.id = 5 OR NEW.id = next_key() THEN NEW.at := NULL; END IF; RETURN NEW; END", false},
	{"writes", "BEGIN INSERT INTO log VALUES (NEW.at); RETURN NEW; END", false},
}

// If a trigger assigns keys, phase detach does not drop the trigger, and the plan reports the
// trigger with a statement that drops it and a statement that creates it again. Other triggers
// are not reported. After the move, an INSERT without a key succeeds only if a trigger assigns
// the key.
func postgresAssigning(t *testing.T, server *migratetest.PgServer) {
	for _, test := range pgAssigning {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "CREATE SEQUENCE s; CREATE TABLE log (at timestamptz); CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz);"+
				"CREATE FUNCTION next_key() RETURNS bigint LANGUAGE sql AS $$SELECT nextval('s')$$;"+
				"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$"+test.body+"$$; CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
			before := d.Dump(t)
			plan := d.Inspect(t, "t")
			migratetest.PgSame(t, "after the trial", d.Dump(t), before)
			named := slices.ContainsFunc(plan.Omitted, func(o sqlmigrate.Omission) bool {
				return o.Phase == sqlmigrate.Detach && o.Object == "trigger g" && strings.Contains(o.Fix, "DROP TRIGGER g ON t; to restore it: CREATE TRIGGER g BEFORE INSERT ON public.t")
			})
			if named != test.assigns {
				t.Errorf("omitted %+v, notes %q: trigger g named %t, want %t", plan.Omitted, plan.Notes, named, test.assigns)
			}
			err := plan.Apply(t.Context(), d.DB)
			if errors.Is(err, sqlmigrate.ErrIncomplete) != test.assigns || err != nil && !test.assigns {
				t.Errorf("apply: %v", err)
			}
			if err := d.Exec("INSERT INTO t DEFAULT VALUES").Error; (err == nil) != test.assigns {
				t.Errorf("an INSERT without a key: %v, want it to succeed only where the trigger assigns one", err)
			}
		})
	}
}

// The plan only has a note, and no blocker, if a table rejects just the last key of the
// layout or if a key cannot be tried.
func postgresTrialNotes(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct{ name, ddl, want string }{
		{"last key", "CREATE TABLE t (id bigint PRIMARY KEY CHECK (id < 5000000000000000000))", "Column id of table t takes keys of today, but not 9223372036854775807"},
		{"check of a row", "CREATE TABLE t (id bigint PRIMARY KEY, n int); ALTER TABLE t ADD CHECK (length(t::text) < 10)", "No key was tried in a copy of table t: ERROR: cannot convert whole-row table reference"},
		{"no row enters", "CREATE TABLE t (id bigint PRIMARY KEY, n int, CHECK (id > 0 AND n IS NOT NULL AND n > 5))", `No key was tried in a copy of table t: ERROR: new row for relation "t" violates`},
		{"view without rows", "CREATE TABLE t (id bigint PRIMARY KEY, n int); CREATE VIEW v AS SELECT id::int FROM t WHERE n > 5", "No key was tried in view v: over copies, it shows no row, or fails with any key."},
		{"view of two with one name", "CREATE SCHEMA o; CREATE TABLE t (id bigint PRIMARY KEY); CREATE TABLE o.t (id bigint); CREATE VIEW v AS SELECT id FROM t JOIN o.t AS x USING (id)", "No key was tried in view v: over copies"},
		{"trigger of another language", "CREATE TABLE t (id bigint PRIMARY KEY); CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()", "No key was tried in these triggers, because of what their functions call, read or write: g on t."},
		{"trigger into a schema", pgCopying("", "INSERT INTO public.u (r) VALUES (NEW.id)"), "because of what their functions call, read or write: g on t."},
		{"trigger that upserts", pgCopying("", "INSERT INTO u (r) VALUES (NEW.id) ON CONFLICT (r) DO NOTHING"), "because of what their functions call, read or write: g on t."},
		{"trigger that finds temporary tables last", pgCopying("SET search_path = public, pg_temp", "INSERT INTO u (r) VALUES (NEW.id)"), "because of what their functions call, read or write: g on t."},
		{"trigger that looks for a parent", `CREATE TABLE p (id bigint PRIMARY KEY); INSERT INTO p VALUES (1); CREATE TABLE t (id bigint PRIMARY KEY, p_id bigint REFERENCES p);
CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NOT EXISTS (SELECT FROM p WHERE id = NEW.p_id) THEN RAISE EXCEPTION ''no parent''; END IF; RETURN NEW; END';
CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g()`, "because of what their functions call, read or write: g on t."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plan := server.Database(t, test.ddl).Inspect(t, "t")
			if got := strings.Join(plan.Notes, "\n"); !strings.Contains(got, test.want) || plan.Err() != nil {
				t.Errorf("notes:\n%s\nand %v, want one that says %q", got, plan.Err(), test.want)
			}
		})
	}
}

// Without the right to create temporary tables, a table whose trial needs a copy is not
// tried, and a note says so.
func postgresTrialRight(t *testing.T, server *migratetest.PgServer) {
	migratetest.Run(t, server.Admin, "CREATE ROLE untrying LOGIN")
	d := server.Database(t, "CREATE TABLE t (id bigint PRIMARY KEY CHECK (id < 1000000)); ALTER TABLE t OWNER TO untrying")
	d.Script(t, "DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$")
	plan, err := migratetest.Inspect(t.Context(), d.As(t, "untrying"), "t")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan.Notes, "\n"); !strings.Contains(got, "No key was tried in a copy: ERROR: permission denied to create temporary tables") || plan.Err() != nil {
		t.Errorf("notes:\n%s\nand %v, want one that says that the table was not tried", got, plan.Err())
	}
}

// Each tenant has a schema with the same tables. A trigger or view in the schema of a tenant
// concerns the tables of this tenant, unless its text names another schema, or the schema of
// the tenant has no such table.
func postgresCodeOfTenants(t *testing.T, server *migratetest.PgServer) {
	const tables = "CREATE TABLE o (id serial PRIMARY KEY); CREATE TABLE log (id serial PRIMARY KEY, o_id int);"
	for _, test := range []struct {
		name, insert string
		tables       string // of the other tenant
		want         int    // blockers
		noted        bool   // whether a note names view v of the other tenant
	}{
		{"own table", "INSERT INTO log (o_id) VALUES (NEW.id)", tables, 0, false},
		{"named schema", "INSERT INTO public.log (o_id) VALUES (NEW.id)", tables, 1, false},
		{"named schema of its own", "INSERT INTO tenant.log (o_id) VALUES (NEW.id)", tables, 0, false},
		{"unknown schema", "INSERT INTO log (o_id) VALUES (NEW.id)", "CREATE TABLE o (id serial PRIMARY KEY);", 1, true},
		{"view of the table", "INSERT INTO log (o_id) VALUES (NEW.id)", "CREATE TABLE o (id serial PRIMARY KEY); CREATE VIEW log AS SELECT * FROM public.log;", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, tables+"CREATE SCHEMA tenant; SET search_path = tenant, public; "+test.tables+
				"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+test.insert+"; RETURN NEW; END $$;"+
				"CREATE TRIGGER g AFTER INSERT ON o FOR EACH ROW EXECUTE FUNCTION f(); CREATE VIEW v AS SELECT o_id FROM log; RESET search_path")
			plan := d.Inspect(t, "o", "log", sqlmigrate.WithRecreateViews())
			if len(plan.Blockers) != test.want || strings.Contains(strings.Join(plan.Notes, "\n"), "INSERT into view tenant.v") != test.noted {
				t.Errorf("%d blockers, want %d: %+v\nnotes %q", len(plan.Blockers), test.want, plan.Blockers, plan.Notes)
			}
		})
	}
}

// Another session drops a table while Inspect reads the definition of a rule of the table.
// Inspect waits for the lock of this session, gets an internal error because the rule is gone,
// and must then read the catalog again without an error.
func postgresDropped(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, "CREATE TABLE t (id serial PRIMARY KEY)")
	for lockTimeouts := 0; ; lockTimeouts++ {
		d.Script(t, "CREATE TABLE other (n int); CREATE RULE r AS ON INSERT TO other DO ALSO NOTIFY inserted")
		dropping := d.Begin()
		migratetest.Run(t, dropping, "DROP TABLE other")
		inspected := make(chan error, 1)
		go func() {
			_, err := migratetest.Inspect(t.Context(), d.DB, "t")
			inspected <- err
		}()
		waits := false
		for !waits && len(inspected) == 0 {
			waits = d.Value(t, migratetest.PgWaiting) == "1"
			time.Sleep(time.Millisecond)
		}
		if err := dropping.Commit().Error; err != nil {
			t.Fatal(err)
		}
		err := <-inspected
		if pgsql.State(err) == pgsql.LockNotAvailable && lockTimeouts < 5 { // a busy machine has committed too late
			continue
		}
		if err != nil || !waits {
			t.Errorf("error = %v, Inspect has waited for the lock: %t, want no error after a wait", err, waits)
		}
		return
	}
}

// A row with key 0 violates the CHECK of phase guard. The CHECK then stays NOT VALID, and
// rejects only new rows. Apply reports this as incomplete. After the key was changed, a new plan
// can validate the CHECK.
func postgresGuardOfZero(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, "CREATE TABLE t (id serial PRIMARY KEY, n int); INSERT INTO t VALUES (0), (7)")
	before := d.State(t)
	plan := d.Inspect(t, "t")
	err := plan.Apply(t.Context(), d.DB)
	migratetest.WantError(t, err, "phase guard has left out table t: column id of table t: it holds key 0")
	if !errors.Is(err, sqlmigrate.ErrIncomplete) {
		t.Errorf("apply: %v, want %v", err, sqlmigrate.ErrIncomplete)
	}
	migratetest.WantError(t, d.Exec("INSERT INTO t VALUES (-1)").Error, `violates check constraint "chk_t_id"`)
	again := d.Inspect(t, "t")
	if !again.Empty() || len(again.Omitted) != 1 {
		t.Errorf("the next plan is %s, want none, and the key", again)
	}
	d.Revert(t, plan)
	migratetest.PgSame(t, "after down", d.State(t), before)
	d.Script(t, "UPDATE t SET id = 8 WHERE id = 0")
	d.RoundTrip(t, "t")
}

// Each blocker that is not a view contains the statement that drops the object and the
// statements that create it again as it was, so that the user need not write them.
func postgresRestores(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct{ name, ddl string }{
		{"trigger", `CREATE TRIGGER "My g" BEFORE UPDATE OF id ON t FOR EACH ROW WHEN (OLD.n > 5) EXECUTE FUNCTION f()`},
		{"rule", "CREATE RULE r AS ON DELETE TO t DO INSTEAD UPDATE t SET n = 1 WHERE id = OLD.id"},
		{"policy", "CREATE POLICY p ON t AS RESTRICTIVE FOR UPDATE TO PUBLIC USING (id > 5) WITH CHECK (id > 6)"},
		{"policy of all", "CREATE POLICY p ON t USING (id > 5)"},
		{"generated column", "ALTER TABLE t ADD code text GENERATED ALWAYS AS ('c' || id) STORED"},
		{"function", "CREATE FUNCTION g() RETURNS integer BEGIN ATOMIC SELECT max(id) FROM t; END"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "CREATE TABLE t (id serial PRIMARY KEY, n integer); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"+test.ddl)
			before := d.Dump(t)
			plan := d.Inspect(t, "t")
			if len(plan.Blockers) != 1 {
				t.Fatalf("blockers %+v, want one", plan.Blockers)
			}
			drop, restore, found := strings.Cut(plan.Blockers[0].Fix, "; to restore it: ")
			_, drop, _ = strings.Cut(drop, ": ")
			if !found {
				t.Fatalf("fix %q, want one that says how to restore it", plan.Blockers[0].Fix)
			}
			d.Script(t, drop)
			if err := d.Inspect(t, "t").Err(); err != nil {
				t.Errorf("after the fix: %v", err)
			}
			d.Script(t, restore)
			migratetest.PgSame(t, "after it was restored", d.Dump(t), before)
		})
	}
}
