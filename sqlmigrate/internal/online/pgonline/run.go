package pgonline

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// inTransaction runs begin, which is BEGIN and may have further statements, then calls do,
// and commits. If one of them fails, it rolls back, even if ctx has ended. It does not use
// an [sql.Tx], because database/sql rolls a Tx back as soon as the context of the Tx ends,
// even while do is running.
func inTransaction(ctx context.Context, conn *sql.Conn, begin string, do func() error) error {
	_, err := conn.ExecContext(ctx, begin)
	if err == nil {
		err = do()
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		rollbackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.EndTimeout)
		defer cancel()
		_, _ = conn.ExecContext(rollbackCtx, "ROLLBACK") // if this fails, the connection is broken, and session.release ends it on the server
	}
	return err
}

// RunStep implements [engine.Online]. It runs the step, and records next, which is the
// move with the step done. A short step and its record are one transaction. A long step
// runs outside a transaction, so it is recorded after it has ended, and is repeated if
// the process ends in between.
func (d Driver) RunStep(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *engine.Move, s engine.Settings) error {
	if step.Kind == plan.Short {
		return d.runShort(ctx, conn, step, next, s)
	}
	err := engine.RunLong(ctx, conn, step)
	// VALIDATE CONSTRAINT has found a row that violates a CHECK, for example because an old
	// and a new column differ. In stage constrain, package online then copies the rows again.
	if pgsql.State(err) == pgsql.CheckViolation {
		return engine.DifferError{Err: err}
	}
	if err != nil {
		return err
	}
	return d.SaveMove(ctx, conn, next)
}

// runShort runs a short step and records next, the move with the step done, in one
// transaction. Most short steps begin with locking statements, which are LOCK TABLE, and
// ALTER VIEW, which is there only for its lock. runShort runs these one by one, each with
// its timeout. It then sends all other statements at once, because programs wait for the
// locks until they are done.
func (d Driver) runShort(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *engine.Move, s engine.Settings) error {
	return inTransaction(ctx, conn, "BEGIN", func() error {
		rest := step.SQL
		for len(rest) > 0 && (strings.HasPrefix(rest[0], "LOCK TABLE ") || strings.HasPrefix(rest[0], "ALTER VIEW ")) {
			if err := runLock(ctx, conn, rest[0], s); err != nil {
				return err
			}
			rest = rest[1:]
		}
		// The timeouts of runLock would also apply to the other statements. Zero means
		// that they may take any time.
		texts := append([]string{setTimeout("statement_timeout", 0), setTimeout("lock_timeout", s.LockTimeout)}, rest...)
		if _, err := conn.ExecContext(ctx, strings.Join(texts, ";\n")); err != nil {
			return err
		}
		return d.SaveMove(ctx, conn, next)
	})
}

// gentleWait is the timeout of a SHARE UPDATE EXCLUSIVE lock. It can be long, because
// programs can read and write while the step waits for this lock. It must be longer than
// the second (deadlock_timeout) after which autovacuum releases its lock for the step.
const gentleWait = 5 * time.Second

// runLock runs a locking statement of a short step. It also sets statement_timeout, which
// limits the wait for all tables of the statement together, because lock_timeout applies to
// each lock alone.
func runLock(ctx context.Context, conn *sql.Conn, statement string, s engine.Settings) error {
	wait := s.LockTimeout
	if strings.HasSuffix(statement, " IN SHARE UPDATE EXCLUSIVE MODE") {
		wait = gentleWait
	}
	_, err := conn.ExecContext(ctx, strings.Join([]string{setTimeout("lock_timeout", wait), setTimeout("statement_timeout", wait), statement}, ";\n"))
	return err
}

// setTimeout returns a statement that sets a timeout, such as lock_timeout, for the
// transaction. It rounds d up to milliseconds. Zero turns the timeout off.
func setTimeout(name string, d time.Duration) string {
	return fmt.Sprintf("SET LOCAL %s = %d", name, (d+time.Millisecond-1)/time.Millisecond)
}

// RunBatch implements [engine.Online]. It copies a batch of about rows rows, which is a
// range of the table's pages (blocks) from page next.Position on. It records next with the
// position after the batch. The last statement of the step copies the rows, and returns how
// many rows had to be copied and how many it has copied. It skips rows that other
// transactions have locked. RunBatch returns their number as Skipped, and the caller
// repeats the batch later.
func (d Driver) RunBatch(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *engine.Move, rows int, s engine.Settings) (engine.Batch, error) {
	// In the first batch, set next.Until to the number of pages of the table. Rows that
	// are on later pages at the end need no copy, because they were written when the trigger
	// existed already, or are the new versions of rows that the copy itself creates.
	if next.Until == 0 {
		err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint", step.Target).Scan(&next.Until)
		if err != nil {
			return engine.Batch{}, err
		}
	}
	from, to := next.Position, min(next.Until, next.Position+pages(step, next, rows))
	b := engine.Batch{Last: to >= next.Until}
	if from >= to { // the table is empty, or a former run has copied its last page
		return b, nil
	}
	var found int                            // number of rows that have to be copied, including the locked ones
	begun, commit := time.Now(), time.Time{} // when the copy and the commit of the batch begin
	err := inTransaction(ctx, conn, beginBatch(step, s), func() error {
		begun = time.Now() // Took does not include the statements of beginBatch
		err := conn.QueryRowContext(ctx, step.SQL[len(step.SQL)-1], fmt.Sprintf("(%d,0)", from), fmt.Sprintf("(%d,0)", to)).Scan(&found, &b.Copied)
		if err != nil {
			return err
		}
		next.Position, next.Copied = to, next.Copied+int64(b.Copied)
		if err := d.SaveMove(ctx, conn, next); err != nil {
			return err
		}
		commit = time.Now()
		return nil
	})
	b.Took, b.Commit, b.Skipped = time.Since(begun), time.Since(commit), found-b.Copied
	return b, err
}

// beginBatch returns the statements that begin the transaction of a batch, which are BEGIN,
// settings, and all statements of the step but the last. It joins them into a single text,
// because each round trip takes as long as the copy of some rows.
//
// At full pace, a commit does not wait until the disk has the batch, nor until a
// synchronous replica has it. If the server crashes, it may lose the last batches, but
// only together with their records in the journal, which are parts of the same
// transactions. So the next run repeats them.
func beginBatch(step *plan.OnlineStep, s engine.Settings) string {
	texts := []string{"BEGIN", setTimeout("lock_timeout", s.LockTimeout)}
	if s.Pace == plan.PaceFull {
		texts = append(texts, "SET LOCAL synchronous_commit = off")
	}
	return strings.Join(append(texts, step.SQL[:len(step.SQL)-1]...), ";\n")
}

// pages returns the number of pages of the table that have about rows rows, at least 1. It
// computes the number of rows on a page from step.Rows, the estimated rows of the table,
// and m.Until, the number of its pages.
func pages(step *plan.OnlineStep, m *engine.Move, rows int) int64 {
	const usual = 100 // the assumed rows on a page if the table has no statistics
	perPage := float64(usual)
	if step.Rows > 0 && m.Until > 0 {
		perPage = max(1, float64(step.Rows)/float64(m.Until))
	}
	return max(1, int64(float64(rows)/perPage))
}
