package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/types"
)

// A shown view shows keys, itself or by other views.
type shown struct {
	OID          int64
	Display      string
	Schema, Name string
	Uses         []usedRelation
}

type usedRelation struct {
	OID          int64
	Schema, Name string
}

// shownSQL asks for the views above columns, and for the tables and views that each
// uses. Those of the server itself are used as they are.
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
SELECT c.oid::bigint, CASE WHEN n.nspname = current_schema() THEN c.relname ELSE n.nspname || '.' || c.relname END, n.nspname, c.relname,
       (SELECT jsonb_agg(DISTINCT jsonb_build_object('OID', u.oid::bigint, 'Schema', un.nspname, 'Name', u.relname))
        FROM pg_catalog.pg_rewrite r
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
        JOIN pg_catalog.pg_class u ON u.oid = d.refobjid AND u.oid <> c.oid AND u.relkind <> 'S'
        JOIN pg_catalog.pg_namespace un ON un.oid = u.relnamespace AND un.nspname NOT IN ('pg_catalog', 'information_schema')
        WHERE r.ev_class = c.oid AND r.rulename = '_RETURN')::text
FROM view JOIN pg_catalog.pg_class c ON c.oid = view.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY n.nspname, c.relname`

// A gallery has what views are made of.
type gallery struct {
	*trial
	views  map[int64]shown
	copies map[int64]*copied
}

// tryViews reads each view above the keys.
func (r *trial) tryViews(copies []*copied) {
	g := gallery{r, map[int64]shown{}, map[int64]*copied{}}
	var tables []map[string]any
	for _, c := range copies {
		g.copies[c.OID] = c
		tables = append(tables, map[string]any{"oid": c.OID, "keys": columnNames(c.keys)})
	}
	views := read[shown](r, shownSQL, asJSON(tables))
	for _, v := range views {
		g.views[v.OID] = v
	}
	unseen := pgsql.Join(keepIf(views, g.showsNothing), ", ", func(v shown) string { return v.Display })
	if unseen != "" {
		r.Note("No key was tried in these views, which show no row that has one: %s.", unseen)
	}
}

// showsNothing tries a view.
func (g *gallery) showsNothing(v shown) bool {
	var path string
	var definitions map[int64]string
	below, err := g.below(v)
	if err == nil {
		path, definitions, err = g.define(below)
	}
	if err != nil {
		g.NotTried(v.Display, err)
		return false
	}
	table := g.copies[below[slices.IndexFunc(below, func(u usedRelation) bool { return g.copies[u.OID] != nil })].OID].Display
	see := func(key types.ID, moved bool) (rows int, err error) {
		query, copies := g.queries(below, definitions, key, moved)
		counts, err := ask[int](g.trial, path+"; "+readOnly, query)
		if err != nil {
			counts, err = ask[int](g.trial, path+";\n"+copies+readOnly, "SELECT count(v::text) FROM pg_temp."+pgsql.Quote(v.Name)+" AS v")
		}
		if err == nil {
			rows = counts[0]
		}
		return rows, err
	}
	rows, err := see(g.Today, g.Moved)
	if err == nil {
		if _, err := see(g.Last, g.Moved); err != nil && ofServer(err) {
			g.Note("View %s can be read with keys of today, but not with %d, the last one of the layout: %v", v.Display, g.Last, err)
		}
		return rows == 0
	}
	if _, small := see(g.Small, false); small == nil && ofServer(err) {
		g.Unreadable(table, v.Display, g.Today, err)
	} else {
		g.NotTried(table, fmt.Errorf("view %s: %w", v.Display, err))
	}
	return false
}

// below returns what a view uses, itself or by other views, each after what it uses
// itself, and the view at the end. Their rows have no schema, so that no two may have
// the same name.
func (g *gallery) below(v shown) (all []usedRelation, err error) {
	all = pgcatalog.ParentsFirst([]usedRelation{{v.OID, v.Schema, v.Name}}, func(u usedRelation) []usedRelation { return g.views[u.OID].Uses })
	for i, u := range all {
		if slices.ContainsFunc(all[:i], func(other usedRelation) bool { return other.Name == u.Name }) {
			return nil, fmt.Errorf("it uses two tables or views with the name %s", u.Name)
		}
	}
	return all, nil
}

// define returns a search path with which the names of what a view uses have no schema,
// and the definitions of the views for that.
func (g *gallery) define(below []usedRelation) (path string, definitions map[int64]string, err error) {
	schemas := map[string]bool{}
	var oids []string
	for _, u := range below {
		schemas[pgsql.Quote(u.Schema)] = true
		if _, view := g.views[u.OID]; view {
			oids = append(oids, strconv.FormatInt(u.OID, 10))
		}
	}
	path = "SET LOCAL search_path = " + strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")
	found, err := ask[struct {
		OID  int64
		Text string
	}](g.trial, path, "SELECT oid::bigint, pg_get_viewdef(oid) FROM unnest('{"+strings.Join(oids, ",")+"}'::oid[]) AS oid")
	definitions = map[int64]string{}
	for _, v := range found {
		definitions[v.OID] = keepNameless(strings.TrimSuffix(strings.TrimSpace(v.Text), ";"))
	}
	return path, definitions, err
}

// queries count what a view shows of rows that no table has, which take the place of what
// it uses: the first without copies, which is enough unless a row has the type of its
// table. There the rows are materialized: a constant would be used before it is shown.
func (g *gallery) queries(below []usedRelation, definitions map[int64]string, key types.ID, moved bool) (query, copies string) {
	var tables []string
	for _, u := range below {
		kind, name, rows := "TABLE ", pgsql.Quote(u.Name), "SELECT (NULL::"+pgsql.Qualified(u.Schema, u.Name)+").*"
		if c := g.copies[u.OID]; c != nil {
			rows = c.rows(moved, key)
		} else if definition := definitions[u.OID]; definition != "" {
			kind, rows = "VIEW ", definition
		}
		tables = append(tables, name+" AS MATERIALIZED ("+rows+"\n)")
		copies += "CREATE TEMP " + kind + name + " AS " + rows + ";\n"
	}
	return "WITH " + strings.Join(tables, ", ") + " SELECT count(v::text) FROM " + pgsql.Quote(below[len(below)-1].Name) + " AS v", copies
}
