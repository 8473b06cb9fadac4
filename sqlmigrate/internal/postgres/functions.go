package postgres

import (
	"context"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// functionsSQL asks for functions whose text the server does not understand
// before they run: those that name one of the tables or are its triggers, and
// use integers. They may fail at the first large key.
const functionsSQL = `
WITH name (name) AS MATERIALIZED (
  SELECT lower(name) FROM json_array_elements_text($1::text::json) AS name
)
SELECT DISTINCT pg_describe_object('pg_catalog.pg_proc'::regclass, f.oid, 0)
FROM pg_catalog.pg_proc f
JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_'
  AND l.lanname NOT IN ('c', 'internal')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
  AND (EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgfoid = f.oid AND t.tgrelid = ANY ($2::text::oid[]))
       OR EXISTS (SELECT FROM name WHERE position(name IN lower(f.prosrc)) > 0))
  AND (f.prosrc ~* $3::text
       OR f.prorettype = ANY ($4::text::oid[])
       OR coalesce(f.proallargtypes, f.proargtypes::oid[]) && $4::text::oid[])
ORDER BY 1`

const (
	integerWords = `\m(smallint|integer|int[24]?)\M`
	anyText      = `.`
)

// The OIDs of smallint and integer and of their arrays are fixed.
const integerOIDs = "{21,23,1005,1007}"

func readFunctions(ctx context.Context, r *pgcatalog.Reader, names []string, tables []int64, pattern string) []string {
	return pgcatalog.Read[string](ctx, r, functionsSQL, names, tables, pattern, integerOIDs)
}

func noteFunctions(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	var names []string
	var tables []int64
	for _, t := range g.tables {
		if len(t.narrowColumns()) > 0 {
			names, tables = append(names, t.Name), append(tables, t.members...)
		}
	}
	if functions := readFunctions(ctx, r, names, tables, integerWords); len(functions) > 0 {
		found.Note("These use a table to be widened, and integers; see that they can do with a bigint, because PostgreSQL only finds out when they run: %s.",
			strings.Join(functions, ", "))
	}
	return found
}

// noteSequenceFunctions is about sequences that functions name in their text. It asks
// for all of them at once, and for each only if a function names any.
func noteSequenceFunctions(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	var gone []*sequence
	var names []string
	for _, t := range g.tables {
		for _, c := range t.columns {
			for _, s := range c.allSequences() {
				if s.goes() {
					gone, names = append(gone, s), append(names, s.Name)
				}
			}
		}
	}
	if len(readFunctions(ctx, r, names, nil, anyText)) == 0 {
		return found
	}
	for _, s := range gone {
		if functions := readFunctions(ctx, r, []string{s.Name}, nil, anyText); len(functions) > 0 {
			found.Note("Sequence %s goes in phase detach, and is named in the text of %s.", s.Display, strings.Join(functions, ", "))
		}
	}
	return found
}

// notePublications is about replicas that apply rows by column.
func notePublications(ctx context.Context, r *pgcatalog.Reader, g *graph) (found engine.Findings) {
	for _, t := range g.tables {
		if len(t.narrowColumns()) == 0 {
			continue
		}
		if names := r.Publications(ctx, t.Relation); len(names) > 0 {
			found.Note("Table %s is in publication %s: widen the columns of the subscribers first.", t.Display, strings.Join(names, ", "))
		}
	}
	return found
}
