// Package online runs an online move. The methods of sqlmigrate's OnlinePlan create a
// [Run], and call its Apply, Finish or Revert. A Run chooses the next step of the plan,
// and an [engine.Online], the driver of the database, runs it. The Run resumes a stored
// move, tries a step again that did not get its lock in time, and waits for replicas and
// for operators. It adapts the size of the batches to the time that they block programs.
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

// ErrNoMove is the error of operations that need a move that has begun.
var ErrNoMove = errors.New("sqlmigrate: no online move of these tables is under way")

// A Config holds the options of a call of Apply, Finish or Revert.
type Config struct {
	Smallest, Largest int           // bounds of the number of rows in a batch
	Stall             time.Duration // how long a batch may take
	MaxLag            time.Duration // how far a replica may be behind; zero means no limit
	Replicas          []*sql.DB     // replicas that the primary does not know
	Patience          time.Duration // how long a step is tried again if it gets no lock
	Last              plan.StageName
	Progress          func(plan.OnlineProgress)
	Settings          engine.Settings
}

// Defaults returns the defaults that the options of sqlmigrate document.
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

	stall    time.Duration // the value of WithStall, which Steering can replace in config
	asked    time.Time     // when the run last found that it need not wait
	answered bool          // whether the replicas have answered
	behind   bool          // whether a replica was too far behind at the last check
}

// New returns a run of the move that contains any of the tables. If the database has no
// such move when the run starts, it begins m.
func New(driver engine.Online, conn *sql.Conn, tables []plan.TableName, m engine.Move, c Config) *Run {
	return &Run{driver: driver, conn: conn, tables: tables, move: &m, config: c, report: &reporter{fn: c.Progress, begun: time.Now()}, stall: c.Stall}
}

// Apply runs the stages up to config.Last. It returns without an error if the plan is
// empty.
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

// Finish runs the last stage, and then deletes the record of the move. It returns an
// error unless all stages before the last are done.
func (r *Run) Finish(ctx context.Context) error {
	return r.open(ctx, false, func() error {
		if r.move.Back || r.move.Done < through(&r.move.Plan, plan.StageSwap) {
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
			if err := r.turn(ctx); err != nil {
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

// open acquires the exclusive right to run the move, reads its present progress, and
// calls do. If begin is true and the move has not begun, open records it.
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

// turn makes the move go backwards. First it runs the Verify steps at the beginning of
// the way back. If such a step fails, the move continues in its present direction.
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

// steps runs the steps of the move until end steps are done.
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

// runStep runs a step, or only records it if its Unless query shows that it has been
// done.
func (r *Run) runStep(ctx context.Context, t task, next *engine.Move, s engine.Settings) error {
	over := false
	if t.Unless != "" {
		// ctx is not used, because some drivers close the connection when it ends during
		// a query.
		if err := r.conn.QueryRowContext(context.WithoutCancel(ctx), t.Unless).Scan(&over); err != nil {
			return err
		}
	}
	if over {
		return r.driver.SaveMove(ctx, r.conn, next)
	}
	return r.driver.RunStep(ctx, r.conn, t.OnlineStep, next, s)
}

const repairs = 3 // how often rows that differ are copied again before the step fails

// tried runs a step, and repeats it while it fails for lack of a lock. If a step of stage
// constrain finds rows that differ, tried copies the rows again.
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

const fullWait = 4 // the number of the first try that waits for the whole lock timeout

// settingsOf returns the settings of the next try after failed tries. The first tries
// wait for only a part of the lock timeout. If transactions are short, that is
// sufficient, and programs that wait behind the step wait less.
func settingsOf(s engine.Settings, failed int) engine.Settings {
	s.LockTimeout = max(time.Millisecond, s.LockTimeout*time.Duration(min(failed+1, fullWait))/fullWait)
	return s
}

// pause returns how long to wait before the next try, so that the programs that waited
// behind the step can proceed. The length is random, because otherwise the tries could
// coincide with a program that runs at regular intervals.
func pause() time.Duration { return 300*time.Millisecond + rand.N(300*time.Millisecond) }
