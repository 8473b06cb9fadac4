// Package mysql is the part of package sqlmigrate that is for MySQL and MariaDB.
//
// [Engine.Inspect] reads tables by package mycatalog, connects their columns to a graph
// (connect.go, graph.go), looks for what blocks a move (blockers.go, orphans.go,
// routines.go) and plans phases (phases.go, widen.go, detach.go, guard.go): these
// are functions over the graph. [Engine.Run] carries statements out (run.go, session.go).
package mysql

import (
	"context"
	"database/sql"
	"regexp"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Engine is for MySQL and MariaDB. They have no transactions for changes of a
// schema, so each statement has a query that returns whether it has been done,
// and a journal in the database keeps what a run that has stopped half-way
// would otherwise have lost: see journal.go.
//
// A narrow key becomes bigint, also if it is unsigned, because that is what
// GORM makes of types.ID and foreign keys want equal types. A key that is
// bigint unsigned stays: it holds every ID, and the change would rewrite the
// table. Unsigned columns that refer to such a key become bigint unsigned.
type Engine struct{}

// Inspect implements [engine.Engine].
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
