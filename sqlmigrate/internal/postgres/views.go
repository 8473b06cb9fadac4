package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
)

// A view is dropped before a column changes its type, and created again.
type view struct {
	*pgview.View

	columns []*column // that it uses, itself or by other views
}

// readViews reads the views that use narrow columns, in the order in which they
// are created, and finds those that cannot be.
func readViews(ctx context.Context, q pgcatalog.QualifiedReader, g *graph, uses []pgcatalog.Use) ([]*view, engine.Findings) {
	if len(uses) == 0 {
		return nil, engine.Findings{}
	}
	oids := make([]int64, len(uses))
	for i, u := range uses {
		oids[i] = u.View
	}
	var views []*view
	var found engine.Findings
	byOID := map[int64]*view{}
	for _, v := range pgview.Read(ctx, q, oids) {
		one := &view{View: v}
		views, byOID[v.OID] = append(views, one), one
	}
	for _, u := range uses {
		if v := byOID[u.View]; v != nil {
			v.columns = append(v.columns, g.columns[u.Node])
		}
	}
	for _, v := range views {
		found.Add(v.block())
	}
	readViewParts[index](ctx, q, byOID, viewIndexesSQL)
	readViewParts[keptStatistics](ctx, q, byOID, viewStatisticsSQL)
	for _, v := range views { // those that it uses come before
		for _, oid := range v.Uses {
			v.columns = append(v.columns, byOID[oid].columns...)
		}
	}
	return views, found
}

// definitions are what is created and dropped.
func definitions(views []*view) []*pgview.View {
	list := make([]*pgview.View, len(views))
	for i, v := range views {
		list[i] = v.View
	}
	return list
}

// block is for views that cannot be recreated. At this point the columns are those
// that the view uses itself.
func (v *view) block() engine.Findings {
	var found engine.Findings
	table, object := "", "view "+v.Display
	for _, c := range v.columns {
		table = c.relation.Display
	}
	for _, reason := range v.Blocked {
		found.Block(table, object, "it has to be dropped, and "+reason, "drop what is in the way before, and create it again afterwards")
	}
	return found
}

// viewIndexesSQL asks for the indexes of materialized views, which go with them,
// as statements and with what these leave out.
const viewIndexesSQL = `
SELECT i.indrelid::bigint, pg_get_indexdef(c.oid), ` + indexColumns + `
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = i.indrelid
LEFT JOIN pg_catalog.pg_constraint x ON x.conrelid = i.indrelid AND x.conindid = i.indexrelid
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
WHERE i.indrelid = ANY ($1::text::oid[])
ORDER BY c.oid`

// viewStatisticsSQL asks the same about extended statistics.
const viewStatisticsSQL = `
SELECT s.stxrelid::bigint, pg_get_statisticsobjdef(s.oid), n.nspname, s.stxname, pg_get_userbyid(s.stxowner), false, '', '',
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext')
FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
WHERE s.stxrelid = ANY ($1::text::oid[])
ORDER BY s.oid`

// readViewParts reads what goes with views, and the statements that make it what it was.
func readViewParts[T any, P interface {
	*T
	keep() []string
}](ctx context.Context, q pgcatalog.QualifiedReader, views map[int64]*view, query string) {
	for _, x := range pgcatalog.Read[struct {
		View       int64
		Definition string
		Part       T
	}](ctx, q.Reader, query, slices.Sorted(maps.Keys(views))) {
		v := views[x.View]
		v.Parts = slices.Concat(v.Parts, []string{x.Definition}, P(&x.Part).keep())
	}
}
