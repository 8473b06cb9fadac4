package online

import (
	"context"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// copy carries out a step in batches, from where it was left.
func (r *Run) copy(ctx context.Context, t task) error {
	if err := r.batches(ctx, t); err != nil {
		return err
	}
	return r.save(ctx, after(*r.move))
}

// save records where the move is from now on.
func (r *Run) save(ctx context.Context, next *engine.Move) error {
	if err := r.driver.SaveMove(ctx, r.conn, next); err != nil {
		return err
	}
	r.move = next
	return nil
}

// copyAgain is for rows that differ although they have been copied: it goes
// through all of them, and writes those only.
func (r *Run) copyAgain(ctx context.Context) error {
	for _, t := range tasks(r.move) {
		if t.Kind != plan.Batches {
			continue
		}
		r.move.Position, r.move.Until, r.move.Copied = 0, 0, 0
		if err := r.batches(ctx, t); err != nil {
			return err
		}
	}
	r.move.Position, r.move.Until, r.move.Copied = 0, 0, 0
	return nil
}

// A copying is one pass over the rows of a step.
type copying struct {
	*Run
	task
	pace    *pace
	skipped []int64 // positions of batches with rows that another program held
}

func (r *Run) batches(ctx context.Context, t task) error {
	c := &copying{Run: r, task: t, pace: &pace{&r.config, r.config.Smallest}}
	r.report.beginCopy(r.move)
	r.asked = time.Time{} // replicas have not been, for another step
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
	return c.rest(ctx)
}

// batch carries out one and rests afterwards.
func (c *copying) batch(ctx context.Context, next engine.Move, rows int) (engine.Batch, error) {
	if err := c.awaitLeave(ctx, c.task); err != nil {
		return engine.Batch{}, err
	}
	next.Waits = c.move.Waits
	for tries := (engine.Tries{Limit: c.config.Patience}); ; {
		attempt := next
		b, err := c.driver.RunBatch(ctx, c.conn, c.OnlineStep, &attempt, rows, c.config.Settings)
		if err == nil {
			c.move = &attempt
			c.pace.after(b)
			c.report.copied(c.move, c.pace.rows)
			return b, engine.Sleep(ctx, c.pace.rest(b))
		}
		again, holder := c.driver.Retry(ctx, c.conn, c.OnlineStep, err)
		if ctx.Err() != nil || !again || !tries.Failed(0) {
			return b, err
		}
		c.pace.failed()
		rows = c.pace.rows
		c.report.waiting("rows that another program holds: " + holder)
		if err := engine.Sleep(ctx, pause()); err != nil {
			return b, err
		}
	}
}

// rest repeats the batches with rows that others held, until nobody does.
func (c *copying) rest(ctx context.Context) error {
	for tries := (engine.Tries{Limit: c.config.Patience}); len(c.skipped) > 0; {
		if !tries.Failed(0) {
			return fmt.Errorf("rows of table %s are held by another program for longer than %v", c.Table, c.config.Patience)
		}
		c.report.waiting("rows that another program holds, in " + engine.Count(len(c.skipped), "place"))
		if err := engine.Sleep(ctx, pause()); err != nil {
			return err
		}
		positions, end := c.skipped, c.move.Position
		c.skipped = nil
		for _, from := range positions {
			if err := c.again(ctx, from, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// again repeats what a batch may have skipped. Its size then is not known any
// more, and it may have more rows than one has now.
func (c *copying) again(ctx context.Context, from, end int64) error {
	next := *c.move
	next.Position = from
	b, err := c.batch(ctx, next, c.config.Largest)
	if b.Skipped > 0 {
		c.skipped = append(c.skipped, from)
	}
	c.move.Position = end
	return err
}

// A pace is how many rows a batch has, and how long the copy rests after one.
type pace struct {
	*Config
	rows int
}

// after adapts to what a batch took. A program that wants one of its rows waits
// for as long. It shrinks at once and grows slowly, since the next rows may be on pages
// that have to be read.
func (p *pace) after(b engine.Batch) {
	factor := 1.25
	if b.Took > 0 {
		factor = min(factor, float64(p.Stall)/float64(b.Took))
	}
	p.rows = min(max(int(float64(p.rows)*max(factor, 0.25)+0.5), p.Smallest), p.Largest)
	if factor > 1.05 && p.rows < p.Largest {
		p.rows++ // a small batch does not grow by a quarter
	}
}

// failed is after a batch that had no lock in time.
func (p *pace) failed() { p.rows = max(p.rows/2, p.Smallest) }

// rest leaves programs half of the time, and more while commits are slow: the disk
// that they wait for is everybody's.
func (p *pace) rest(b engine.Batch) time.Duration {
	return b.Took + 2*max(0, b.Commit-p.Stall/5)
}
