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
	// postgresOpenSQL returns the number of sessions whose transaction began before $1, and
	// the number of sessions of other accounts whose transactions the role may not see.
	// PostgreSQL shows <insufficient privilege> in place of their queries.
	postgresOpenSQL = `SELECT count(*) FILTER (WHERE xact_start <= $1),
  count(*) FILTER (WHERE query = '<insufficient privilege>')
FROM pg_stat_activity
WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()`

	// postgresNextSQL returns the next transaction ID, and postgresEndedSQL returns whether
	// all transactions before it have ended. They find prepared transactions, which have no
	// session. A transaction has an ID once it has written. All transactions below the xmin
	// of a snapshot have ended.
	postgresNextSQL  = "SELECT txid_snapshot_xmax(txid_current_snapshot())"
	postgresEndedSQL = "SELECT txid_snapshot_xmin(txid_current_snapshot()) >= $1"
)

// postgresTransactionsEnd waits first for the sessions, of which it can say how many are
// left, and then for transactions without a session.
func (r *reset) postgresTransactionsEnd(ctx context.Context) error {
	var now time.Time
	if err := r.Ask("SELECT clock_timestamp()", nil, &now); err != nil {
		return err
	}
	err := r.poll(ctx, func() (string, error) {
		var open, unseen int
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

// describeOpen describes the transactions that are open and the sessions that cannot be
// seen, or returns "" if both numbers are 0.
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

// mysqlNewestSQL returns the start of the newest transaction. mysqlOpenSQL counts the
// transactions that began no later. Times are in whole seconds, so it also counts those
// that begin later in the same second.
const (
	mysqlNewestSQL = "SELECT CAST(MAX(trx_started) AS CHAR) FROM information_schema.innodb_trx"
	mysqlOpenSQL   = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_started <= ? AND trx_mysql_thread_id <> CONNECTION_ID()"
)

// mysqlTransactionsEnd waits for the transactions that began up to now.
func (r *reset) mysqlTransactionsEnd(ctx context.Context) error {
	var newest sql.NullString
	if err := r.Ask(mysqlNewestSQL, nil, &newest); err != nil {
		if readonly.Denied(err) {
			return fmt.Errorf("%w: grant the right PROCESS", err)
		}
		return err
	}
	if !newest.Valid { // NULL if no transaction is open
		return nil
	}
	return r.poll(ctx, func() (string, error) {
		var open int
		err := r.Ask(mysqlOpenSQL, []any{newest.String}, &open)
		return describeOpen(open, 0), err
	})
}

// pause waits for d, or until ctx ends. Then it returns the cause of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-timer.Done()
	return context.Cause(ctx)
}

// poll calls describe, with pauses, until it returns "". describe names the
// transactions that are still open. If ctx ends before, poll returns this description as
// an error.
func (r *reset) poll(ctx context.Context, describe func() (string, error)) error {
	for {
		open, err := describe()
		if err != nil || open == "" {
			return err
		}
		if err := pause(ctx, pollPause); err != nil {
			return errors.New(open)
		}
	}
}

// sqliteTransactionsEnd waits until it gets the write lock, which every transaction that
// writes holds until its end. It opens another connection, because that of r is set to read
// only.
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

// awaitTransactions waits until the present transactions have ended, because they may
// contain keys that are not visible yet.
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
