package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Progress is what [Plan.Apply] or [Plan.Revert] is about to do.
type Progress struct {
	Phase PhaseName

	// Table and Step say what the statement belongs to, and SQL is the
	// statement that begins now. All are empty after the phase's last one.
	Table, Step, SQL string

	// Done statements of Of in this phase are over, carried out or left out.
	Done, Of int
	// Retry counts how often the statement has waited too long for a lock. If
	// it is not 0, it is tried again after Wait, on databases with transactions
	// together with those before it, and Err is what the database said.
	Retry int
	Wait  time.Duration
	Err   error

	// Elapsed is the time since the call.
	Elapsed time.Duration
}

// Apply carries out the plan, on one connection. On PostgreSQL and SQLite each
// phase is one transaction. MySQL and MariaDB have none for such statements:
// after an error, call Apply of the same plan or of a new one, and it resumes
// where the last one stopped: a journal in the database knows the foreign keys
// that are dropped for the time being.
//
// While there are blockers, nothing is changed and the error is the one of
// [Plan.Err]. An empty plan is not an error. [ErrIncomplete] is one of a plan that
// has been carried out. After any other error, its text says which statement failed
// and what has been changed.
//
// When ctx ends, Apply returns as soon as the server has ended the statement,
// so that nobody waits behind one that is left over: it needs another connection
// of db's pool, and five seconds at most, or the error says how to end it.
//
// db is as for [Inspect], and must be the database that was inspected. Other
// programs can continue; the plan says what they have to wait for.
func (p *Plan) Apply(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	return p.carryOut(ctx, db, opts, (*run).apply)
}

// Revert takes back what [Plan.Apply] of the same plan has done, phase by phase
// in reverse order. Before it changes anything it makes sure that no phase has
// a reason not to be taken back, such as keys that would not fit any more.
// Everything else is as with Apply, except that an empty plan is an error:
// what Inspect finds after Apply does not say what was there before.
func (p *Plan) Revert(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	if p.Empty() {
		return errors.New("sqlmigrate: the plan is empty, so it does not say what to take back: call Revert of the plan that was applied, or run its files down")
	}
	return p.carryOut(ctx, db, opts, (*run).revert)
}

func (p *Plan) carryOut(ctx context.Context, db *gorm.DB, opts []ApplyOption, do func(*run) error) error {
	c, err := configureApply(opts)
	if err != nil {
		return err
	}
	if c.phases != nil {
		p = p.Only(c.phases...)
	}
	if err := errorOf(p.Blockers); err != nil {
		return err
	}
	if err := checkDialect(db, p.Dialect); err != nil {
		return err
	}
	e, err := p.runner()
	if err != nil {
		return err
	}
	c.Pool = otherConns(db)
	return withConn(ctx, db, func(conn *sql.Conn) error {
		return do(&run{ctx: ctx, conn: conn, plan: p, engine: e, config: c, begun: time.Now()})
	})
}

func (p *Plan) runner() (engine.Engine, error) {
	if p.engine != nil {
		return p.engine, nil
	}
	return engineOf(p.Dialect)
}

// A run is one call of Apply or Revert.
type run struct {
	ctx    context.Context
	conn   *sql.Conn
	plan   *Plan
	engine engine.Engine
	config applyConfig
	begun  time.Time
	over   []string // phases that are
}

func (r *run) apply() error {
	if err := r.order(); err != nil {
		return err
	}
	for _, phase := range r.plan.Phases {
		if err := r.phase(phase.Name, converted(transactionsOf(&phase), transaction.upward)); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been applied")
	}
	return r.complete()
}

// order is [Plan.errOrder] if the phase that is left out has not been applied before: a
// column that it changes is as it was.
func (r *run) order() error {
	blocked := r.plan.errOrder()
	if blocked == nil {
		return nil
	}
	for _, phase := range r.plan.left {
		for _, task := range slices.Concat(converted(transactionsOf(&phase), transaction.upward)...) {
			if phase.Name != Detach || !strings.HasPrefix(task.statement.SQL, "ALTER TABLE ") {
				continue
			}
			var over bool
			if err := r.conn.QueryRowContext(r.ctx, task.statement.Unless).Scan(&over); err != nil || !over {
				return errors.Join(err, blocked)
			}
		}
	}
	return nil
}

// ErrIncomplete is in the error of [Plan.Apply] for a plan that has been carried out,
// if a phase that was asked for has left something undone, or if the tables do not
// take Snowflake IDs after the last phase. The error says why.
var ErrIncomplete = errors.New("sqlmigrate: the plan has been carried out, but")

func (r *run) complete() error {
	left := r.plan.Omitted
	if len(r.plan.trial.Tables) > 0 && len(r.plan.Phases) > 0 && len(r.plan.left) == 0 {
		tried, err := r.engine.Try(r.ctx, r.conn, r.plan.trial)
		if err != nil {
			return fmt.Errorf("%w its tables could not be tried: %w", ErrIncomplete, err)
		}
		for _, b := range tried.Blockers {
			tried.Omitted = append(tried.Omitted, Omission{Blocker: b})
		}
		for _, o := range tried.Omitted {
			left = engine.AppendNew(slices.Clip(left), o)
		}
	}
	return errors.Join(converted(left, func(o Omission) error {
		of := ""
		if o.Phase != "" {
			of = "phase " + string(o.Phase) + " has left out "
		}
		return fmt.Errorf("%w %stable %s: %s: %s: %s", ErrIncomplete, of, o.Table, o.Object, o.Reason, o.Fix)
	})...)
}

func (r *run) revert() error {
	phases := slices.Clone(r.plan.Phases)
	slices.Reverse(phases)
	for _, phase := range phases {
		if err := r.phase(phase.Name, converted(backwards(&phase), transaction.checking)); err != nil {
			return err
		}
	}
	for _, phase := range phases {
		// Checked again, because on some databases this is the transaction
		// in which the answer stays what it was.
		if err := r.phase(phase.Name, converted(backwards(&phase), transaction.downward)); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been taken back")
	}
	return nil
}

// phase carries transactions out, one after the other. Some have nothing to do.
func (r *run) phase(name PhaseName, transactions [][]task) error {
	p := &passage{run: r, name: name, tasks: slices.Concat(transactions...)}
	for _, tasks := range transactions {
		if len(tasks) == 0 {
			continue
		}
		if err := p.transaction(len(tasks)); err != nil {
			return err
		}
	}
	if len(p.tasks) > 0 {
		p.report(Progress{})
	}
	return nil
}

// A passage is a phase on its way up or down.
type passage struct {
	*run
	name  PhaseName
	tasks []task
	over  int // tasks whose transactions have ended
	done  int // tasks that have been carried out
}

// transaction carries out the next n tasks. One that has waited too long for a
// lock is repeated: all of it, or where there are no transactions what is left.
func (p *passage) transaction(n int) error {
	end := p.over + n
	tries, failed := engine.Tries{Limit: p.config.retryFor}, p.done
	for {
		err := p.attempt(end)
		if err == nil {
			p.over = end
			return nil
		}
		if p.done > failed && !p.engine.Transactions() {
			tries, failed = engine.Tries{Limit: p.config.retryFor}, p.done
		}
		pause := pauseAfter(tries.Count)
		if !p.engine.LockTimeout(err) || p.ctx.Err() != nil || !tries.Failed(pause) {
			return p.failure(end, err)
		}
		if p.engine.Transactions() {
			p.done = p.over
		}
		p.report(Progress{Retry: tries.Count, Wait: pause, Err: err})
		if engine.Sleep(p.ctx, pause) != nil {
			return p.failure(end, err)
		}
	}
}

const (
	// The pauses between attempts. What has waited behind an attempt goes
	// ahead in the first moment of each.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

// pauseAfter is before the next attempt, after so many that have failed and one more.
func pauseAfter(failed int) time.Duration {
	longest := min(firstPause<<min(failed, 10), longestPause)
	return longest/2 + rand.N(longest/2)
}

func (p *passage) attempt(end int) error {
	if p.done < end {
		p.report(Progress{})
	}
	err := p.engine.Run(p.ctx, p.conn, statementsOf(p.tasks[p.done:end]), p.config.Settings, func(Statement) {
		if p.done++; p.done < end {
			p.report(Progress{})
		}
	})
	return engine.WithCause(p.ctx, err)
}

// report calls the caller's function with what is not known elsewhere.
func (p *passage) report(now Progress) {
	now.Phase, now.Done, now.Of, now.Elapsed = p.name, p.done, len(p.tasks), time.Since(p.begun)
	if p.done < len(p.tasks) {
		t := p.tasks[p.done]
		now.Table, now.Step, now.SQL = t.table, t.step, t.statement.SQL
	}
	p.config.progress(now)
}

func (p *passage) failure(end int, err error) error {
	kept := p.over
	if !p.engine.Transactions() {
		kept = min(p.done, end)
	}
	state := strings.Join(append([]string{p.state(changes(p.tasks[:kept]), p.done >= end)}, p.run.over...), ", ")
	if p.done >= end {
		return fmt.Errorf("sqlmigrate: phase %s, after %s: %w (%s)", p.name, p.lastOf(end), err, state)
	}
	t := p.tasks[p.done]
	of := ""
	if t.table != "" {
		of = ", table " + t.table
	}
	return fmt.Errorf("sqlmigrate: phase %s%s, statement %d of %d, %s: %w (%s)",
		p.name, of, p.done+1, len(p.tasks), shortened(t.statement.SQL), err, state)
}

// state describes what the phase has changed, of which that many statements are kept. all
// is true if the failure came after the last one of a transaction: how a COMMIT has ended
// that has failed, or whose answer was lost, PostgreSQL's client does not know.
func (p *passage) state(changed int, all bool) string {
	state := "nothing of this phase has been changed"
	switch {
	case !p.engine.Transactions() && changed == 0:
		return "no statement of this phase has been carried out"
	case !p.engine.Transactions() && all:
		return "all statements of this phase have been carried out"
	case changed > 0:
		state = engine.Count(changed, "statement") + " of this phase applied and kept: fix the cause and run the same plan again to resume"
	}
	if all && p.plan.Dialect == "postgres" {
		state += ", or all of it if the connection was lost: inspect again"
	}
	return state
}

func (p *passage) lastOf(end int) string {
	if end == len(p.tasks) {
		return "its last statement"
	}
	return fmt.Sprintf("statement %d of %d", end, len(p.tasks))
}

// changes counts the statements that are not checks, which belong to no table.
func changes(tasks []task) int {
	n := 0
	for _, t := range tasks {
		if t.table != "" {
			n++
		}
	}
	return n
}

const longStatement = 160

// shortened is a statement on one line.
func shortened(sql string) string {
	runes := []rune(strings.Join(strings.Fields(sql), " "))
	if len(runes) <= longStatement {
		return string(runes)
	}
	return string(runes[:longStatement]) + "…"
}
