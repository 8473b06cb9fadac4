package pgcatalog

import "context"

// A Trigger is a trigger that a user has created on a table, with its function.
type Trigger struct {
	Name    string
	Enabled string // tgenabled of pg_trigger, which is O for enabled, D for disabled, R for ENABLE REPLICA, A for ENABLE ALWAYS
	Events  int    // tgtype of pg_trigger, which is a mask of the bits below, such as onUpdate
	Columns int    // number of columns in UPDATE OF

	Function          string // the name with the types of the arguments
	Language          string
	Cost              string // procost of the function, for ALTER FUNCTION
	FunctionOwner     string
	MayChangeFunction bool // whether the current role may change the function
}

// Bits of Trigger.Events, which PostgreSQL defines for tgtype.
const (
	forEachRow = 1
	before     = 2
	onInsert   = 4
	onUpdate   = 16
)

// ChangesRows reports whether the trigger can change a row before it is written, which a
// BEFORE trigger FOR EACH ROW can do. It ignores whether the trigger is enabled.
func (t Trigger) ChangesRows() bool {
	return t.Events&forEachRow != 0 && t.Events&before != 0 && t.Events&(onInsert|onUpdate) != 0
}

// OnUpdate reports whether every UPDATE of the table fires the trigger, whatever columns the
// UPDATE sets. It returns false for a trigger that is disabled, or that names columns in
// UPDATE OF. It returns true for a trigger with ENABLE REPLICA (R), which fires only in
// sessions with session_replication_role = replica.
func (t Trigger) OnUpdate() bool {
	return t.Events&onUpdate != 0 && t.Columns == 0 && t.Enabled != "D"
}

// Triggers returns the triggers of a table and their functions, sorted by name. It excludes
// the triggers of constraints (tgisinternal), and the triggers that a partition has from
// its parent (tgparentid). The functions are needed because PL/pgSQL caches the types of
// columns in a session, so that an online move has to alter the functions.
func (q QualifiedReader) Triggers(ctx context.Context, table int64) []Trigger {
	return Read[Trigger](ctx, q.Reader, `
SELECT g.tgname, g.tgenabled::text, g.tgtype, coalesce(array_length(g.tgattr::int2[], 1), 0),
       f.oid::regprocedure::text, l.lanname, f.procost::text, pg_get_userbyid(f.proowner), pg_has_role(f.proowner, 'USAGE')
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE g.tgrelid = $1::bigint::oid AND NOT g.tgisinternal AND g.tgparentid = 0 ORDER BY g.tgname`, table)
}
