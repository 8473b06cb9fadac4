// Package run carries out the phases of a plan, and takes them back. A transaction that
// has waited too long for a lock is tried again.
package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Work is the part of a plan that is carried out.
type Work struct {
	Dialect string
	Engine  engine.Engine
	Phases  []plan.Phase
	Left    []plan.Phase // phases of the plan that are not carried out
	Omitted []plan.Omission
	Trial   engine.Trial // of the tables after the last phase; none without tables
}

// ErrOrder returns an error if a phase would spoil tables because a phase before it is
// left out: [plan.Detach] without [plan.Widen], after which neither old nor new programs
// can insert, and on MySQL [plan.Guard] without [plan.Detach].
func (w Work) ErrOrder() error { return errors.Join(w.errDetach(), w.errGuard()) }

func (w Work) errDetach() error {
	narrow := tablesIn(w.Left, plan.Widen)
	if len(narrow) == 0 || len(tablesIn(w.Phases, plan.Detach)) == 0 {
		return nil
	}
	return fmt.Errorf("sqlmigrate: phase detach is blocked by phase widen: table %s: nobody could insert, because the database would no longer assign keys, and the columns are too narrow for Snowflake IDs: apply phase widen before or with it", narrow[0])
}

func (w Work) errGuard() error {
	detach, guard := tablesIn(w.Left, plan.Detach), tablesIn(w.Phases, plan.Guard)
	if w.Dialect != "mysql" || !slices.ContainsFunc(guard, func(table plan.TableName) bool { return slices.Contains(detach, table) }) {
		return nil
	}
	return errors.New("sqlmigrate: phase guard is blocked by phase detach: MySQL and MariaDB have no CHECK of a column whose keys they assign: apply phase detach before or with it")
}

func tablesIn(phases []plan.Phase, name plan.PhaseName) (tables []plan.TableName) {
	for _, phase := range phases {
		for _, step := range phase.Steps {
			if phase.Name == name {
				tables = append(tables, step.Table)
			}
		}
	}
	return tables
}

// A run is one call of Apply or Revert.
type run struct {
	session
	Work
}

func (w Work) begin(ctx context.Context, conn *sql.Conn, c Config) *run {
	return &run{session{ctx: ctx, conn: conn, engine: w.Engine, dialect: w.Dialect, config: c, begun: time.Now()}, w}
}

// Apply carries out the phases in their order.
func (w Work) Apply(ctx context.Context, conn *sql.Conn, c Config) error {
	r := w.begin(ctx, conn, c)
	if err := r.checkOrder(); err != nil {
		return err
	}
	for _, phase := range r.Phases {
		if err := r.phase(phase.Name, engine.Converted(Transactions(&phase), Transaction.upward)); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been applied")
	}
	return r.complete()
}

// checkOrder returns [Work.ErrOrder], unless the phase that is left out has been applied
// before, for example by this plan.
func (r *run) checkOrder() error {
	return errors.Join(r.unlessApplied(plan.Widen, r.errDetach()), r.unlessApplied(plan.Detach, r.errGuard()))
}

// unlessApplied returns blocked if a column is still as it was before a phase that is left
// out.
func (r *run) unlessApplied(name plan.PhaseName, blocked error) error {
	if blocked == nil {
		return nil
	}
	for _, phase := range r.Left {
		for _, task := range slices.Concat(engine.Converted(Transactions(&phase), Transaction.upward)...) {
			if phase.Name != name || !strings.HasPrefix(task.statement.SQL, "ALTER TABLE ") || task.statement.Unless == "" {
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

// ErrIncomplete is in the error of a plan that has been carried out, if a phase has left
// something undone, or if the tables do not take Snowflake IDs.
var ErrIncomplete = errors.New("sqlmigrate: the plan has been carried out, but")

// complete tries keys in the tables after the last phase.
func (r *run) complete() error {
	left := r.Omitted
	if len(r.Trial.Tables) > 0 && len(r.Phases) > 0 && len(r.Left) == 0 {
		tried, err := r.Engine.Try(r.ctx, r.conn, r.Trial)
		if err != nil {
			return fmt.Errorf("%w its tables could not be tried: %w", ErrIncomplete, err)
		}
		for _, b := range tried.Blockers {
			tried.Omitted = append(tried.Omitted, plan.Omission{Blocker: b})
		}
		for _, o := range tried.Omitted {
			left = engine.AppendNew(slices.Clip(left), o)
		}
	}
	return errors.Join(engine.Converted(left, func(o plan.Omission) error {
		of := ""
		if o.Phase != "" {
			of = "phase " + string(o.Phase) + " has left out "
		}
		return fmt.Errorf("%w %stable %s: %s: %s: %s", ErrIncomplete, of, o.Table, o.Object, o.Reason, o.Fix)
	})...)
}

// Revert takes back the phases in reverse order, after it has checked that each can be.
func (w Work) Revert(ctx context.Context, conn *sql.Conn, c Config) error {
	r := w.begin(ctx, conn, c)
	phases := slices.Clone(r.Phases)
	slices.Reverse(phases)
	for _, phase := range phases {
		if err := r.phase(phase.Name, engine.Converted(backwards(&phase), Transaction.checking)); err != nil {
			return err
		}
	}
	for _, phase := range phases {
		// The checks are repeated, because on some databases the answer cannot change any
		// more inside this transaction.
		if err := r.phase(phase.Name, engine.Converted(backwards(&phase), Transaction.downward)); err != nil {
			return err
		}
		r.over = append(r.over, string(phase.Name)+" has been taken back")
	}
	return nil
}
