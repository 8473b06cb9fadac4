package workers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// pollPause is the pause between two queries for transactions.
const pollPause = 250 * time.Millisecond

// transactionsEnd waits until the transactions that are open now have ended, or until ctx
// ends.
func (r *reset) transactionsEnd(ctx context.Context) error {
	switch r.Dialect {
	case "postgres":
		return r.postgresTransactionsEnd(ctx)
	case "mysql":
		return r.mysqlTransactionsEnd(ctx)
	default:
		return r.sqliteTransactionsEnd(ctx)
	}
}

const (
	// postgresOpenSQL returns the number of sessions whose transaction began at or before $1,
	// and the number of sessions of other accounts whose transactions the role may not see.
	// PostgreSQL shows <insufficient privilege> in place of the query of such a session.
	// Neither number counts background processes, which have no user, or the session of the
	// query itself.
	postgresOpenSQL = `SELECT count(*) FILTER (WHERE xact_start <= $1),
  count(*) FILTER (WHERE query = '<insufficient privilege>')
FROM pg_stat_activity
WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()`

	// postgresNextSQL returns the ID of its own transaction, which ends with the query.
	// PostgreSQL gives a transaction an ID when the transaction first writes, in ascending
	// order. So every transaction that has written before has a smaller ID.
	//
	// postgresEndedSQL returns whether all transactions with a smaller ID than $1 have ended.
	// The xmin of a snapshot is the smallest ID of an open transaction. That includes prepared
	// transactions, which have no session, and so are not in pg_stat_activity.
	postgresNextSQL  = "SELECT txid_current()"
	postgresEndedSQL = "SELECT txid_snapshot_xmin(txid_current_snapshot()) >= $1"
)

// postgresTransactionsEnd waits until the present transactions of a PostgreSQL database have
// ended. It waits first for the sessions of this database, of which it can say how many are
// left. Then it waits for transactions that have no session, or that belong to another
// database.
func (r *reset) postgresTransactionsEnd(ctx context.Context) error {
	var now time.Time
	if err := r.Ask("SELECT clock_timestamp()", nil, &now); err != nil {
		return err
	}
	err := r.poll(ctx, func() (string, error) {
		var open, unseen int // transactions; sessions whose transactions cannot be seen
		err := r.Ask(postgresOpenSQL, []any{now}, &open, &unseen)
		return describeOpen(open, unseen), err
	})
	if err != nil {
		return err
	}
	var next int64
	if err := r.Ask(postgresNextSQL, nil, &next); err != nil {
		return err
	}
	return r.poll(ctx, func() (string, error) {
		var ended bool
		if err := r.Ask(postgresEndedSQL, []any{next}, &ended); err != nil || ended {
			return "", err
		}
		return "a transaction of another database or a prepared one: see pg_prepared_xacts", nil
	})
}

// describeOpen describes a number of open transactions, and a number of sessions whose
// transactions cannot be seen. It returns "" if both numbers are 0.
func describeOpen(open, unseen int) string {
	var parts []string
	if open > 0 {
		parts = append(parts, terminal.Counted(open, "transaction", "transactions"))
	}
	if unseen > 0 {
		parts = append(parts, terminal.Counted(unseen, "session", "sessions")+" of other accounts, whose transactions cannot be seen: grant pg_read_all_stats")
	}
	return strings.Join(parts, " and ")
}

// mysqlNewestSQL returns the start of the newest transaction on the server, or NULL if no
// transaction is open. mysqlOpenSQL counts the open transactions that began at this start or
// earlier, except the transaction of its own connection. Times are in whole seconds, so
// mysqlOpenSQL also counts a transaction that began later in the same second. That only makes
// the wait longer.
const (
	mysqlNewestSQL = "SELECT CAST(MAX(trx_started) AS CHAR) FROM information_schema.innodb_trx"
	mysqlOpenSQL   = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_started <= ? AND trx_mysql_thread_id <> CONNECTION_ID()"
)

// mysqlTransactionsEnd waits until the transactions of a MySQL or MariaDB server that are open
// now have ended. It reads the start of the newest of them, and then waits for all
// transactions that began no later.
func (r *reset) mysqlTransactionsEnd(ctx context.Context) error {
	var newest sql.NullString
	if err := r.Ask(mysqlNewestSQL, nil, &newest); err != nil {
		if readonly.Denied(err) {
			return fmt.Errorf("%w: grant the right PROCESS", err)
		}
		return err
	}
	if !newest.Valid { // no transaction is open
		return nil
	}
	return r.poll(ctx, func() (string, error) {
		var open int
		err := r.Ask(mysqlOpenSQL, []any{newest.String}, &open)
		return describeOpen(open, 0), err
	})
}

// pause waits for d and returns nil. If ctx ends before, pause returns the cause of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-timer.Done()
	return context.Cause(ctx) // of ctx, which has no cause if only timer has ended
}

// poll calls findOpen, with pauses, until findOpen returns "". findOpen returns a description
// of the transactions that are still open, for example "2 transactions". If ctx ends before,
// poll returns the last description as an error.
func (r *reset) poll(ctx context.Context, findOpen func() (string, error)) error {
	for {
		open, err := findOpen()
		if err != nil || open == "" {
			return err
		}
		if err := pause(ctx, pollPause); err != nil {
			return errors.New(open)
		}
	}
}

// sqliteTransactionsEnd waits until it gets the write lock of the SQLite file, which every
// transaction that writes holds until its end. It opens another connection, because the
// connection of r is set to read only.
//
// The statement runs with r.Ctx. If it ran with ctx, the end of ctx would interrupt it, and
// the error would not say why. So it fails with "database is locked", which poll returns after
// the end of ctx.
func (r *reset) sqliteTransactionsEnd(ctx context.Context) error {
	return r.flags.database.With(r.Ctx, flags.ReadWrite, func(db *gorm.DB) error {
		return r.poll(ctx, func() (string, error) {
			err := db.WithContext(r.Ctx).Exec("BEGIN IMMEDIATE; ROLLBACK").Error
			if err != nil && strings.Contains(err.Error(), " is locked") {
				return err.Error(), nil
			}
			return "", err
		})
	})
}

// awaitTransactions waits until the present transactions have ended, because they may have
// inserted keys of the worker that are not visible yet. It waits at most --timeout.
func (r *reset) awaitTransactions() error {
	terminal.Say(r.out, "waiting for transactions to end")
	ctx, cancel := context.WithTimeoutCause(r.Ctx, r.flags.timeout, errTransactions)
	defer cancel()
	err := r.transactionsEnd(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTransactions) {
		return fmt.Errorf("%w after %v (see --timeout): %w", errTransactions, r.flags.timeout, err)
	}
	return err
}

// errTransactions is the error if --timeout ends before the transactions do.
var errTransactions = errors.New("transactions are still open")
