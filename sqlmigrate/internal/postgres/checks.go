package postgres

import (
	"context"
	"maps"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
)

// A check is to be added.
type check struct {
	column *column
	name   string
	added  bool // by a run that was ended before it had it validated
	broken bool // by a row, so that it is not validated
}

// checksSQL asks for the names of constraints, and which of them make a column
// positive already, and are not validated. One that does not hold for children
// guards too little.
const checksSQL = `
SELECT c.conrelid::bigint, c.conname, c.contype = 'c' AND pg_get_constraintdef(c.oid) ~ ' > (0|''0''::bigint)\)\) NOT VALID$',
       coalesce((
         SELECT a.attnum FROM pg_catalog.pg_attribute a
         WHERE c.contype = 'c' AND NOT c.connoinherit AND a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
           AND pg_get_expr(c.conbin, c.conrelid) IN (
             format('(%I > 0)', a.attname), format('(%I >= 1)', a.attname),
             format('(0 < %I)', a.attname), format('(1 <= %I)', a.attname),
             format('(%I > ''0''::bigint)', a.attname), format('(%I >= ''1''::bigint)', a.attname))), 0)
FROM pg_catalog.pg_constraint c
WHERE c.conrelid = ANY ($1::text::oid[])`

// constraintNames are the constraints of a table and of what is below it.
type constraintNames struct {
	guarded map[int64]bool   // columns that are positive already
	pending map[int64]string // checks that are not validated
	taken   map[string]bool
}

// readChecks finds keys that need a CHECK. One that refers to another key has its
// in that table.
func readChecks(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) (found engine.Findings) {
	names := readConstraintNames(ctx, q, g)
	for _, t := range g.tables {
		for _, c := range t.columns {
			if !c.Key || c.enforced || !c.isInteger() {
				continue
			}
			name, added, needed := names[t].choose(c)
			if !needed {
				continue
			}
			broken := c.keys.Smallest.Valid && c.keys.Smallest.Int64 <= 0
			if broken {
				found.NotPositive(t.Display, c.Name, c.keys.Smallest.Int64, "its CHECK stays NOT VALID, and refuses an UPDATE of that row too")
			}
			names[t].taken[name] = true
			t.checks = append(t.checks, check{c, name, added, broken})
		}
	}
	return found
}

func readConstraintNames(ctx context.Context, q pgcatalog.QualifiedReader, g *graph) map[*table]*constraintNames {
	found, tables := map[*table]*constraintNames{}, map[int64][]*table{}
	var oids []int64
	for _, t := range g.tables {
		found[t] = &constraintNames{map[int64]bool{}, map[int64]string{}, map[string]bool{}}
		for _, member := range t.members {
			oids = append(oids, member)
			tables[member] = append(tables[member], t)
		}
	}
	for _, x := range pgcatalog.Read[struct {
		Table   int64
		Name    string
		Pending bool
		Column  int64
	}](ctx, q.Reader, checksSQL, oids) {
		for _, t := range tables[x.Table] {
			names := found[t]
			names.taken[x.Name] = true
			if t.OID != x.Table { // a child
				continue
			}
			names.guarded[x.Column] = true
			if x.Pending {
				names.pending[x.Column] = x.Name
			}
		}
	}
	return found
}

// choose names the check of a column that needs one, or finds that which this
// package has added already: by its name, which is the one that it would get.
func (n *constraintNames) choose(c *column) (name string, added, needed bool) {
	if !n.guarded[c.Node.Column] {
		return guardName(c, n.taken), false, true
	}
	pending := n.pending[c.Node.Column]
	if pending == "" {
		return "", false, false
	}
	others := maps.Clone(n.taken)
	delete(others, pending)
	return pending, true, guardName(c, others) == pending
}

// guardName is no longer than the bytes that PostgreSQL keeps of a name.
func guardName(c *column, taken map[string]bool) string {
	const longest = 63
	return engine.GuardName(c.table.Name, c.Name, longest, func(name string) bool { return len(name) <= longest && !taken[name] })
}
