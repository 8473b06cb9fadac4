package online

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// steps runs the steps of the move until end steps are done.
func (r *Run) steps(ctx context.Context, end int) error {
	all := tasks(r.move)
	r.report.begin(r.move, all, end)
	for r.move.Done < end {
		t := all[r.move.Done]
		r.report.step(r.move, t, r.move.Done)
		err := ctx.Err()
		if err == nil {
			err = r.waitUntilAllowed(ctx, t)
		}
		if err == nil {
			err = r.step(ctx, t)
		}
		if err != nil {
			return r.failure(t, engine.WithCause(ctx, err))
		}
	}
	r.report.finished(end)
	return nil
}

// step runs a step, and sets r.move to the move with the step done.
func (r *Run) step(ctx context.Context, t task) error {
	if t.Kind == plan.Batches {
		return r.copy(ctx, t)
	}
	next := withStepDone(*r.move)
	if err := r.runWithRetries(ctx, t, next); err != nil {
		return err
	}
	r.move = next
	return nil
}

// runStep runs a step, or only records it if its Unless query shows that it has been
// done.
func (r *Run) runStep(ctx context.Context, t task, next *engine.Move, s engine.Settings) error {
	done := false
	if t.Unless != "" {
		// ctx is not used, because some drivers close the connection when it ends during
		// a query.
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), t.Unless).Scan(&done); err != nil {
			return err
		}
	}
	if done {
		return r.driver.SaveMove(ctx, r.conn, next)
	}
	return r.driver.RunStep(ctx, r.conn, t.OnlineStep, next, s)
}

// maxRepairs is how often rows that differ are copied again before the step fails. Rows
// that still differ then have a cause that a copy does not remove.
const maxRepairs = 3

// runWithRetries runs a step, and repeats it while it fails for lack of a lock. In stage
// constrain, which compares the copy with the table, it copies rows that differ again
// before it repeats the step, but not on the way back.
func (r *Run) runWithRetries(ctx context.Context, t task, next *engine.Move) error {
	repaired := 0
	for tries := (engine.Tries{Limit: r.config.Patience}); ; {
		err := r.runStep(ctx, t, next, settingsOfTry(r.config.Settings, tries.Count))
		if err == nil || ctx.Err() != nil {
			return err
		}
		if errors.As(err, &engine.DifferError{}) && r.stage(t) == plan.StageConstrain && !r.move.Back && repaired < maxRepairs {
			repaired++
			r.report.waiting(fmt.Sprintf("rows that differ are copied again: %v", err))
			if err := r.copyAgain(ctx); err != nil {
				return err
			}
			continue
		}
		again, holder := r.driver.Retry(ctx, r.conn, t.OnlineStep, err)
		if !again || !tries.Failed(0) {
			return err
		}
		r.report.waiting(strings.TrimSuffix(fmt.Sprintf("a lock, after %s: %s", engine.Count(tries.Count, "try"), holder), ": "))
		if err := engine.Sleep(ctx, pause()); err != nil {
			return err
		}
	}
}

// fullWait is the number of the first try that waits for the whole lock timeout.
const fullWait = 4

// settingsOfTry returns the settings of the try after failed tries have failed. The first
// tries wait for only a part of the lock timeout. If transactions are short, that is
// sufficient, and programs that wait behind the step wait less.
func settingsOfTry(s engine.Settings, failed int) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(failed+1, fullWait))/fullWait)
	return s
}

// failure returns the error for the user: where the move stopped, and how to continue.
func (r *Run) failure(t task, err error) error {
	where := ""
	if t.Table.Name != "" {
		where = ", table " + t.Table.String()
	}
	if t.Kind == plan.Verify && errors.As(err, &engine.DifferError{}) {
		err = fmt.Errorf("%w, by: %.500s", err, t.SQL[0])
	}
	what := "run the same again to resume, or revert"
	if r.move.Back {
		what = "revert again to resume"
	}
	return fmt.Errorf("sqlmigrate: stage %s%s, %s: %w (%d steps are done; %s)",
		r.stage(t), where, t.Text, err, r.move.Done, what)
}
