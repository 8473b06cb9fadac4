// Package online runs an online move. The methods of sqlmigrate's OnlinePlan create a
// [Run], and call its Apply, Finish or Revert. A Run chooses the next step of the plan,
// and an [engine.Online], the driver of the database, runs it. The Run resumes a stored
// move, tries a step again that did not get its lock in time, and waits for replicas and
// for operators. It adapts the size of the batches to the time that they block programs.
package online

import (
	"context"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// ErrNoMove is the error of Finish, Revert and any other operation that needs a move which
// has begun, if the database has no record of such a move.
var ErrNoMove = errors.New("sqlmigrate: no online move of these tables is under way")

// Apply runs the remaining steps of the stages up to and including config.Last. It begins
// the move if the database has no record of it. It does nothing if the plan has no stages,
// because there is no column to widen.
func (r *Run) Apply(ctx context.Context) error {
	if len(r.move.Plan.Stages) == 0 {
		return nil
	}
	return r.open(ctx, true, func() error {
		if r.move.Back {
			return errors.New("sqlmigrate: the move is being taken back: revert it to the end first")
		}
		r.repeatChecks()
		return r.runUntil(ctx, stepsThrough(&r.move.Plan, r.config.Last))
	})
}

// Finish runs the last stage, which drops the old columns or tables, and then deletes the
// record of the move. It returns an error unless all stages before the last are done, and
// also if the move is on its way back.
func (r *Run) Finish(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		// Stage swap is the stage before the last.
		if r.move.Back || r.move.Done < stepsThrough(&r.move.Plan, plan.StageSwap) {
			stage, _ := At(r.move)
			return fmt.Errorf("sqlmigrate: the move is in stage %s: want all stages before %s applied", stage, plan.StageFinish)
		}
		return r.toEnd(ctx)
	})
}

// Revert takes back the completed steps, and then deletes the record of the move. If an
// earlier Revert was interrupted, it continues the way back.
func (r *Run) Revert(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		if !r.move.Back {
			if err := r.beginRevert(ctx); err != nil {
				return err
			}
		}
		return r.toEnd(ctx)
	})
}

// toEnd runs all remaining steps of the move in its present direction, and then deletes the
// record of the move.
func (r *Run) toEnd(ctx context.Context) error {
	if err := r.runUntil(ctx, len(tasks(r.move))); err != nil {
		return err
	}
	return r.driver.CloseMove(ctx, r.conn, r.move)
}

// open acquires the exclusive right to run the move, reads the move with its progress into
// r.move, calls do, and releases the right. If the database has no record of the move, open
// creates the record if mayBegin is true, and otherwise returns [ErrNoMove].
func (r *Run) open(ctx context.Context, mayBegin bool, do func() error) (err error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.tables)
	if err != nil {
		return err
	}
	if found == nil && !mayBegin {
		return ErrNoMove
	}
	if found != nil {
		r.move = found
	}
	release, err := r.driver.OpenMove(ctx, r.conn, r.move, r.config.Settings)
	if err != nil {
		return err
	}
	defer func() { err = release(err) }()
	// Read the move again, because another process may have run it, even to its end, before
	// this process got the right.
	if r.move, err = r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables); err != nil {
		return err
	}
	if r.move == nil {
		return errors.New("sqlmigrate: another process has brought the move to its end: inspect again")
	}
	return do()
}

// beginRevert turns the move around, so that its next steps are the first steps of the way
// back. The way back starts with the stage of the next step forwards, because some steps of
// this stage may be done. Then it continues with the earlier stages, down to the first. The
// last stage cannot be taken back. If a step of the last stage is done, beginRevert returns
// an error. If the next step is the first of the last stage, the way back starts with the
// stage before the last.
//
// The way back may begin with Verify steps, which check that the way back is possible.
// beginRevert runs them before it turns the move around. If one fails, the move stays as it
// is, so that Apply or Finish can continue it.
func (r *Run) beginRevert(ctx context.Context) error {
	back := *r.move
	all := tasks(&back)
	stage := len(back.Plan.Stages) - 1 // if all steps are done
	if back.Done < len(all) {
		stage = all[back.Done].stage
	}
	if last := len(back.Plan.Stages) - 1; stage == last {
		if back.Done > stepsThrough(&back.Plan, plan.StageSwap) {
			return fmt.Errorf("sqlmigrate: there is no way back: %s", back.Plan.Stages[last].NoWayBack)
		}
		stage = last - 1
	}
	back.Back, back.From, back.Done, back.Position, back.Until, back.Copied, back.Rate = true, stage, 0, 0, 0, 0, 0
	for _, t := range tasks(&back) {
		if t.Kind != plan.Verify {
			break
		}
		// runStep records its argument next. Pass r.move and not &back, because the recorded
		// move must go forwards until all checks have passed.
		if err := r.runStep(ctx, t, r.move, r.config.Settings); err != nil {
			return fmt.Errorf("sqlmigrate: %s: %w (nothing has been taken back)", t.Text, err)
		}
	}
	return r.save(ctx, &back)
}
