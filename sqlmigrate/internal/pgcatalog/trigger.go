package pgcatalog

import "context"

// A Trigger is one that a user has created.
type Trigger struct {
	Name    string
	Enabled string // as pg_trigger has it: O, D, R or A
	Events  int    // bits, as pg_trigger has them
	Columns int    // of UPDATE OF

	Function      string // with the types of its arguments
	Language      string
	Cost          string
	FunctionOwner string
	Owned         bool // the current role may change the function
}

// ChangesRows reports whether the trigger may change a row before it is written.
func (t Trigger) ChangesRows() bool {
	const row, before, insert, update = 1, 2, 4, 16
	return t.Events&row != 0 && t.Events&before != 0 && t.Events&(insert|update) != 0
}

// OnUpdate reports whether the trigger fires when any column is updated.
func (t Trigger) OnUpdate() bool { return t.Events&16 != 0 && t.Columns == 0 && t.Enabled != "D" }

// Triggers returns the triggers of a table, by name, without those that a partition has
// from its parent, with their functions: PL/pgSQL remembers types in a session.
func (q QualifiedReader) Triggers(ctx context.Context, table int64) []Trigger {
	return Read[Trigger](ctx, q.Reader, `
SELECT g.tgname, g.tgenabled::text, g.tgtype, coalesce(array_length(g.tgattr::int2[], 1), 0),
       f.oid::regprocedure::text, l.lanname, f.procost::text, pg_get_userbyid(f.proowner), pg_has_role(f.proowner, 'USAGE')
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE g.tgrelid = $1::bigint::oid AND NOT g.tgisinternal AND g.tgparentid = 0 ORDER BY g.tgname`, table)
}
