package online

import (
	"context"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// copy runs t, a step that copies rows in batches, and records the step as done. It begins at
// the position that the move has stored, so that a run that resumes the move does not repeat
// all batches.
func (r *Run) copy(ctx context.Context, t task) error {
	if err := r.copyAll(ctx, t); err != nil {
		return err
	}
	return r.save(ctx, withStepDone(*r.move))
}

// copyAgain repeats all Batches steps of the move from their first row on, because a step of
// stage constrain has found rows of the copy that differ from the table. The statements write
// only the rows that differ.
func (r *Run) copyAgain(ctx context.Context) error {
	for _, t := range tasks(r.move) {
		if t.Kind != plan.Batches {
			continue
		}
		r.move.Position, r.move.Until, r.move.Copied = 0, 0, 0
		if err := r.copyAll(ctx, t); err != nil {
			return err
		}
	}
	// The next step of the move is still the step of stage constrain, which has no position.
	r.move.Position, r.move.Until, r.move.Copied = 0, 0, 0
	return nil
}

// A copyPass is one pass over the rows of a Batches step, from the position of the move to the
// end of the table.
type copyPass struct {
	*Run
	task
	pace *pace

	// skipped are the first positions of the batches that skipped rows, because another
	// program had locked the rows. copySkipped repeats these batches. If the run is
	// interrupted before copySkipped, stage constrain finds the skipped rows that differ, and
	// the rows are copied again.
	skipped []int64
}

// copyAll runs batches until all rows of a step are copied, beginning at the position of
// r.move. After the last batch, it repeats the batches that had to skip locked rows.
func (r *Run) copyAll(ctx context.Context, t task) error {
	c := &copyPass{Run: r, task: t, pace: &pace{Config: &r.config, rows: r.config.Smallest}}
	r.report.beginCopy(r.move)
	for last := false; !last; {
		from := r.move.Position
		b, err := c.batch(ctx, *r.move, c.pace.rows)
		if err != nil {
			return err
		}
		if b.Skipped > 0 {
			c.skipped = append(c.skipped, from)
		}
		last = b.Last
	}
	return c.copySkipped(ctx)
}

// batch runs a batch of about rows rows, beginning at next.Position, and then pauses as the
// pace demands. next is the move before the batch. After the batch, batch sets c.move to
// the move that the driver has recorded with the batch. If another program is in the way,
// for example because it holds a lock, batch tries again with fewer rows until the patience
// of the configuration is used up.
func (c *copyPass) batch(ctx context.Context, next engine.Move, rows int) (engine.Batch, error) {
	if err := c.waitUntilAllowed(ctx, c.task); err != nil {
		return engine.Batch{}, err
	}
	next.Waits = c.move.Waits // waitUntilAllowed may have counted a wait
	for tries := (engine.Tries{Limit: c.config.Patience}); ; {
		attempt := next // a copy, because RunBatch changes it
		b, err := c.driver.RunBatch(ctx, c.conn, c.OnlineStep, &attempt, rows, c.config.Settings)
		if err == nil {
			c.move = &attempt
			c.pace.adapt(b)
			c.report.copied(c.move, c.pace.rows)
			return b, engine.Sleep(ctx, c.pace.pauseAfter(b))
		}
		again, holder := c.driver.Retry(ctx, c.conn, c.OnlineStep, err)
		// Failed counts the failure, and reports whether the patience lasts.
		if ctx.Err() != nil || !again || !tries.Failed(0) {
			return b, err
		}
		c.pace.halve()
		rows = c.pace.rows
		c.report.waiting("rows that another program holds: " + holder)
		if err := engine.Sleep(ctx, pause()); err != nil {
			return b, err
		}
	}
}

// copySkipped repeats the batches that skipped locked rows, in rounds, until no batch skips a
// row. It returns an error if that takes longer than the patience of the configuration.
func (c *copyPass) copySkipped(ctx context.Context) error {
	for tries := (engine.Tries{Limit: c.config.Patience}); len(c.skipped) > 0; {
		if !tries.Failed(0) { // Failed counts the round, and reports whether the patience lasts
			return fmt.Errorf("rows of table %s are held by another program for longer than %v", c.Table, c.config.Patience)
		}
		c.report.waiting("rows that another program holds, in " + engine.Count(len(c.skipped), "place"))
		if err := engine.Sleep(ctx, pause()); err != nil {
			return err
		}
		positions, end := c.skipped, c.move.Position
		c.skipped = nil // repeatBatch adds the positions that this round skips again
		for _, from := range positions {
			if err := c.repeatBatch(ctx, from, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeatBatch repeats the batch that began at position from, because it skipped rows, and then
// sets the position of r.move back to end, the end of the pass. It asks for the largest number
// of rows of the configuration, because the batch may have been larger than batches are now.
func (c *copyPass) repeatBatch(ctx context.Context, from, end int64) error {
	next := *c.move
	next.Position = from
	b, err := c.batch(ctx, next, c.config.Largest)
	if b.Skipped > 0 {
		c.skipped = append(c.skipped, from)
	}
	c.move.Position = end
	return err
}

// A pace adapts the number of rows in a batch, and the pause after it, to the time that
// batches take.
type pace struct {
	*Config
	rows int // the number of rows of the next batch
}

// adapt computes the number of rows of the next batch from the time that batch b took, so that
// the next batch takes about as long as Config.Stall allows. A batch holds locks on its rows
// for that time, and a program that writes one of the rows waits. The number shrinks at once
// but grows slowly, because the next rows may be on pages that are not in memory.
//
// At full pace, the time of the commit does not count, because the commit of a smaller
// batch is not faster. If it counted, the batches would shrink to a few rows while the disk
// is busy, and the copy would do little more than commit.
func (p *pace) adapt(b engine.Batch) {
	took := b.Took
	if p.Settings.Pace == plan.PaceFull {
		took -= b.Commit
	}
	// The number grows by at most a quarter, and shrinks to at least a quarter.
	factor := 1.25
	if took > 0 {
		factor = min(factor, float64(p.Stall)/float64(took))
	}
	p.rows = min(max(int(float64(p.rows)*max(factor, 0.25)+0.5), p.Smallest), p.Largest)
	if factor > 1.05 && p.rows < p.Largest {
		p.rows++ // a quarter of a small number, such as 1, rounds to zero
	}
}

// halve halves the number of rows after a batch that did not get its locks in time.
func (p *pace) halve() { p.rows = max(p.rows/2, p.Smallest) }

// pauseAfter returns the pause after batch b. At the polite pace it is at least as long as
// the batch, so that programs have the database to themselves for half of the time. A
// commit that takes more than a fifth of Config.Stall shows that the disk is busy, which
// slows all programs, so the pause is longer by twice the excess.
//
// At full pace, the copy pauses only after a commit that took longer than Config.Stall,
// because the commits of programs wait for the same disk for as long.
func (p *pace) pauseAfter(b engine.Batch) time.Duration {
	if p.Settings.Pace == plan.PaceFull {
		return max(0, b.Commit-p.Stall)
	}
	return b.Took + 2*max(0, b.Commit-p.Stall/5)
}
