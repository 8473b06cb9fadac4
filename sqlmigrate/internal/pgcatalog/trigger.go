package pgcatalog

import "context"

// A Trigger is a trigger that a user has created on a table, with its function.
type Trigger struct {
	Name    string
	Enabled string // tgenabled of pg_trigger, which is O for enabled, D for disabled, R for ENABLE REPLICA, A for ENABLE ALWAYS
	Events  int    // tgtype of pg_trigger, which is a bit mask; bit 16 is UPDATE
	Columns int    // number of columns in UPDATE OF

	Function          string // the name with the types of the arguments
	Language          string
	Cost              string // procost of the function, for ALTER FUNCTION
	FunctionOwner     string
	MayChangeFunction bool // whether the current role may change the function
}

// ChangesRows reports whether the trigger can change a row before it is written.
func (t Trigger) ChangesRows() bool {
	const row, before, insert, update = 1, 2, 4, 16
	return t.Events&row != 0 && t.Events&before != 0 && t.Events&(insert|update) != 0
}

// OnUpdate reports whether the trigger fires for an update of any column.
func (t Trigger) OnUpdate() bool { return t.Events&16 != 0 && t.Columns == 0 && t.Enabled != "D" }

// Triggers returns the triggers of a table and their functions, sorted by name. It
// excludes the triggers of constraints (tgisinternal), and the triggers that a partition
// has from its parent (tgparentid). The functions are needed because PL/pgSQL caches
// types in a session.
func (q QualifiedReader) Triggers(ctx context.Context, table int64) []Trigger {
	return Read[Trigger](ctx, q.Reader, `
SELECT g.tgname, g.tgenabled::text, g.tgtype, coalesce(array_length(g.tgattr::int2[], 1), 0),
       f.oid::regprocedure::text, l.lanname, f.procost::text, pg_get_userbyid(f.proowner), pg_has_role(f.proowner, 'USAGE')
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE g.tgrelid = $1::bigint::oid AND NOT g.tgisinternal AND g.tgparentid = 0 ORDER BY g.tgname`, table)
}
