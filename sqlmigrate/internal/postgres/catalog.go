package postgres

import (
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Quote implements [engine.Engine].
func (Engine) Quote(t engine.TableName) string { return t.Quoted(`"`) }

// FoldsNames implements [engine.Engine].
func (Engine) FoldsNames() bool { return false }

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool {
	state := stateOf(err)
	return state == "42P01" || state == "3F000"
}

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return true }

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool {
	state := stateOf(err)
	return state == lockNotAvailable || state == deadlockDetected
}

// AfterFailure does not know how a COMMIT has ended that has failed, or whose
// answer was lost.
func (Engine) AfterFailure(changed int, all bool) string {
	state := engine.NothingChanged
	if changed > 0 {
		state = engine.PartlyChanged(changed)
	}
	if all {
		return state + ", or all of it if the connection was lost: inspect again"
	}
	return state
}

// LikelyReferences implements [engine.Engine].
func (Engine) LikelyReferences() engine.LikelyQueries {
	return engine.LikelyQueries{Narrow: narrowSQL, Types: typesSQL}
}

const (
	narrowSQL = `SELECT c.relname, a.attname FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = COALESCE(NULLIF($1, ''), current_schema()) AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount = 0
			AND a.atttypid IN ('pg_catalog.int2'::regtype, 'pg_catalog.int4'::regtype)
			AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.conrelid = c.oid AND a.attnum = ANY (k.conkey))`

	typesSQL = `SELECT c.relname, a.attname FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = COALESCE(NULLIF($1, ''), current_schema()) AND NOT a.attisdropped AND right(a.attname, 5) = '_type'`
)
