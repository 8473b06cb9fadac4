// Package myonline plans and runs online moves on MariaDB and MySQL. A move creates wide
// copies of the tables, the shadows, which triggers keep equal to the originals. It fills
// the shadows in batches, and puts them in the place of the originals with a single
// RENAME TABLE.
//
// Package online calls the methods of [Driver]. PlanOnline makes a plan (plan.go,
// stages.go) from the tables that package mycatalog reads. Then package online calls
// RunStep or RunBatch for each step, which record the progress in the journal.
//
// On MariaDB, this package never kills a statement, not even a statement that waits for a
// lock. When the context ends, the package waits for the end of the statement. The reasons
// are two defects of MariaDB. If a session is killed while it opens a table with triggers,
// the table stays open for other sessions with only some of its triggers. Their writes fail
// with error 1064 until FLUSH TABLES, although the triggers have not changed. If a RENAME
// is killed, it can write a file of triggers that the server cannot read; then the table
// cannot be opened until an operator removes the file. A run that finds that the previous
// run was interrupted flushes the tables. On MySQL, statements that wait too long for a
// table are killed (wait.go).
package myonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Driver implements [engine.Online] for MariaDB 10.6, MySQL 8.0, and later versions.
type Driver struct{ engine.Journal }

var _ engine.Online = Driver{}

// Retry implements [engine.Online]. It reports whether err means that a lock was not available
// in time, and describes the transaction that probably holds it.
func (Driver) Retry(ctx context.Context, conn *sql.Conn, _ *plan.OnlineStep, err error) (bool, string) {
	if !lockTimeout(err) {
		return false, ""
	}
	return true, holder(ctx, conn)
}

// holder describes the oldest open transaction of another connection, because this
// transaction probably holds the lock. It returns "" if there is no such transaction, or if
// the account may not see the transaction. Other errors do not matter either, because the
// text only helps an operator.
func holder(ctx context.Context, conn *sql.Conn) (text string) {
	_ = conn.QueryRowContext(ctx, "SELECT CONCAT('connection ', trx_mysql_thread_id, ' has a transaction since ', trx_started) "+
		"FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY trx_started LIMIT 1").Scan(&text)
	return text
}

// Running implements [engine.Online]. It returns Threads_running, a figure in the status of
// the server, without this query. The figure counts the statements of all accounts.
func (Driver) Running(ctx context.Context, conn *sql.Conn) (n int, err error) {
	err = conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_running'").Scan(new(string), &n)
	if err != nil {
		return 0, fmt.Errorf("the statements that are running: %w", err)
	}
	return n - 1, nil // without this query
}

// journal is the name of the table that stores the moves.
const journal = mycatalog.OnlineTable

// createJournal creates the journal, which has a row for each move. Column open is true while
// a run is in progress, and stays true if the run is interrupted. Column beat is a time that
// Lag writes, to see when it arrives on the replicas. Column id is the ID of the plan. The
// remaining columns are fields of an [engine.Move].
const createJournal = "CREATE TABLE IF NOT EXISTS " + journal + ` (
  id varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, plan longtext NOT NULL, open boolean NOT NULL DEFAULT FALSE,
  back boolean NOT NULL DEFAULT FALSE, stage int NOT NULL DEFAULT 0, done int NOT NULL DEFAULT 0,
  position bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0, copied bigint NOT NULL DEFAULT 0,
  rate double NOT NULL DEFAULT 0, waits bigint NOT NULL DEFAULT 0, steering varchar(1000) NOT NULL DEFAULT '{}', began bigint NOT NULL, beat bigint NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: an online widening that is under way'`

// New returns the driver. The [engine.Journal] reads and writes moves in the same way on all
// databases, and its fields hold the differences.
func New() Driver {
	return Driver{engine.Journal{
		Table: func(*engine.Move) string { return journal },
		Mark:  func(int) string { return "?" }, // the placeholder of each argument
		Began: "began",                         // the column with the start of the move
		Parts: "shadows",                       // the tables that a move adds, in the words of an error
	}}
}

// LoadMove implements [engine.Online]. The journal stores the tables of a move without a
// schema, because they are all in the current database. So LoadMove removes the schema of a
// wanted table if the schema is the current database.
func (d Driver) LoadMove(ctx context.Context, conn *sql.Conn, tables []plan.TableName) (*engine.Move, error) {
	var server mycatalog.Server
	var exists bool
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(DATABASE(), ''), (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?)", journal).
		Scan(&server.Database, &exists)
	if err != nil || !exists {
		return nil, engine.JournalError("look for", journal, err) // nil if only the journal does not exist
	}
	normalized := make([]plan.TableName, len(tables))
	for i, t := range tables {
		normalized[i] = server.Normalize(t)
	}
	return d.Find(ctx, conn, journal, normalized)
}

// CloseMove implements [engine.Online]. It also drops the journal if no other move is in it.
// It ignores the end of ctx, because the work of the move is complete.
func (d Driver) CloseMove(ctx context.Context, conn *sql.Conn, m *engine.Move) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(ctx, "DELETE FROM "+journal+" WHERE id = ?", m.Plan.ID()); err != nil {
		return engine.JournalError("write", journal, err)
	}
	var others bool
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM "+journal).Scan(&others)
	if err == nil && !others {
		_, err = conn.ExecContext(ctx, "DROP TABLE "+journal)
	}
	return engine.JournalError("drop", journal, err) // nil if err is nil
}

// lagTimeout limits the wait for the answer of a replica.
const lagTimeout = 5 * time.Second

// Lag implements [engine.Online]. A primary does not know how far its replicas are behind. The
// lag that a replica itself shows is not sufficient, because it is NULL if replication has
// stopped, and 0 if the replica's source is a replica that is behind. Therefore Lag writes a
// beat, the time of this process's clock, into the journal on the primary, and replication
// takes it to the replicas. Each call first reads which beat has arrived on each replica, and
// then writes a new beat. If the primary's last beat has not arrived on a replica, the lag of
// this replica is the age of the beat that it has.
//
// If no run has called Lag for hours, the beat on a replica is hours old. When Lag has written
// a new beat, the age of the old beat counts as the lag until the new beat arrives.
func (d Driver) Lag(ctx context.Context, conn *sql.Conn, m *engine.Move, replicas []*sql.DB) (lag time.Duration, err error) {
	if len(replicas) == 0 {
		return 0, nil
	}
	primary, err := readBeat(context.WithoutCancel(ctx), conn, m)
	if err != nil {
		return 0, engine.JournalError("read", journal, err)
	}
	now := time.Now()
	for i, replica := range replicas {
		arrived, err := arrivedBeat(ctx, replica, m)
		if err == nil && arrived.server == primary.server {
			return 0, errors.New("sqlmigrate: the handle of a replica leads to a server with the server_id of the primary: want the address of the replica itself")
		}
		if err != nil {
			return 0, engine.ReplicaError{Number: i + 1, Err: err}
		}
		// The last beat has not arrived, or not even the journal, so that server is 0.
		if arrived.at != primary.at || arrived.server == 0 {
			lag = max(lag, now.Sub(time.Unix(0, arrived.at)))
		}
	}
	_, err = d.Set(ctx, conn, m, []string{"beat"}, now.UnixNano())
	return lag, err
}

// A beat is the time that Lag has written last into the journal, as the journal of a primary
// or replica has it. The field server is the server_id of that server, or 0 if the server has
// no beat of the move. The field at is in nanoseconds since 1970.
type beat struct{ server, at int64 }

// readBeat returns the beat of the move in the journal of the server to which conn leads.
func readBeat(ctx context.Context, conn engine.Conn, m *engine.Move) (b beat, err error) {
	err = conn.QueryRowContext(ctx, "SELECT @@server_id, beat FROM "+journal+" WHERE id = ?", m.Plan.ID()).Scan(&b.server, &b.at)
	return b, err
}

// arrivedBeat returns the last beat of the move that has arrived on a replica. If the row of
// the move, or the journal itself, has not arrived, it returns the start of the move, without a
// server.
func arrivedBeat(ctx context.Context, replica *sql.DB, m *engine.Move) (beat, error) {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	b, err := readBeat(ctx, replica, m)
	if errors.Is(err, sql.ErrNoRows) || err != nil && (mysql.Engine{}).Absent(err) {
		return beat{at: m.Began.UnixNano()}, nil
	}
	return b, err
}
