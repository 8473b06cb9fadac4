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

// A shownView is a view that shows keys of the trial, directly or through other views. The
// trial creates temporary copies of the view and of all relations that it uses, under names
// without schemas. Visible is false if another relation of the same name, in another schema,
// hides the view on the search path. The trial leaves out such a view, and every view that
// uses a hidden relation, because temporary copies of both relations could not have the same
// name.
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

// mostRead is the largest number of rows that the trial reads from a view. It has a limit
// because the server keeps these rows in memory.
const mostRead = 1000

// pathSQL sets the search path to all schemas, until the transaction ends. The server then
// writes the definitions of views without schemas, except for relations that another
// relation of the same name hides. The current schema comes first, the schemas in the
// parameter follow, and then all other schemas.
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

// Views implements [engine.Copies]. It reads each view over rows with the key, and returns
// the number of rows that it shows, or its error. A view that is left out has neither rows
// nor an error. The columns have the types after the plan if the trial's Moved is true and
// asIs is false, and otherwise their present types. Each view is created as a temporary view,
// and temporary tables with constant rows take the place of the tables that it uses. All
// views are first tried in one attempt, because that is fast. If one of them fails, each
// view is tried in an attempt of its own, so that only views that fail themselves get an
// error.
func (r *trial) Views(ctx context.Context, key types.ID, asIs bool) ([]engine.Shown, error) {
	views, copies, err := r.readShown(ctx)
	if err != nil {
		return nil, err
	}
	byOID := map[int64]shownView{}
	for _, v := range views {
		byOID[v.OID] = v
	}
	found := make([]engine.Shown, len(views))
	var alone []attempt      // an attempt for each view that can be tried
	var viewOf []int         // for each attempt in alone, the index of its view in views
	var roots []usedRelation // the views of the attempts in alone
	together := attempt{}    // one attempt for all views that can be tried
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
		// Leave out a view that uses a relation which another relation of the same name hides.
		if !slices.ContainsFunc(below, func(u usedRelation) bool { return !u.Visible }) {
			create := createCopies(below, byOID, copies, key, r.Moved && !asIs)
			// The text of a row needs the values of all columns.
			read := []string{readOnly, fmt.Sprintf("SELECT v::text FROM pg_temp.%s AS v LIMIT %d", pgsql.Quote(v.Name), mostRead)}
			alone, together.Tries = append(alone, attempt{create, [][]string{read}}), append(together.Tries, read)
			roots, viewOf = append(roots, root...), append(viewOf, i)
		}
	}
	if len(alone) == 0 {
		return found, nil
	}
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

// readShown returns the views on the tables of the trial, also views on these views, and
// one copy of each table, by the OID of the table. A table with triggers has several copies
// in the trial; readShown returns the first.
func (r *trial) readShown(ctx context.Context) ([]shownView, map[int64]*tableCopy, error) {
	schemas, tables := []string{}, []map[string]any{}
	copies := map[int64]*tableCopy{}
	for _, c := range r.copies {
		if copies[c.OID] == nil {
			copies[c.OID] = c
			schemas, tables = append(schemas, c.Schema), append(tables, map[string]any{"oid": c.OID, "keys": columnNames(c.table.Columns)})
		}
	}
	if _, err := r.tx.ExecContext(ctx, pathSQL, asJSON(schemas)); err != nil {
		return nil, nil, err
	}
	views, err := rows.Read[shownView](ctx, r.tx, shownSQL, asJSON(tables))
	return views, copies, err
}

// createCopies returns the statements that create temporary copies of the relations, so
// that a view can be read over rows with the key. The relations are in an order in which
// each follows the relations that it uses. The copy of a table of the trial, which is in
// copies, has rows with the key. Its columns have their types after the plan if moved is
// true. The copy of any other table has one row in which all columns are NULL. The copy of
// a view, which is in views, has the definition of the view.
func createCopies(relations []usedRelation, views map[int64]shownView, copies map[int64]*tableCopy, key types.ID, moved bool) []string {
	statements := make([]string, len(relations))
	for i, u := range relations {
		kind, text := "TABLE", "SELECT (NULL::"+pgsql.Qualified(u.Schema, u.Name)+").*"
		if c := copies[u.OID]; c != nil {
			// Chain returns keys of rows that refer to each other, so that joins find rows.
			text = c.constantRows(moved, engine.Chain(c.table, key)...)
		} else if v, isView := views[u.OID]; isView {
			kind, text = "VIEW", pgview.NameConstants(strings.TrimSuffix(strings.TrimSpace(v.Text), ";"))
		}
		statements[i] = "CREATE TEMP " + kind + " " + pgsql.Quote(u.Name) + " AS " + text
	}
	return statements
}
