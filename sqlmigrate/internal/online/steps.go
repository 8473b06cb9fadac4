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

// runUntil runs the next steps of the move, in its present direction, until end steps are
// done. end also counts the steps that earlier runs have done. Before each step it waits as
// long as an operator wishes, or a replica is behind.
func (r *Run) runUntil(ctx context.Context, end int) error {
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
			err = r.runAndAdvance(ctx, t)
		}
		if err != nil {
			return r.failure(t, engine.WithCause(ctx, err))
		}
	}
	r.report.finished(end)
	return nil
}

// runAndAdvance runs t, the next step, and sets r.move to the move with the step done.
func (r *Run) runAndAdvance(ctx context.Context, t task) error {
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

// runStep makes one attempt to run a step, and records next, the move after the step. If the
// Unless query of the step returns true, the step has been done already, for example by an
// earlier run that was interrupted before it recorded the step. Then runStep only records
// next.
func (r *Run) runStep(ctx context.Context, t task, next *engine.Move, s engine.Settings) error {
	done := false
	if t.Unless != "" {
		// The query does not get ctx, because some drivers close the connection if the
		// context of a query ends.
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), t.Unless).Scan(&done); err != nil {
			return err
		}
	}
	if done {
		return r.driver.SaveMove(ctx, r.conn, next)
	}
	return r.driver.RunStep(ctx, r.conn, t.OnlineStep, next, s)
}

// maxRepairs limits how often runWithRetries copies the rows again because some differ. If
// rows still differ after the third repair, a copy does not remove the cause, and the step
// fails.
const maxRepairs = 3

// runWithRetries runs a step, and records next, the move with the step done. It tries the
// step again, with pauses, while the step does not get a lock and the patience of the
// configuration lasts.
//
// The steps of stage constrain compare the copy with the original rows. If a step finds rows
// that differ, runWithRetries copies the rows again and repeats the step. It does not do this
// on the way back, which removes the copy.
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
		if !again || !tries.Failed(0) { // Failed counts the try, and reports whether the patience lasts
			return err
		}
		// The driver returns no holder if it does not know which session holds the lock.
		r.report.waiting(strings.TrimSuffix(fmt.Sprintf("a lock, after %s: %s", engine.Count(tries.Count, "try"), holder), ": "))
		if err := engine.Sleep(ctx, pause()); err != nil {
			return err
		}
	}
}

// fullWait is the number of the first try of a step that waits for the whole lock timeout.
const fullWait = 8

// settingsOfTry returns the settings of the next try of a step, where failed is the number of
// tries that have failed. The first tries wait for only a part of the lock timeout, for
// example 25, 50 and 75 ms of 200 ms. If transactions are short, that is sufficient, and
// programs that wait behind the step wait less.
func settingsOfTry(s engine.Settings, failed int) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(failed+1, fullWait))/fullWait)
	return s
}

// failure returns the error for the user. It adds to err the stage, the table and the step t
// at which the move stopped, and how the user can continue.
func (r *Run) failure(t task, err error) error {
	where := ""
	if t.Table.Name != "" {
		where = ", table " + t.Table.String()
	}
	// A Verify step has found wrong rows by its query, so show the query to the user.
	if t.Kind == plan.Verify && errors.As(err, &engine.DifferError{}) {
		err = fmt.Errorf("%w, by: %.500s", err, t.SQL[0])
	}
	advice := "run the same again to resume, or revert"
	if r.move.Back {
		advice = "revert again to resume"
	}
	return fmt.Errorf("sqlmigrate: stage %s%s, %s: %w (%d steps are done; %s)",
		r.stage(t), where, t.Text, err, r.move.Done, advice)
}
