package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// The plan shows each table with its rows and largest key, and each step with its lock,
// its size, and an estimate of its time if it reads or copies the table.
func postgresPlan(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `CREATE SCHEMA shop;
		CREATE TABLE users (id serial PRIMARY KEY, name text);
		CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id smallint REFERENCES users, "at" date);
		CREATE TABLE apart (id serial PRIMARY KEY);
		INSERT INTO users (name) SELECT repeat('x', 400) FROM generate_series(1, 5000);
		INSERT INTO shop.orders (user_id) VALUES (7); ANALYZE`)
	plan := d.Inspect(t, "users", "shop.orders")
	var got []string
	for _, table := range plan.Tables {
		got = append(got, fmt.Sprintf("%s.%s %d rows, largest %d: %+v", table.Schema, table.Name, table.Rows, table.MaxKey, table.Columns))
	}
	want := []string{
		"shop.orders 1 rows, largest 1: [id bigint, key, identity user_id smallint -> bigint, refers to users.id]",
		".users 5000 rows, largest 5000: [id integer -> bigint, key, serial]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("tables\n%q, want\n%q", got, want)
	}
	// Each phase has a step for orders and then one for users. Phase guard has a second
	// transaction with two more steps, which validate the CHECKs.
	widen, detach, guard := plan.Phases[0], plan.Phases[1], plan.Phases[2]
	users := widen.Steps[1] // of more than 2 MB, which are 5,000 rows with names of 400 bytes
	if users.Table.String() != "users" || !users.Rewrites || users.Rows != 5000 || users.Bytes < 2_000_000 ||
		users.Estimate <= 0 || !strings.HasPrefix(users.Locks, "ACCESS EXCLUSIVE on users and every table") {
		t.Errorf("step %+v", users)
	}
	if got := fmt.Sprint(users.Up[:1]); got != `[{ALTER TABLE "public"."users" ALTER COLUMN "id" TYPE bigint SELECT NOT EXISTS `+
		`(SELECT FROM pg_catalog.pg_attribute WHERE (attrelid = '"public"."users"'::regclass AND attname = 'id') AND atttypid <> 'bigint'::regtype)}]` {
		t.Errorf("up %s", got)
	}
	if s := detach.Steps[0]; s.Rewrites || s.Rows != 0 || s.Bytes != 0 || s.Estimate != 0 || s.Locks == "" {
		t.Errorf("step %+v", s)
	}
	if s := guard.Steps[1]; s.Rewrites || s.Rows != 0 || s.Estimate != 0 || s.Transaction != 0 || s.Locks != "ACCESS EXCLUSIVE on users for a moment" {
		t.Errorf("step %+v", s)
	}
	// The step that validates the CHECK reads the table without its indexes, so it has
	// fewer bytes than the step that copies the table.
	if s := guard.Steps[3]; s.Rewrites || s.Rows != 5000 || s.Bytes < 2_000_000 || s.Bytes >= users.Bytes || s.Transaction != 1 || !strings.Contains(s.Locks, "reads and writes continue") {
		t.Errorf("step %+v", s)
	}
}

// Each case has an object of which a note of the plan must warn. The notes of the cases
// without ddl belong to phase widen itself. The plan can be applied and taken back
// nevertheless.
func postgresNotes(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct{ name, ddl, want string }{
		{"always", "ALTER TABLE t ALTER id DROP DEFAULT, ALTER id ADD GENERATED ALWAYS AS IDENTITY", "Column id of table t is GENERATED ALWAYS"},
		{"shared", "CREATE TABLE u (n integer DEFAULT nextval('t_id_seq'))", "Sequence t_id_seq of column id of table t stays: it is used by default value for column n of table public.u."},
		{"viewed", "CREATE VIEW v AS SELECT last_value FROM t_id_seq", "stays: it is used by view public.v."},
		{"free", "CREATE SEQUENCE s; ALTER TABLE t ALTER id SET DEFAULT nextval('s')", "Sequence s of column id of table t stays: no column owns it."},
		{"unasked", "CREATE TABLE o (id serial PRIMARY KEY); ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES o", "Table o was not asked for"},
		{"variable", "CREATE FUNCTION g() RETURNS void LANGUAGE plpgsql AS 'DECLARE x int; BEGIN SELECT max(id) INTO x FROM T; END'", "function g()"},
		{"parameter", "CREATE FUNCTION g(p integer) RETURNS void LANGUAGE sql AS 'DELETE FROM t WHERE id = p'", "function g(integer)"},
		{"named sequence", "CREATE FUNCTION g() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN nextval(''t_id_seq''); END'", "Sequence t_id_seq goes in phase detach, and is named in the text of function public.g()."},
		{"publication", "CREATE PUBLICATION p FOR ALL TABLES", "Table t is in publication p"},
		{"prepared", "", "cached plan must not change result type"},
		{"statistics", "", "run ANALYZE on its tables"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "CREATE TABLE t (id serial PRIMARY KEY);"+test.ddl)
			plan := d.RoundTrip(t, "t")
			if got := strings.Join(plan.Notes, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("notes %q, want one that says %q", plan.Notes, test.want)
			}
		})
	}
}

// A plan has no note on a function that does not use a table to be widened, or that can
// pass a bigint. Otherwise notes that matter would be overlooked.
func postgresNoNotes(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `CREATE TABLE tab (id bigserial PRIMARY KEY); CREATE TABLE other (id serial PRIMARY KEY);
		CREATE FUNCTION g(p integer) RETURNS void LANGUAGE sql AS 'SELECT FROM tab';
		CREATE FUNCTION h(p bigint) RETURNS void LANGUAGE sql AS 'SELECT FROM tab WHERE id = p';
		CREATE FUNCTION i(p integer) RETURNS void LANGUAGE sql AS 'SELECT FROM other'`)
	if plan := d.Inspect(t, "tab"); len(plan.Notes) != 0 {
		t.Errorf("notes %q, want none: no type is changed", plan.Notes)
	}
	d.Script(t, "ALTER TABLE tab ALTER id TYPE integer")
	if plan := d.Inspect(t, "tab"); strings.Contains(strings.Join(plan.Notes, ""), "i(integer)") || strings.Contains(strings.Join(plan.Notes, ""), "h(bigint)") {
		t.Errorf("notes %q name functions that have nothing to do with it", plan.Notes)
	}
}

// Phase guard adds a CHECK to each key that has none. The name of the CHECK is the name that
// GORM would give to it, or a free name. The field want is a part of the statement that adds
// the CHECK. If want is empty, no CHECK is needed. GORM cuts a long name to 55 bytes, and
// adds eight digits of a hash.
func postgresGuards(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct {
		name, ddl, want string
	}{
		{"none", "", `"chk_t_id" CHECK ("id" > 0)`},
		{"positive", "ALTER TABLE t ADD CHECK (id > 0)", ""},
		{"at least one, not validated", "ALTER TABLE t ADD CHECK (id >= 1) NOT VALID", ""},
		{"turned", "ALTER TABLE t ADD CHECK (0 < id)", ""},
		{"other limit", "ALTER TABLE t ADD CHECK (id > -5)", `"chk_t_id"`},
		{"of two columns", "ALTER TABLE t ADD CHECK (id > 0 OR n > 0)", `"chk_t_id"`},
		{"not for children", "ALTER TABLE t ADD CHECK (id > 0) NO INHERIT", `"chk_t_id"`},
		{"long name", "ALTER TABLE t RENAME id TO " + strings.Repeat("é", 31), `"chk_t_` + strings.Repeat("é", 24)},
		{"name that GORM cuts", "ALTER TABLE t RENAME id TO " + strings.Repeat("x", 60), `"chk_t_` + strings.Repeat("x", 49)},
		{"name taken", "ALTER TABLE t ADD CONSTRAINT chk_t_id CHECK (n > 0)", `"chk_t_id_positive"`},
		{"both names taken", "ALTER TABLE t ADD CONSTRAINT chk_t_id CHECK (n > 0), ADD CONSTRAINT chk_t_id_positive CHECK (n > 0)", `"chk_t_id_positive_positive"`},
		{"name taken by a child", "CREATE TABLE c (CONSTRAINT chk_t_id CHECK (n > 0)) INHERITS (t)", `"chk_t_id_positive"`},
		{"key of another table", "CREATE TABLE o (id integer PRIMARY KEY CHECK (id > 0)); ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES o", ""},
		{"key of another table, not validated", "CREATE TABLE o (id integer PRIMARY KEY CHECK (id > 0)); ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES o NOT VALID", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, "CREATE TABLE t (id integer PRIMARY KEY, n integer);"+test.ddl)
			plan := d.RoundTrip(t, "t")
			got := ""
			for _, phase := range plan.Phases {
				if phase.Name == sqlmigrate.Guard {
					got = fmt.Sprint(phase.Steps[0].Up)
				}
			}
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("guard %s, want %q", got, test.want)
			}
		})
	}
}

// Tables that no column connects with the moved key stay as they are. want has the
// columns of the plan.
func postgresConnected(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `
		CREATE TABLE users (id serial PRIMARY KEY);
		CREATE TABLE products (id serial PRIMARY KEY);
		CREATE TABLE orders (id serial PRIMARY KEY, user_id integer REFERENCES users);
		CREATE TABLE lines (order_id integer REFERENCES orders, product_id integer REFERENCES products, n integer, PRIMARY KEY (order_id, product_id));
		CREATE TABLE extras (product_id integer PRIMARY KEY REFERENCES products);
		CREATE TABLE shared (either integer REFERENCES orders);
		CREATE TABLE archive (id serial PRIMARY KEY);
		ALTER TABLE shared ADD FOREIGN KEY (either) REFERENCES archive;
		CREATE TABLE tenants (id serial PRIMARY KEY);
		CREATE TABLE docs (tenant_id integer REFERENCES tenants, id serial, PRIMARY KEY (tenant_id, id));
		CREATE TABLE pages (tenant_id integer, doc_id integer, FOREIGN KEY (tenant_id, doc_id) REFERENCES docs)`)
	for _, test := range []struct {
		name    string
		targets []any
		want    string
	}{
		{"down", []any{"users"}, "orders.user_id users.id"},
		{"only columns that hold the keys", []any{"products"}, "extras.product_id lines.product_id products.id"},
		{"over a column of two keys", []any{"orders"}, "archive.id lines.order_id orders.id shared.either"},
		{"up from a key that refers", []any{"extras"}, "extras.product_id lines.product_id products.id"},
		{"nothing of a key of several integers that nobody assigns", []any{"lines"}, ""},
		{"only the assigned column of a composite key", []any{"docs"}, "docs.id pages.doc_id"},
		{"reference without a constraint", []any{"users", sqlmigrate.WithReference("lines.n", "users.id")}, "lines.n orders.user_id users.id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, table := range d.Inspect(t, test.targets...).Tables {
				for _, column := range table.Columns {
					got = append(got, table.Name+"."+column.Name)
				}
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("connected: %s, want %s", text, test.want)
			}
		})
	}
}

// An index that is created again has its former properties, which are its storage
// parameters, statistics target and comment.
func postgresIndexes(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `
		CREATE TABLE t (id serial PRIMARY KEY, n text);
		CREATE INDEX remainder ON t (n, (id % 10)) WITH (fillfactor = 50);
		ALTER INDEX remainder ALTER COLUMN 2 SET STATISTICS 321;
		COMMENT ON INDEX remainder IS 'c'; SELECT nextval('t_id_seq')`)
	d.RoundTrip(t, "t")
}

// The column tenant_id of a composite key is not moved, because the database assigns only
// the column id, by a sequence. Phase detach removes this sequence. A later plan must not move
// tenant_id either, although no sequence shows any more which of the two columns is the key.
func postgresTenants(t *testing.T, server *migratetest.PgServer) {
	d := server.Database(t, `
		CREATE TABLE tenants (id serial PRIMARY KEY);
		CREATE TABLE docs (tenant_id integer REFERENCES tenants, id serial, PRIMARY KEY (tenant_id, id));
		CREATE TABLE pages (tenant_id integer, doc_id integer, PRIMARY KEY (tenant_id, doc_id), FOREIGN KEY (tenant_id, doc_id) REFERENCES docs);
		SELECT nextval('docs_id_seq')`)
	d.RoundTrip(t, "docs")
}
