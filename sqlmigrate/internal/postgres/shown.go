package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A shownView is a view that shows keys, directly or through other views. The views of a
// trial are created in a single temporary schema, so two relations that a view uses must
// not have the same name. Visible is true if the name of the relation without a schema
// means this relation, and no other of the same name.
type shownView struct {
	OID          int64
	Display      plan.TableName
	Schema, Name string
	Text         string // its query
	Visible      bool
	Uses         []usedRelation // the relations that its query names
}

// A usedRelation is a table or view that a view uses.
type usedRelation struct {
	OID          int64
	Schema, Name string
	Visible      bool
}

// mostRead limits the rows that are read from a view, because the server keeps them in
// memory.
const mostRead = 1000

// pathSQL sets the search path to all schemas. The server then writes the definitions of
// views without schemas, except for relations that another relation of the same name
// hides. The current schema comes first, and the schemas in the parameter follow.
const pathSQL = `SELECT set_config('search_path', string_agg(quote_ident(nspname), ', ' ORDER BY nspname <> current_schema(), nspname <> ALL (SELECT json_array_elements_text($1::text::json)), nspname), true)
FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'`

// shownSQL returns the views on columns, and the tables and views that each view uses. $1
// is a list of tables and columns as JSON. The relation view has the views that depend on
// one of the columns, or on the whole row (refobjsubid 0), and then the views on views.
// The rule _RETURN is the query of a view. The last column leaves out sequences (relkind
// 'S') and relations of the server itself, because the copies can use them as they are.
const shownSQL = `
WITH RECURSIVE view (oid) AS (
  SELECT r.ev_class
  FROM json_to_recordset($1::text::json) AS k (oid bigint, keys text[])
  JOIN pg_catalog.pg_attribute a ON a.attrelid = k.oid::oid AND a.attname = ANY (k.keys)
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid IN (0, a.attnum)
  JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid AND r.rulename = '_RETURN'
  UNION
  SELECT r.ev_class
  FROM view
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = view.oid
  JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid AND r.rulename = '_RETURN'
)
SELECT c.oid::bigint, CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, n.nspname, c.relname, pg_get_viewdef(c.oid),
       pg_table_is_visible(c.oid),
       (SELECT jsonb_agg(DISTINCT jsonb_build_object('OID', u.oid::bigint, 'Schema', un.nspname, 'Name', u.relname, 'Visible', pg_table_is_visible(u.oid)))
        FROM pg_catalog.pg_rewrite r
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
        JOIN pg_catalog.pg_class u ON u.oid = d.refobjid AND u.oid <> c.oid AND u.relkind <> 'S'
        JOIN pg_catalog.pg_namespace un ON un.oid = u.relnamespace AND un.nspname NOT IN ('pg_catalog', 'information_schema')
        WHERE r.ev_class = c.oid AND r.rulename = '_RETURN')::text
FROM view JOIN pg_catalog.pg_class c ON c.oid = view.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY n.nspname, c.relname`

// Views implements [engine.Copies]. It reads each view over rows with the key, and
// returns the number of rows that it shows, or its error. The columns have the types
// after the plan, or their present types if asIs is true. Each view is created as a
// temporary view, and temporary tables with constant rows replace the tables that it
// uses. All views are first tried together, because that is fast; if one fails, each is
// tried alone, so that only views that fail themselves get an error.
func (r *trial) Views(ctx context.Context, key types.ID, asIs bool) ([]engine.Shown, error) {
	// Read the views on the tables. A table with triggers has several copies, and is read
	// once.
	schemas, tables := []string{}, []map[string]any{}
	copies := map[int64]*tableCopy{}
	for _, c := range r.copies {
		if copies[c.OID] == nil {
			copies[c.OID] = c
			schemas, tables = append(schemas, c.Schema), append(tables, map[string]any{"oid": c.OID, "keys": columnNames(c.table.Columns)})
		}
	}
	if _, err := r.tx.ExecContext(ctx, pathSQL, asJSON(schemas)); err != nil {
		return nil, err
	}
	views, err := rows.Read[shownView](ctx, r.tx, shownSQL, asJSON(tables)) // err is returned below, with the views that were read
	byOID := map[int64]shownView{}
	for _, v := range views {
		byOID[v.OID] = v
	}
	// Prepare an attempt for each view whose relations have different names, and one for
	// all these views. viewOf has the index of the view of each attempt in alone.
	found := make([]engine.Shown, len(views))
	var alone []attempt
	var viewOf []int
	var roots []usedRelation
	together := attempt{}
	uses := func(u usedRelation) []usedRelation { return byOID[u.OID].Uses }
	for i, v := range views {
		found[i].View = v.Display
		root := []usedRelation{{v.OID, v.Schema, v.Name, v.Visible}}
		below := pgcatalog.ParentsFirst(root, uses)
		for _, u := range below {
			if c := copies[u.OID]; c != nil { // a table that the view uses, perhaps through other views
				found[i].Table = c.Display
			}
		}
		if !slices.ContainsFunc(below, func(u usedRelation) bool { return !u.Visible }) {
			create := createCopies(below, byOID, copies, key, r.Moved && !asIs)
			read := []string{readOnly, fmt.Sprintf("SELECT v::text FROM pg_temp.%s AS v LIMIT %d", pgsql.Quote(v.Name), mostRead)}
			alone, together.Tries = append(alone, attempt{create, [][]string{read}}), append(together.Tries, read)
			roots, viewOf = append(roots, root...), append(viewOf, i)
		}
	}
	if err != nil || len(alone) == 0 {
		return found, err
	}
	// Read the views.
	together.Prepare = createCopies(pgcatalog.ParentsFirst(roots, uses), byOID, copies, key, r.Moved && !asIs)
	outcomes, err := r.runAttempts(ctx, []attempt{together})
	if err == nil && slices.ContainsFunc(outcomes, func(o outcome) bool { return o.err() != nil }) {
		outcomes, err = r.runAttempts(ctx, alone)
	}
	for i, o := range outcomes {
		view := &found[viewOf[i]]
		if view.Err = o.err(); view.Err == nil {
			view.Rows = o.Rows
		}
	}
	return found, err
}

// createCopies returns the statements that create temporary copies of the relations, so
// that a view can be read over rows with the key. The relations must be in an order in
// which each relation follows the relations that it uses. A table of the trial gets rows
// with the key. Its columns have their types after the plan if moved is true. Any other
// table gets one row in which all columns are NULL. A view keeps its definition.
func createCopies(relations []usedRelation, views map[int64]shownView, copies map[int64]*tableCopy, key types.ID, moved bool) []string {
	statements := make([]string, len(relations))
	for i, u := range relations {
		kind, text := "TABLE", "SELECT (NULL::"+pgsql.Qualified(u.Schema, u.Name)+").*"
		if c := copies[u.OID]; c != nil {
			text = c.constantRows(moved, engine.Chain(c.table, key)...)
		} else if v, isView := views[u.OID]; isView {
			kind, text = "VIEW", pgview.NameConstants(strings.TrimSuffix(strings.TrimSpace(v.Text), ";"))
		}
		statements[i] = "CREATE TEMP " + kind + " " + pgsql.Quote(u.Name) + " AS " + text
	}
	return statements
}
