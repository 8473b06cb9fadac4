// Package myonline carries out online widening on MariaDB and MySQL: wide copies of
// the tables that triggers keep equal to the originals, filled in batches, and one
// RENAME TABLE.
//
// PlanOnline plans it (plan.go, stages.go) from tables that package mycatalog reads. Then
// package online calls the driver for each step, and records in the journal (journal.go)
// how far it has come.
//
// If a session of MariaDB is killed while it opens a table with triggers, the table
// stays open for others with only some of its triggers read. Their writes fail with
// error 1064 until FLUSH TABLES, although the triggers have not changed. If its RENAME
// is killed, it can write a file of triggers that it cannot read, and nobody opens the
// table until an operator removes the file. On MariaDB, this package therefore never kills
// a statement, not even one that waits for a lock: when the context ends, it waits for
// the statement to end. A run that finds that the previous one has not ended in order
// flushes the tables. On MySQL, statements that wait for a table too long are killed
// (wait.go).
package myonline

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Driver is for MariaDB 10.6 and MySQL 8.0, and later.
type Driver struct{ engine.Journal }

var _ engine.Online = Driver{}

// Retry implements [engine.Online].
func (Driver) Retry(ctx context.Context, conn *sql.Conn, _ *plan.OnlineStep, err error) (bool, string) {
	if !lockTimeout(err) {
		return false, ""
	}
	return true, holder(ctx, conn)
}

// holder is the oldest transaction, if the account may see it.
func holder(ctx context.Context, conn *sql.Conn) (text string) {
	_ = conn.QueryRowContext(ctx, "SELECT CONCAT('connection ', trx_mysql_thread_id, ' has a transaction since ', trx_started) "+
		"FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY trx_started LIMIT 1").Scan(&text)
	return text
}

// Running implements [engine.Online].
func (Driver) Running(ctx context.Context, conn *sql.Conn) (n int, err error) {
	err = conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_running'").Scan(new(string), &n)
	if err != nil {
		return 0, fmt.Errorf("the statements that are running: %w", err)
	}
	return n - 1, nil
}
