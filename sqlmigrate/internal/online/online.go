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

// ErrNoMove is the error of operations that need a move that has begun.
var ErrNoMove = errors.New("sqlmigrate: no online move of these tables is under way")

// Apply runs the stages up to config.Last. It begins the move if the database has none.
// It returns without an error if the plan is empty.
func (r *Run) Apply(ctx context.Context) error {
	if len(r.move.Plan.Stages) == 0 {
		return nil
	}
	return r.open(ctx, true, func() error {
		if r.move.Back {
			return errors.New("sqlmigrate: the move is being taken back: revert it to the end first")
		}
		return r.steps(ctx, stepsThrough(&r.move.Plan, r.config.Last))
	})
}

// Finish runs the last stage, and then deletes the record of the move. It returns an
// error unless all stages before the last are done.
func (r *Run) Finish(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		if r.move.Back || r.move.Done < stepsThrough(&r.move.Plan, plan.StageSwap) {
			stage, _ := At(r.move)
			return fmt.Errorf("sqlmigrate: the move is in stage %s: want all stages before %s applied", stage, plan.StageFinish)
		}
		return r.toEnd(ctx)
	})
}

// Revert takes back the completed steps, and then deletes the record of the move.
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

// toEnd runs the remaining steps and deletes the record of the move.
func (r *Run) toEnd(ctx context.Context) error {
	if err := r.steps(ctx, len(tasks(r.move))); err != nil {
		return err
	}
	return r.driver.CloseMove(ctx, r.conn, r.move)
}

// open acquires the exclusive right to run the move, reads its progress, and calls do. If
// the move has not begun, open records it if begin is true, and otherwise returns
// [ErrNoMove].
func (r *Run) open(ctx context.Context, begin bool, do func() error) (err error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.tables)
	if err != nil {
		return err
	}
	if found == nil && !begin {
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
	// Another process may have run the move before this process got the right to.
	if r.move, err = r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables); err != nil {
		return err
	}
	if r.move == nil {
		return errors.New("sqlmigrate: another process has brought the move to its end: inspect again")
	}
	return do()
}

// beginRevert makes the move go backwards, from the stage of the next step on. First it
// runs the Verify steps at the beginning of the way back. If such a step fails, the move
// continues in its present direction. The last stage has no way back, so beginRevert
// fails if a step of it is done, and otherwise begins with the stage before it.
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
		// The check records r.move, which still goes forwards.
		if err := r.runStep(ctx, t, r.move, r.config.Settings); err != nil {
			return fmt.Errorf("sqlmigrate: %s: %w (nothing has been taken back)", t.Text, err)
		}
	}
	return r.save(ctx, &back)
}
