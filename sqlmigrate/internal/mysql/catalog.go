package mysql

import (
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Quote implements [engine.Engine].
func (Engine) Quote(t engine.TableName) string { return t.Quoted("`") }

// FoldsNames implements [engine.Engine].
func (Engine) FoldsNames() bool { return true }

// absentText is what the driver writes.
var absentText = regexp.MustCompile(`Error 1146|Error 1049`)

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return false }

// timeoutText is for lock_wait_timeout, innodb_lock_wait_timeout and deadlocks.
var timeoutText = regexp.MustCompile(`Error (1205|1213)\b`)

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool { return timeoutText.MatchString(err.Error()) }

// AfterFailure implements [engine.Engine].
func (Engine) AfterFailure(changed int, all bool) string {
	switch {
	case changed == 0:
		return "no statement of this phase has been carried out"
	case all:
		return "all statements of this phase have been carried out"
	default:
		return engine.PartlyChanged(changed)
	}
}

// LikelyReferences implements [engine.Engine].
func (Engine) LikelyReferences() engine.LikelyQueries {
	return engine.LikelyQueries{Narrow: narrowSQL, Other: otherSQL, Types: typesSQL}
}

const (
	narrowSQL = `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int')`

	// otherSQL is apart, because MariaDB would take the square of the number
	// of tables to join it with the other.
	otherSQL = `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND REFERENCED_TABLE_NAME IS NOT NULL
		UNION ALL SELECT TABLE_NAME, '' FROM information_schema.VIEWS WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE())`

	typesSQL = `SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND RIGHT(COLUMN_NAME, 5) = '_type'`
)
