package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
)

const (
	// maxNamed is how many rows or schemas a finding names.
	maxNamed = 5

	oneTable = "processes that write to the same tables must lease their workers from one table: another one leases the same workers again"
)

// checkDoubled reports the workers of which a table that is refused already has several
// rows.
func (d *doctor) checkDoubled(table string) error {
	query := "SELECT namespace, worker_id, COUNT(*) FROM " + table + " GROUP BY namespace, worker_id HAVING COUNT(*) > 1 ORDER BY 1, 2"
	type doubledWorker struct{ namespace, worker, rows string }
	found, err := readonly.Rows(d.Database, query, nil, func(w *doubledWorker) []any { return []any{&w.namespace, &w.worker, &w.rows} })
	var doubled []string
	for _, w := range found {
		doubled = append(doubled, fmt.Sprintf("worker %s of namespace %s has %s", w.worker, w.namespace, w.rows))
	}
	if len(doubled) > 0 {
		d.report.problem(workersCheck, table, "workers have several rows, and each row can have a holder: "+named(doubled),
			"stop every process that leases workers, wait for one window, and keep only the row with the highest bound of each")
	}
	return err
}

// named lists the first of names, and counts the others.
func named(names []string) string {
	if rest := len(names) - maxNamed; rest > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(names, ", ")
}

// A schema is where an unqualified name leads by default if it is public, has
// the name of a role, or is in a search_path that is set for a role or the
// database. A search_path that a program sets is not known here.
const otherTablesPostgres = `WITH tables AS (
  SELECT c.oid, n.nspname, n.nspname = 'public' OR EXISTS (SELECT FROM pg_roles WHERE rolname = n.nspname)
    OR EXISTS (SELECT FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) config
      WHERE config LIKE 'search_path=%' AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND n.nspname = ANY (regexp_split_to_array(replace(substr(config, 13), '"', ''), ',\s*'))) AS by_default
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = $2 AND c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%'
)
SELECT other.nspname, other.by_default OR other.nspname = ANY (current_schemas(false)) OR COALESCE(own.by_default, false)
FROM tables other LEFT JOIN tables own ON own.oid = to_regclass($1)
WHERE other.oid IS DISTINCT FROM CAST(to_regclass($1) AS oid) ORDER BY 1`

const otherTablesMySQL = `SELECT TABLE_SCHEMA, 0 FROM information_schema.TABLES
WHERE TABLE_TYPE <> 'VIEW' AND TABLE_NAME = ? AND TABLE_SCHEMA <> COALESCE(NULLIF(?, ''), DATABASE()) ORDER BY 1`

// checkOtherTables looks for tables of workers under the same name. Two are a
// mistake where processes that share the tables of an application find one
// each; where their applications have nothing in common, they are not.
func (d *doctor) checkOtherTables() {
	schema, name := d.leaseTable()
	query, args := otherTablesMySQL, []any{name, schema}
	switch d.Dialect {
	case "sqlite":
		return // attached files are not opened here
	case "postgres":
		query, args = otherTablesPostgres, []any{d.Quote(schema, name), name}
	}
	type otherTable struct {
		schema string
		near   bool
	}
	others, err := readonly.Rows(d.Database, query, args, func(t *otherTable) []any { return []any{&t.schema, &t.near} })
	d.unseen(workersCheck, "", err)
	var notes []string
	for _, other := range others {
		switch quoted, plain := d.Quote(other.schema, name), other.schema+"."+name; {
		case slices.Contains(d.flags.skip, plain):
		case !other.near:
			notes = append(notes, quoted)
		default:
			d.report.warn(workersCheck, quoted, "it is a second table of workers in this database: "+oneTable,
				"stop every process that leases workers, wait for one window, drop one of the two, and name the other with its schema in sqllease.WithTable; if the two serve applications that share no table, --skip "+plain)
		}
	}
	if len(notes) > 0 {
		d.report.ok(workersCheck, "", "there are other tables of workers: "+named(notes)+"; "+oneTable)
	}
}
