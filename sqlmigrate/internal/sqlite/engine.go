// Package sqlite plans and runs the move of tables in SQLite. Package sqlmigrate calls
// the methods of [Engine], and package run calls its Run.
//
// [Engine.Inspect] (inspect.go) reads the schema (schema.go), follows references
// (connect.go) and computes the phases (plan.go), with the statements of sql.go.
// [Engine.Run] runs them (run.go). [Engine.Try] tries keys in copies of tables (trial.go
// and the files whose names begin with it). survey.go reads the evidence for references
// without a foreign key.
package sqlite

import (
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine implements [engine.Engine] for SQLite. It only changes the catalog. Every
// integer column of SQLite holds 64 bits, so there is no phase widen. The engine never
// rebuilds a table, because it would have to drop the old table, which deletes the rows
// that refer to it by ON DELETE CASCADE, without an error.
//
// To detach a key, the engine removes AUTOINCREMENT from the table's SQL text in the
// catalog, from which SQLite builds the table each time it opens the database.
// AUTOINCREMENT has no effect on the stored rows.
type Engine struct{}

// Quote implements [engine.Engine].
func (Engine) Quote(t plan.TableName) string { return t.Quoted(`"`) }

// absentText matches the drivers' errors for a table or schema that does not exist.
var absentText = regexp.MustCompile(`no such table|unknown database`)

// Absent implements [engine.Engine]. It reports whether err means that a table or its
// schema does not exist.
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine]. It returns true, because Run is one
// transaction. SQLite can also undo changes of the schema.
func (Engine) Transactions() bool { return true }

// lockedText matches the drivers' errors after a busy_timeout.
var lockedText = regexp.MustCompile(`database (table )?is locked`)

// LockTimeout implements [engine.Engine]. It reports whether err means that another
// connection held the lock for too long.
func (Engine) LockTimeout(err error) bool { return lockedText.MatchString(err.Error()) }

// Script implements [engine.Engine]. It returns the statements in the format of the
// migration tool. They do not begin a transaction, because the tools do that by default. If
// a user has turned that off, the statements can still be repeated after an interruption.
func (Engine) Script(statements []plan.Statement, format engine.Format) string {
	return format.Script(engine.SQLOf(statements))
}
