package sqlmigrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mostLines is the largest number of lines that a person wants to read of a plan.
const mostLines = 150

// The text of a plan for 200 tables has at most mostLines lines, so that a person can read
// it. This holds if views block the plan, if the plan creates the views again, and if a
// single table is requested. The text names three objects of each kind. Code that fails after
// the move stands before the other notes. String, which prints all details, names each column
// of Likely.
func TestTextOfLargeApplication(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	tables, statements := applicationSchema()
	migratetest.Run(t, db, statements...)
	for name, test := range map[string]struct {
		targets []any
		want    []string // texts of the plan, in their order
	}{
		"blocked": {tables, []string{
			"Blocked by\n  view live_repo_specs, view live_repo_logs, view live_repo_runs and 47 more, of repo_specs,",
			"47 more: it uses column id, whose type", " fix: let the plan do it", "\nToo narrow", "\nTables\n",
		}},
		"with views": {append([]any{sqlmigrate.WithRecreateViews()}, tables...), []string{
			"Fails after the move\n  - An INSERT into view ", " There are such notes also for view ", " of ", " and 36 more.\n",
			"  - Function add_", " There are such notes also for function add_", " and 21 more.", "\nToo narrow", "\nNotes\n", "\nTables\n",
		}},
		"one table": {[]any{sqlmigrate.WithRecreateViews(), "repo_specs"}, []string{"\nToo narrow", "\nNotes\n", "\nTables\n"}},
	} {
		plan := migratetest.MustInspect(t, db, test.targets...)
		text := plan.Text(sqlmigrate.Style{})
		if n := strings.Count(text, "\n"); n > mostLines {
			t.Errorf("%s: the plan has %d lines, want at most %d:\n%s", name, n, mostLines, text)
		}
		rest := strings.ReplaceAll(text, "\n    ", " ") // undoes the wrapping
		for _, part := range test.want {
			found := false
			if _, rest, found = strings.Cut(rest, part); !found {
				t.Errorf("%s: no %q after the text before it:\n%s", name, part, text)
				break
			}
		}
		whole := plan.String()
		for _, l := range plan.Likely {
			if !strings.Contains(whole, "\n  "+l.Column+" ") {
				t.Errorf("%s: the plan with details does not name column %s", name, l.Column)
			}
		}
	}
}

// applicationSchema returns the names of 200 tables, and the statements that create a
// schema like that of a large application from them. Each table has two foreign keys and
// a partial index. Some have a view, a trigger, a function, a sequence that no column
// owns, or columns that hold keys without a foreign key.
func applicationSchema() (tables []any, statements []string) {
	for part := range strings.FieldsSeq("repo user changeset batch codeintel search insight team webhook access") {
		for thing := range strings.FieldsSeq("specs jobs events states logs rules files hosts runs notes tags links roles drafts scores batches flags views tokens limits") {
			tables = append(tables, part+"_"+thing)
		}
	}
	add := func(i int, format string) {
		of := func(n int) string { return fmt.Sprint(tables[n%(i+1)]) } // an earlier table, or the table itself
		names := strings.NewReplacer("{table}", of(i), "{first}", of(i*7+3), "{second}", of(i*3+1), "{third}", strings.TrimSuffix(of(i/2), "s"))
		statements = append(statements, names.Replace(format))
	}
	for i := range tables {
		add(i, `CREATE TABLE {table} (id serial PRIMARY KEY, parent integer REFERENCES {first}, owned integer, name text NOT NULL DEFAULT '', deleted_at timestamptz)`)
		add(i, `ALTER TABLE {table} ADD FOREIGN KEY (owned) REFERENCES {second}`)
		add(i, `CREATE UNIQUE INDEX ON {table} (name, parent) WHERE deleted_at IS NULL`)
		if i%4 == 0 {
			add(i, `ALTER TABLE {table} ADD COLUMN {third}_id integer, ADD COLUMN created_by integer`)
			add(i, `CREATE VIEW live_{table} AS SELECT * FROM {table} WHERE deleted_at IS NULL`)
			add(i, `CREATE FUNCTION touch_{table}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.deleted_at := now(); RETURN NEW; END'`)
			add(i, `CREATE TRIGGER touch BEFORE UPDATE OF name ON {table} FOR EACH ROW EXECUTE FUNCTION touch_{table}()`)
		}
		if i%5 == 0 {
			add(i, `CREATE VIEW names_of_{table} AS SELECT name FROM {table}`)
			add(i, `CREATE FUNCTION count_{table}(of integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM {table} WHERE parent = of); END'`)
		}
		if i%8 == 1 {
			add(i, `CREATE FUNCTION add_{table}(label text) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO {table} (name) VALUES (label); END'`)
			add(i, `CREATE SEQUENCE numbers_of_{table}; ALTER TABLE {table} ALTER COLUMN id SET DEFAULT nextval('numbers_of_{table}')`)
			add(i, `CREATE FUNCTION number_of_{table}() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN nextval(''numbers_of_{table}''); END'`)
		}
	}
	return tables, statements
}
