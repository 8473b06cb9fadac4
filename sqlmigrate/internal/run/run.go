// Package run applies the phases of a plan, and takes them back. Apply and Revert of
// sqlmigrate's Plan create a [Work] and call its methods, which run the statements
// through an [engine.Engine]. A transaction that waited too long for a lock is tried
// again.
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

// A Work is a plan, or some phases of a plan, to apply or revert.
type Work struct {
	Dialect  string // GORM's name of the database: sqlite, mysql or postgres
	Engine   engine.Engine
	Phases   []plan.Phase    // the phases to apply or revert
	Excluded []plan.Phase    // the phases of the plan that the caller excluded
	Omitted  []plan.Omission // the work that Phases leave undone
	Trial    engine.Trial    // the trial of the tables after the last phase; without tables, it is not run
}

// ErrOrder returns an error if the caller has excluded a phase that must come first:
//
//   - [plan.Widen] must come before [plan.Detach]. After detach without widen, no program
//     could insert a row, because the database assigns no key and a Snowflake ID does not
//     fit.
//   - [plan.Detach] must come before [plan.Guard] on MySQL and MariaDB, because these
//     servers reject a CHECK of a column whose keys they assign.
func (w Work) ErrOrder() error { return errors.Join(w.errDetach(), w.errGuard()) }

// errDetach returns the error of ErrOrder if phase detach is included and phase widen is
// excluded.
func (w Work) errDetach() error {
	narrow := tablesIn(w.Excluded, plan.Widen) // the tables that would stay narrow
	if len(narrow) == 0 || len(tablesIn(w.Phases, plan.Detach)) == 0 {
		return nil
	}
	return fmt.Errorf("sqlmigrate: phase detach is blocked by phase widen: table %s: no program could insert, because the database would no longer assign keys, and the columns are too narrow for Snowflake IDs: apply phase widen before or with it", narrow[0])
}

// errGuard returns the error of ErrOrder if, on MySQL or MariaDB, phase guard is included
// and phase detach of one of its tables is excluded.
func (w Work) errGuard() error {
	detach, guard := tablesIn(w.Excluded, plan.Detach), tablesIn(w.Phases, plan.Guard)
	if w.Dialect != "mysql" || !slices.ContainsFunc(guard, func(table plan.TableName) bool { return slices.Contains(detach, table) }) {
		return nil
	}
	return errors.New("sqlmigrate: phase guard is blocked by phase detach: MySQL and MariaDB have no CHECK of a column whose keys they assign: apply phase detach before or with it")
}

// tablesIn returns the tables of all steps of the phase with that name, or nil if phases
// does not have it.
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

// A planRun is one call of Apply or Revert.
type planRun struct {
	session
	Work
}

// begin returns a run of w on conn. It does not change the database.
func (w Work) begin(ctx context.Context, conn *sql.Conn, c Config) *planRun {
	return &planRun{session{ctx: ctx, conn: conn, engine: w.Engine, dialect: w.Dialect, config: c, begun: time.Now()}, w}
}

// Apply runs the phases in their order. If the caller has excluded no phase, Apply then
// inserts Snowflake IDs into copies of the tables, to find tables that reject them. An
// error that wraps [ErrIncomplete] means that all phases have been applied, but that a
// phase left work undone, a table rejects Snowflake IDs, or no IDs could be inserted.
func (w Work) Apply(ctx context.Context, conn *sql.Conn, c Config) error {
	r := w.begin(ctx, conn, c)
	if err := r.checkOrder(); err != nil {
		return err
	}
	for _, phase := range r.Phases {
		if err := r.phase(phase.Name, engine.Converted(Transactions(&phase), Transaction.upTasks)); err != nil {
			return err
		}
		r.outcomes = append(r.outcomes, string(phase.Name)+" has been applied")
	}
	return r.complete()
}

// checkOrder returns the error of [Work.ErrOrder], unless the database shows that an
// earlier call has already applied the excluded phase.
func (r *planRun) checkOrder() error {
	return errors.Join(r.unlessApplied(plan.Widen, r.errDetach()), r.unlessApplied(plan.Detach, r.errGuard()))
}

// unlessApplied returns blocked, the error about the excluded phase with this name, unless
// an earlier call has already applied this phase. To find out, it runs the Unless query of
// each ALTER TABLE of the phase, which returns true if the statement has been applied. If
// all queries return true, or if blocked is nil, unlessApplied returns nil.
func (r *planRun) unlessApplied(name plan.PhaseName, blocked error) error {
	if blocked == nil {
		return nil
	}
	for _, phase := range r.Excluded {
		for _, t := range slices.Concat(engine.Converted(Transactions(&phase), Transaction.upTasks)...) {
			// Other statements lock, check or prepare, so they do not show whether the phase
			// has been applied.
			if phase.Name != name || !strings.HasPrefix(t.statement.SQL, "ALTER TABLE ") || t.statement.Unless == "" {
				continue
			}
			var applied bool
			if err := r.conn.QueryRowContext(r.ctx, t.statement.Unless).Scan(&applied); err != nil || !applied {
				return errors.Join(err, blocked)
			}
		}
	}
	return nil
}

// ErrIncomplete is wrapped in the error of Apply if all phases have been applied, but a
// phase left work undone, the tables reject Snowflake IDs, or no IDs could be tried.
var ErrIncomplete = errors.New("sqlmigrate: the plan has been carried out, but")

// complete tries keys in copies of the tables after the last phase. It returns an error for
// each omission of the plan, and for each finding of the trial, such as a column that
// rejects a key.
//
// It does not try keys if the caller excluded a phase, because tables need not accept
// Snowflake IDs before all phases are applied. It does not try keys either if there was no
// phase to apply, because Inspect has already tried keys in such tables.
func (r *planRun) complete() error {
	omissions := r.Omitted
	if len(r.Trial.Tables) > 0 && len(r.Phases) > 0 && len(r.Excluded) == 0 {
		tried, err := r.Engine.Try(r.ctx, r.conn, r.Trial)
		if err != nil {
			return fmt.Errorf("%w its tables could not be tried: %w", ErrIncomplete, err)
		}
		for _, b := range tried.Blockers { // the omission has no phase, so the error names no phase
			tried.Omitted = append(tried.Omitted, plan.Omission{Blocker: b})
		}
		for _, o := range tried.Omitted {
			// Inspect may have found the same omission. Clip makes the append copy the
			// slice of the plan.
			omissions = engine.AppendNew(slices.Clip(omissions), o)
		}
	}
	return errors.Join(engine.Converted(omissions, func(o plan.Omission) error {
		origin := ""
		if o.Phase != "" {
			origin = "phase " + string(o.Phase) + " has left out "
		}
		return fmt.Errorf("%w %stable %s: %s: %s: %s", ErrIncomplete, origin, o.Table, o.Object, o.Reason, o.Fix)
	})...)
}

// Revert checks that each phase can be taken back, and then takes the phases back in
// reverse order. All checks come before the first change, so that Revert has changed
// nothing if a check fails.
func (w Work) Revert(ctx context.Context, conn *sql.Conn, c Config) error {
	r := w.begin(ctx, conn, c)
	phases := slices.Clone(r.Phases)
	slices.Reverse(phases)
	for _, phase := range phases {
		if err := r.phase(phase.Name, engine.Converted(backwards(&phase), Transaction.checkTasks)); err != nil {
			return err
		}
	}
	for _, phase := range phases {
		// downTasks repeats the checks inside the transaction, because a program may have
		// written rows since the first checks. On SQLite, for example, no program can write
		// while the transaction is open.
		if err := r.phase(phase.Name, engine.Converted(backwards(&phase), Transaction.downTasks)); err != nil {
			return err
		}
		r.outcomes = append(r.outcomes, string(phase.Name)+" has been taken back")
	}
	return nil
}
