package postgres_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Rows that were loaded without the triggers of foreign keys can violate a foreign key. The
// plan must have a blocker with the number of these rows and an example. Without the blocker,
// phase widen would fail after it has copied the tables, because PostgreSQL checks a foreign
// key again when one of its columns becomes a bigint.
func postgresOrphans(t *testing.T, server *migratetest.PgServer) {
	for _, test := range []struct {
		name, ddl, rows string
		want            string // the description of the rows in the blocker; empty if there is no blocker
	}{
		{"parent is missing", "p_id integer REFERENCES p", "(7, 9), (8, 9), (9, 1), (10, NULL)", "2 rows, for example id = 7, p_id = 9"},
		{"all parents exist", "p_id integer REFERENCES p", "(7, 1)", ""},
		{"two columns, of which one differs", "p_id integer, tenant text DEFAULT 'b', FOREIGN KEY (tenant, p_id) REFERENCES p (tenant, id)", "(7, 1)", "1 row, for example id = 7, tenant = b, p_id = 1"},
		{"two columns, of which one is NULL", "p_id integer, tenant text, FOREIGN KEY (tenant, p_id) REFERENCES p (tenant, id)", "(7, 9)", ""},
		{"text that differs in case alone", "p_id integer, tenant citext DEFAULT 'A', FOREIGN KEY (tenant, p_id) REFERENCES p (folded, id)", "(7, 1)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := server.Database(t, `
				CREATE SCHEMA "Other"; CREATE EXTENSION citext SCHEMA "Other"; SET search_path = public, "Other";
				CREATE TABLE p (id serial PRIMARY KEY, tenant text DEFAULT 'a', folded citext DEFAULT 'a', UNIQUE (tenant, id), UNIQUE (folded, id));
				INSERT INTO p DEFAULT VALUES;
				CREATE TABLE c (id serial PRIMARY KEY, `+test.ddl+`);
				SET session_replication_role = replica; INSERT INTO c (id, p_id) VALUES `+test.rows+`;
				RESET session_replication_role; RESET search_path; ANALYZE`)
			plan := d.Inspect(t, "p")
			if test.want == "" {
				if plan.Err() != nil {
					t.Fatal(plan.Err())
				}
				d.Apply(t, plan)
				return
			}
			if len(plan.Blockers) != 1 || !strings.HasPrefix(plan.Blockers[0].Object, "foreign key c_") || !strings.Contains(plan.Blockers[0].Reason, test.want) {
				t.Fatalf("blockers %+v, want one of the foreign key with %q", plan.Blockers, test.want)
			}
			if err := d.TryScript("ALTER TABLE c ALTER p_id TYPE bigint"); err == nil {
				t.Error("PostgreSQL changed the type of the column in spite of the rows")
			}
			_, query, _ := strings.Cut(plan.Blockers[0].Fix, "finds: ")
			d.Script(t, "DELETE FROM c WHERE id IN (SELECT id FROM ("+query+") AS found)")
			d.Apply(t, d.Inspect(t, "p"))
		})
	}
}
