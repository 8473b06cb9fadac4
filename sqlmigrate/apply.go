package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Progress tells what [Plan.Apply] or [Plan.Revert] is about to do.
type Progress struct {
	Phase PhaseName

	// Table and Step say what the statement belongs to, and SQL is the
	// statement that begins now. All are empty after the phase's last one.
	Table, Step, SQL string

	// Done statements of Of in this phase are over, carried out or left out.
	Done, Of int

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
// [Plan.Err]. An empty plan is not an error. After any other error, its text says
// which statement failed and what has been changed.
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
	if err := p.Err(); err != nil {
		return err
	}
	if err := checkHandle(db); err != nil {
		return err
	}
	if dialect := db.Dialector.Name(); dialect != p.Dialect {
		return fmt.Errorf("sqlmigrate: the plan is for %s and db is %s: pass the database that was inspected", p.Dialect, dialect)
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

// A task is a statement and what it belongs to.
type task struct {
	table, step string
	statement   Statement
}

func (r *run) apply() error {
	for _, phase := range r.phases() {
		if err := r.phase(phase.Name, phase.up()); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been applied")
	}
	return nil
}

func (r *run) revert() error {
	phases := r.phases()
	slices.Reverse(phases)
	for _, phase := range phases {
		if err := r.phase(phase.Name, phase.checks()); err != nil {
			return err
		}
	}
	for _, phase := range phases {
		// Checked again, because on some databases this is the transaction
		// in which the answer stays what it was.
		if err := r.phase(phase.Name, phase.down()); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been taken back")
	}
	return nil
}

func (r *run) phases() []Phase {
	var phases []Phase
	for _, phase := range r.plan.Phases {
		if r.config.phases == nil || r.config.phases[phase.Name] {
			phases = append(phases, phase)
		}
	}
	return phases
}

func (p *Phase) up() []task {
	var tasks []task
	for _, step := range p.Steps {
		for _, s := range step.Up {
			tasks = append(tasks, task{step.Table, step.Text, s})
		}
	}
	return tasks
}

func (p *Phase) checks() []task {
	tasks := make([]task, len(p.Check))
	for i, s := range p.Check {
		tasks[i] = task{"", "check whether the phase can be taken back", s}
	}
	return tasks
}

func (p *Phase) down() []task {
	tasks := p.checks()
	for _, step := range slices.Backward(p.Steps) {
		for _, s := range step.Down {
			tasks = append(tasks, task{step.Table, "take back: " + step.Text, s})
		}
	}
	return tasks
}

func statementsOf(tasks []task) []engine.Statement {
	statements := make([]engine.Statement, len(tasks))
	for i, t := range tasks {
		statements[i] = engine.Statement(t.statement)
	}
	return statements
}

func (r *run) phase(name PhaseName, tasks []task) error {
	if len(tasks) == 0 {
		return nil
	}
	done := 0
	r.report(name, tasks, done)
	err := r.engine.Run(r.ctx, r.conn, statementsOf(tasks), r.config.Settings, func(engine.Statement) {
		done++
		if done < len(tasks) {
			r.report(name, tasks, done)
		}
	})
	if err != nil {
		return r.failure(name, tasks, done, err)
	}
	r.report(name, tasks, len(tasks))
	return nil
}

func (r *run) report(name PhaseName, tasks []task, done int) {
	p := Progress{Phase: name, Done: done, Of: len(tasks), Elapsed: time.Since(r.begun)}
	if done < len(tasks) {
		p.Table, p.Step, p.SQL = tasks[done].table, tasks[done].step, tasks[done].statement.SQL
	}
	r.config.progress(p)
}

func (r *run) failure(name PhaseName, tasks []task, done int, err error) error {
	state := strings.Join(append([]string{r.engine.AfterFailure(changes(tasks[:min(done, len(tasks))]), done >= len(tasks))}, r.over...), ", ")
	if done >= len(tasks) {
		return fmt.Errorf("sqlmigrate: phase %s, after its last statement: %w (%s)", name, err, state)
	}
	t := tasks[done]
	of := ""
	if t.table != "" {
		of = ", table " + t.table
	}
	return fmt.Errorf("sqlmigrate: phase %s%s, statement %d of %d, %s: %w (%s)",
		name, of, done+1, len(tasks), shortened(t.statement.SQL), err, state)
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
