// Package mysql plans and runs the move of tables in MySQL and MariaDB under locks.
// Package sqlmigrate calls the methods of [Engine], and package run calls its Run.
//
// [Engine.Inspect] reads tables through package mycatalog, connects their columns to a
// graph (connect.go, graph.go), and finds the blockers (blockers.go for properties of
// tables and columns, connect.go for tables whose key cannot be chosen or moved, orphans.go
// for rows, routines.go for code).
// phases.go, widen.go, detach.go and guard.go compute the phases from the graph without
// further queries; statement.go and unchanged.go have the statements that several phases
// use. [Engine.Run] runs the statements (run.go, session.go). [Engine.Try] tries keys in
// copies of tables (trial.go and the files whose names begin with it). survey.go reads the
// evidence for references without a foreign key.
package mysql

import (
	"context"
	"database/sql"
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine implements [engine.Engine] for MySQL and MariaDB. They have no transactions for
// changes of a schema. Therefore each statement has a query that returns whether it has
// been done, and a journal in the database stores the definitions that an interrupted run
// would otherwise lose (journal.go).
//
// A narrow key becomes bigint, even if it is unsigned, because that is the type that GORM
// creates for types.ID, and because foreign keys need equal types. A key that is bigint
// unsigned does not change: it holds every ID, and a change would rewrite the table.
// Unsigned columns that refer to such a key become bigint unsigned.
type Engine struct{}

// Inspect implements [engine.Engine]. It holds the lock of a [Session], so that no run
// changes the database during the inspection.
func (Engine) Inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (_ *engine.Result, err error) {
	if err := engine.CheckServer(ctx, conn, "MySQL or MariaDB"); err != nil {
		return nil, err
	}
	session, err := OpenSession(ctx, conn, inspectWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = session.close(ctx, err) }()
	return inspect(ctx, conn, want)
}

// inspect returns the plan of the requested tables. It computes phases only if it finds
// no blocker.
func inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	reader, err := mycatalog.Read(ctx, conn)
	if err != nil {
		return nil, err
	}
	g, found, err := connect(ctx, reader, want)
	if err != nil {
		return nil, err
	}
	if g.keys, err = readKeys(ctx, conn, g.moved); err != nil {
		return nil, err
	}
	more, err := findBlockers(ctx, conn, g, want)
	if err != nil {
		return nil, err
	}
	found.Add(more)
	result := &engine.Result{Tables: tablesOf(g), Findings: found}
	if len(found.Blockers) == 0 {
		result.Phases, more = phasesOf(g, want)
		result.Add(more)
	}
	return result, nil
}

// Quote implements [engine.Engine].
func (Engine) Quote(t plan.TableName) string { return mycatalog.QuoteTable(t) }

// absentText matches the driver's error for a table or a database that does not exist.
var absentText = regexp.MustCompile(`Error 1146|Error 1049`)

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine]. A change of a schema ends the transaction, so
// Run skips statements that have been done.
func (Engine) Transactions() bool { return false }

// timeoutText matches the errors of lock_wait_timeout and innodb_lock_wait_timeout, and
// deadlocks.
var timeoutText = regexp.MustCompile(`Error (1205|1213)\b`)

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool { return timeoutText.MatchString(err.Error()) }
