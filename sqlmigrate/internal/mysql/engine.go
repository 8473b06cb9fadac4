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

// Engine implements [engine.Engine] for MySQL and MariaDB. These servers cannot roll back a
// change of a schema, so a run that fails half-way leaves a part of its changes. Therefore
// a statement that must not run twice has a query, which returns whether the statement has
// been done. A later run skips the statement if the query returns true. A journal in the
// database stores the definitions that an interrupted run would otherwise lose
// (journal.go).
//
// A narrow key is a key whose type is smaller than bigint. It becomes bigint, even if it is
// unsigned, because GORM creates bigint for types.ID, and because foreign keys need equal
// types. A key that is bigint unsigned does not change: it holds every ID, and a change
// would rewrite the table. Narrow unsigned columns that refer to such a key become bigint
// unsigned.
type Engine struct{}

// Inspect implements [engine.Engine]. It returns the phases that move the requested
// tables, or the blockers of the move. It holds the lock of a [Session], so that no run
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

// inspect returns the result of Inspect. It computes phases only if it finds no blocker.
func inspect(ctx context.Context, conn *sql.Conn, want engine.Request) (*engine.Result, error) {
	reader, err := mycatalog.Read(ctx, conn)
	if err != nil {
		return nil, err
	}
	g, found, err := readGraph(ctx, reader, want)
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

// Quote implements [engine.Engine]. It encloses names in backticks, for example
// `shop`.`orders`.
func (Engine) Quote(t plan.TableName) string { return mycatalog.QuoteTable(t) }

// absentText matches the server's errors for a table (1146) and a database (1049) that
// does not exist.
var absentText = regexp.MustCompile(`Error 1146|Error 1049`)

// Absent implements [engine.Engine]. It reports whether err says that a table or a database
// does not exist. It finds the number of the server's error in the text of err, and does
// not need the driver's type for that.
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine]. It returns false, because each change of a
// schema commits the transaction that is open. When a run is repeated, it skips the
// statements that have been done.
func (Engine) Transactions() bool { return false }

// timeoutText matches the server's error for a lock that was not free within
// lock_wait_timeout or innodb_lock_wait_timeout (1205), and its error for a deadlock
// (1213).
var timeoutText = regexp.MustCompile(`Error (1205|1213)\b`)

// LockTimeout implements [engine.Engine]. It reports whether a later attempt may succeed,
// because another session held a lock for too long or took part in a deadlock.
func (Engine) LockTimeout(err error) bool { return timeoutText.MatchString(err.Error()) }
