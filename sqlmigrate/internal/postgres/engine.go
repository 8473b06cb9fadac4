// Package postgres plans and runs the move of tables in PostgreSQL with locks.
//
// What it knows flows one way. Readers over package pgcatalog put what was asked
// for (resolve.go), and what is connected with it (connect.go), into a graph
// (graph.go). Others find what blocks (blockers.go, rebuilt.go), what a change of
// types would lose (keep.go, recreate.go, views.go), what assigns keys (sequence.go)
// and which keys need a CHECK (checks.go). Functions that read nothing make the phases
// of that: widen.go, detach.go and guard.go, on lock.go.
// inspect.go has the order of these, and run.go carries statements out.
package postgres

import (
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// Engine is for PostgreSQL 12 and later.
type Engine struct{}

const oldestVersion = 120000

// Quote implements [engine.Engine].
func (Engine) Quote(t engine.TableName) string { return t.Quoted(`"`) }

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.UndefinedTable || state == pgsql.InvalidSchemaName
}

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return true }

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool {
	state := pgsql.State(err)
	return state == pgsql.LockNotAvailable || state == pgsql.DeadlockDetected
}
