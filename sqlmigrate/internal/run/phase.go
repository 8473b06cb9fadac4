package run

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Config holds the options of a call of Apply or Revert.
type Config struct {
	engine.Settings

	Progress func(plan.Progress)
	Phases   []plan.PhaseName // nil means all phases
	RetryFor time.Duration    // how long a transaction is retried after a lock timeout
}

// Defaults returns the defaults that the options of sqlmigrate document. The lock timeout
// is the same as in the files of migration tools.
func Defaults() Config {
	return Config{
		Settings: engine.Settings{LockTimeout: 5 * time.Second},
		Progress: func(plan.Progress) {},
		RetryFor: 2 * time.Minute,
	}
}

// A session is one call of Apply or Revert on its connection.
type session struct {
	ctx      context.Context
	conn     *sql.Conn
	engine   engine.Engine
	dialect  string
	config   Config
	begun    time.Time
	outcomes []string // for each completed phase, its name and outcome in words, for errors
}

// phase runs the transactions of a phase, one after the other. Each element of transactions
// is the list of the tasks of one transaction. phase skips transactions without tasks.
func (s *session) phase(name plan.PhaseName, transactions [][]task) error {
	p := &phaseRun{session: s, name: name, tasks: slices.Concat(transactions...)}
	for _, tasks := range transactions {
		if len(tasks) == 0 {
			continue
		}
		if err := p.transaction(len(tasks)); err != nil {
			return err
		}
	}
	if len(p.tasks) > 0 {
		p.report(plan.Progress{}) // without a next statement, because all tasks are done
	}
	return nil
}

// A phaseRun is one phase of a session, in the direction of Apply or of Revert. tasks are
// its statements in order.
type phaseRun struct {
	*session

	name  plan.PhaseName
	tasks []task
	ended int // number of tasks whose transactions have ended
	done  int // number of tasks that have been done; some may be in an open transaction
}

// transaction runs the next n tasks. After a lock timeout, it waits and tries again, until
// RetryFor has passed since the first timeout. On databases with transactions, each try
// repeats all n tasks. On other databases, a try continues at the task that failed, and if
// a later task fails, RetryFor begins again.
func (p *phaseRun) transaction(n int) error {
	end := p.ended + n // the index in p.tasks after the last task of the transaction
	tries, failedAt := engine.Tries{Limit: p.config.RetryFor}, p.done
	for {
		err := p.attempt(end)
		if err == nil {
			p.ended = end
			return nil
		}
		if p.done > failedAt && !p.engine.Transactions() { // a later task than before has failed
			tries, failedAt = engine.Tries{Limit: p.config.RetryFor}, p.done
		}
		pause := pauseAfter(tries.Count)
		// Failed counts the try, and reports whether RetryFor leaves time for another after the
		// pause.
		if !p.engine.LockTimeout(err) || p.ctx.Err() != nil || !tries.Failed(pause) {
			return p.failure(end, err)
		}
		if p.engine.Transactions() { // the database has rolled back the tasks before the failed task
			p.done = p.ended
		}
		p.report(plan.Progress{Retry: tries.Count, Wait: pause, Err: err})
		if engine.Sleep(p.ctx, pause) != nil {
			return p.failure(end, err)
		}
	}
}

const (
	// The bounds of the pauses between attempts. In a pause, the sessions that waited
	// behind the attempt can proceed.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

// pauseAfter returns a random pause before the next attempt. After the first failure it is
// between half of firstPause and firstPause. These bounds double with each failure, until
// they are half of longestPause and longestPause. failed is the number of failures before
// the failure that the pause follows, so it is 0 after the first failure.
func pauseAfter(failed int) time.Duration {
	// After 10 doublings the pause is above longestPause; many more would overflow.
	longest := min(firstPause<<min(failed, 10), longestPause)
	return longest/2 + rand.N(longest/2)
}

// attempt runs the tasks that are not done yet, up to the task before end. It reports each
// task before the task begins, and counts the tasks that are done in p.done.
func (p *phaseRun) attempt(end int) error {
	if p.done < end {
		p.report(plan.Progress{})
	}
	err := p.engine.Run(p.ctx, p.conn, statementsOf(p.tasks[p.done:end]), p.config.Settings, func(plan.Statement) {
		if p.done++; p.done < end {
			p.report(plan.Progress{})
		}
	})
	return engine.WithCause(p.ctx, err)
}

// report calls the caller's progress function with now, to which it adds the phase, the
// number of tasks that are done, and the next statement, if there is one.
func (p *phaseRun) report(now plan.Progress) {
	now.Phase, now.Done, now.Of, now.Elapsed = p.name, p.done, len(p.tasks), time.Since(p.begun)
	if p.done < len(p.tasks) {
		t := p.tasks[p.done]
		now.Table, now.Step, now.SQL = t.table, t.step, t.statement.SQL
	}
	p.config.Progress(now)
}

// failure returns the error for the user. It names the statement that failed with err, and
// describes which changes of this phase and of the earlier phases the database has kept.
// end is the index in p.tasks after the last task of the transaction. If all tasks before
// end are done, no statement has failed. Then err came from COMMIT, or from the work of the
// engine after the last statement.
func (p *phaseRun) failure(end int, err error) error {
	kept := p.ended
	if !p.engine.Transactions() { // every statement that is done stays
		kept = min(p.done, end)
	}
	allDone := p.done >= end
	outcome := strings.Join(append([]string{p.outcome(countChanges(p.tasks[:kept]), allDone)}, p.outcomes...), ", ")
	if allDone {
		return fmt.Errorf("sqlmigrate: phase %s, after %s: %w (%s)", p.name, p.lastOf(end), err, outcome)
	}
	t := p.tasks[p.done]
	where := ""
	if t.table.Name != "" {
		where = ", table " + t.table.String()
	}
	return fmt.Errorf("sqlmigrate: phase %s%s, statement %d of %d, %s: %w (%s)",
		p.name, where, p.done+1, len(p.tasks), shortened(t.statement.SQL), err, outcome)
}

// outcome returns a text for an error about how much of the phase has been changed. changed
// is the number of statements whose changes the database has kept. allDone reports that the
// error came after the last statement of a transaction, for example in its COMMIT. On
// PostgreSQL, the client then cannot know whether the COMMIT succeeded, because the answer
// may have been lost.
func (p *phaseRun) outcome(changed int, allDone bool) string {
	outcome := "nothing of this phase has been changed"
	switch {
	case !p.engine.Transactions() && changed == 0:
		return "no statement of this phase has been carried out"
	case !p.engine.Transactions() && allDone:
		return "all statements of this phase have been carried out"
	case changed > 0:
		outcome = engine.Count(changed, "statement") + " of this phase applied and kept: fix the cause and run the same plan again to resume"
	}
	if allDone && p.dialect == "postgres" {
		outcome += ", or all of it if the connection was lost: inspect again"
	}
	return outcome
}

// lastOf returns words for the last statement before end, for example "statement 3 of 5",
// or "its last statement" if end is the end of the phase.
func (p *phaseRun) lastOf(end int) string {
	if end == len(p.tasks) {
		return "its last statement"
	}
	return fmt.Sprintf("statement %d of %d", end, len(p.tasks))
}

// longStatement is the largest length of a statement in an error.
const longStatement = 160

// shortened returns a statement on one line, cut after longStatement characters.
func shortened(sql string) string {
	runes := []rune(strings.Join(strings.Fields(sql), " "))
	if len(runes) <= longStatement {
		return string(runes)
	}
	return string(runes[:longStatement]) + "…"
}
