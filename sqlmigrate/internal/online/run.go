// Package online decides what an online widening does next: it carries out the
// steps of a plan one by one, resumes and takes back, tries again what had no
// lock in time, and paces the copy by the stalls that it causes.
package online

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// ErrNoMove is for what wants a move that has begun.
var ErrNoMove = errors.New("sqlmigrate: no online move of these tables is under way")

// A Config is what the options have set.
type Config struct {
	Smallest, Largest int           // rows of a batch
	Stall             time.Duration // that a batch may take
	MaxLag            time.Duration // of a replica; zero: no limit
	Replicas          []*sql.DB     // that the database does not know
	Patience          time.Duration // for which a step that gets no lock is tried again
	Last              plan.StageName
	Progress          func(plan.OnlineProgress)
	Settings          engine.Settings
}

// Defaults returns what is documented at the options.
func Defaults() Config {
	return Config{
		Smallest: 50, Largest: 10_000,
		Stall:    50 * time.Millisecond,
		MaxLag:   10 * time.Second,
		Patience: 10 * time.Minute,
		Last:     plan.StageSwap,
		Progress: func(plan.OnlineProgress) {},
		Settings: engine.Settings{LockTimeout: 200 * time.Millisecond},
	}
}

// A Run is one call of Apply, Finish or Revert.
type Run struct {
	driver engine.Online
	conn   *sql.Conn
	tables []plan.TableName
	move   *engine.Move
	config Config
	report *reporter

	stall    time.Duration // that the caller has asked for
	asked    time.Time     // when nothing has held the run up last
	answered bool          // replicas have
	behind   bool          // one of them is
}

// New returns a run of the move that one of the tables has by then, or of a
// plan that has not been begun.
func New(driver engine.Online, conn *sql.Conn, tables []plan.TableName, m engine.Move, c Config) *Run {
	return &Run{driver: driver, conn: conn, tables: tables, move: &m, config: c, report: &reporter{fn: c.Progress, begun: time.Now()}, stall: c.Stall}
}

// Apply carries out the stages up to the last that is wanted.
func (r *Run) Apply(ctx context.Context) error {
	if len(r.move.Plan.Stages) == 0 {
		return nil
	}
	return r.open(ctx, true, func() error {
		if r.move.Back {
			return errors.New("sqlmigrate: the move is being taken back: revert it to the end first")
		}
		return r.steps(ctx, through(&r.move.Plan, r.config.Last))
	})
}

// Finish carries out the last stage.
func (r *Run) Finish(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		if r.move.Back || r.move.Done < through(&r.move.Plan, plan.StageSwap) {
			stage, _ := At(r.move)
			return fmt.Errorf("sqlmigrate: the move is in stage %s: want all stages before %s applied", stage, plan.StageFinish)
		}
		return r.toEnd(ctx)
	})
}

// Revert takes back what has been done.
func (r *Run) Revert(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		if !r.move.Back {
			if err := r.turn(ctx); err != nil {
				return err
			}
		}
		return r.toEnd(ctx)
	})
}

// toEnd removes the record after the last step.
func (r *Run) toEnd(ctx context.Context) error {
	if err := r.steps(ctx, len(tasks(r.move))); err != nil {
		return err
	}
	return r.driver.CloseMove(ctx, r.conn, r.move)
}

// open makes the connection the only one that is at the move, and reads how far
// it has come since the plan was made.
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
	if r.move, err = r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables); err != nil {
		return err
	}
	if r.move == nil {
		return errors.New("sqlmigrate: another process has brought the move to its end: inspect again")
	}
	return do()
}

// turn begins the way back, unless a check that stands at its beginning
// speaks against it.
func (r *Run) turn(ctx context.Context) error {
	back := *r.move
	all := tasks(&back)
	stage := len(back.Plan.Stages) - 1
	if back.Done < len(all) {
		stage = all[back.Done].stage
	}
	if last := len(back.Plan.Stages) - 1; stage == last {
		if back.Done > through(&back.Plan, plan.StageSwap) {
			return fmt.Errorf("sqlmigrate: there is no way back: %s", back.Plan.Stages[last].NoWayBack)
		}
		stage = last - 1
	}
	back.Back, back.From, back.Done, back.Position, back.Until, back.Copied, back.Rate = true, stage, 0, 0, 0, 0, 0
	for _, t := range tasks(&back) {
		if t.Kind != plan.Verify {
			break
		}
		if err := r.runStep(ctx, t, r.move, r.config.Settings); err != nil {
			return fmt.Errorf("sqlmigrate: %s: %w (nothing has been taken back)", t.Text, err)
		}
	}
	return r.save(ctx, &back)
}

// steps carries out those before the end.
func (r *Run) steps(ctx context.Context, end int) error {
	all := tasks(r.move)
	r.report.begin(r.move, all, end)
	for r.move.Done < end {
		t := all[r.move.Done]
		r.report.step(r.move, t, r.move.Done)
		err := ctx.Err()
		if err == nil {
			err = r.awaitLeave(ctx, t)
		}
		if err == nil {
			err = r.step(ctx, t)
		}
		if err != nil {
			return r.failure(t, engine.WithCause(ctx, err))
		}
	}
	r.report.over(end)
	return nil
}

func (r *Run) failure(t task, err error) error {
	of := ""
	if t.Table.Name != "" {
		of = ", table " + t.Table.String()
	}
	if t.Kind == plan.Verify && errors.As(err, &engine.DifferError{}) {
		err = fmt.Errorf("%w, by: %.500s", err, t.SQL[0])
	}
	what := "run the same again to resume, or revert"
	if r.move.Back {
		what = "revert again to resume"
	}
	return fmt.Errorf("sqlmigrate: stage %s%s, %s: %w (%d steps are done; %s)",
		r.stage(t), of, t.Text, err, r.move.Done, what)
}

func (r *Run) stage(t task) plan.StageName { return r.move.Plan.Stages[t.stage].Name }

func (r *Run) step(ctx context.Context, t task) error {
	if t.Kind == plan.Batches {
		return r.copy(ctx, t)
	}
	next := after(*r.move)
	if err := r.tried(ctx, t, next); err != nil {
		return err
	}
	r.move = next
	return nil
}

// runStep carries out a step, unless it is over already.
func (r *Run) runStep(ctx context.Context, t task, next *engine.Move, s engine.Settings) error {
	over := false
	if t.Unless != "" {
		// Not ctx: the end of a query ends the connection with some drivers.
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), t.Unless).Scan(&over); err != nil {
			return err
		}
	}
	if over {
		return r.driver.SaveMove(ctx, r.conn, next)
	}
	return r.driver.RunStep(ctx, r.conn, t.OnlineStep, next, s)
}

const repairs = 3 // of rows that differ, before it is an error

// tried carries out a step, again and again while it gets no lock.
func (r *Run) tried(ctx context.Context, t task, next *engine.Move) error {
	repaired := 0
	for tries := (engine.Tries{Limit: r.config.Patience}); ; {
		err := r.runStep(ctx, t, next, settingsOf(r.config.Settings, tries.Count))
		if err == nil || ctx.Err() != nil {
			return err
		}
		if errors.As(err, &engine.DifferError{}) && r.stage(t) == plan.StageConstrain && !r.move.Back && repaired < repairs {
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

const fullWait = 4 // the first try that waits as long as the option allows

// settingsOf a try, after so many that have failed. The first ones wait for their locks
// for a part of the time only: where transactions are short, that is enough, and
// everybody behind waits less.
func settingsOf(s engine.Settings, failed int) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(failed+1, fullWait))/fullWait)
	return s
}

// pause lets those through who have waited behind. Its jitter keeps the next try from
// meeting a job that comes again and again.
func pause() time.Duration { return 300*time.Millisecond + rand.N(300*time.Millisecond) }
