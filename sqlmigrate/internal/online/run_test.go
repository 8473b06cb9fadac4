package online_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A fake is a driver of online moves whose steps only count the calls, and fail as often
// as a test wants.
type fake struct {
	move   *engine.Move
	steps  int
	waits  []time.Duration              // the lock timeout of each try
	rows   []int                        // the rows of each batch
	begun  []time.Time                  // the begin of each batch
	busy   int                          // the number of tries that get no lock from now on
	differ int                          // the number of tries that find different rows from now on
	lag    []time.Duration              // the result of each call of Lag, and zero after that
	rate   float64                      // the rate that the move had at the last batch
	took   func(rows int) time.Duration // how long a batch takes
	table  int                          // number of rows of the table
	commit time.Duration                // how long the commit of a batch takes, as a part of took

	steering  plan.Steering
	running   int    // number of statements that run on the server
	afterStep func() // is called after each step that is no batch; may be nil
}

var (
	errBusy   = errors.New("no lock")
	errDiffer = engine.DifferError{Err: errors.New("rows differ")}
)

func (f *fake) PlanOnline(context.Context, *sql.Conn, []plan.Table) (*engine.OnlinePlan, error) {
	return nil, errors.New("not planned")
}

func (f *fake) LoadMove(context.Context, *sql.Conn, []plan.TableName) (*engine.Move, error) {
	if f.move == nil {
		return nil, nil
	}
	m := *f.move
	m.Steering = f.steering
	return &m, nil
}

func (f *fake) OpenMove(_ context.Context, _ *sql.Conn, m *engine.Move, _ engine.Settings) (func(error) error, error) {
	f.move = m
	return func(err error) error { return err }, nil
}

func (f *fake) SaveMove(_ context.Context, _ engine.Conn, m *engine.Move) error {
	f.move = m
	return nil
}

func (f *fake) CloseMove(context.Context, *sql.Conn, *engine.Move) error {
	f.move = nil
	return nil
}

// RunStep returns an error, and decrements f.busy or f.differ, while one of them is above
// 0. Otherwise it records the step as done.
func (f *fake) RunStep(_ context.Context, _ *sql.Conn, _ *plan.OnlineStep, next *engine.Move, s engine.Settings) error {
	f.waits = append(f.waits, s.LockTimeout)
	if f.busy > 0 {
		f.busy--
		return errBusy
	}
	if f.differ > 0 {
		f.differ--
		return errDiffer
	}
	f.steps++
	f.move = next
	if f.afterStep != nil {
		f.afterStep()
	}
	return nil
}

// RunBatch copies as many rows as it is asked for, in the time that f.took returns.
func (f *fake) RunBatch(_ context.Context, _ *sql.Conn, _ *plan.OnlineStep, next *engine.Move, rows int, _ engine.Settings) (engine.Batch, error) {
	f.rows, f.begun, f.rate = append(f.rows, rows), append(f.begun, time.Now()), next.Rate
	took := f.took(rows)
	time.Sleep(took)
	next.Position += int64(rows)
	next.Copied += int64(rows)
	f.move = next
	return engine.Batch{Copied: rows, Took: took, Commit: f.commit, Last: next.Position >= int64(f.table)}, nil
}

func (f *fake) Retry(_ context.Context, _ *sql.Conn, _ *plan.OnlineStep, err error) (bool, string) {
	return errors.Is(err, errBusy), "somebody"
}

func (f *fake) Steer(context.Context, *sql.Conn, *engine.Move) error { return nil }

func (f *fake) Running(context.Context, *sql.Conn) (int, error) { return f.running, nil }

// Lag returns the next value of f.lag, or an error if the value is unanswered.
func (f *fake) Lag(context.Context, *sql.Conn, *engine.Move, []*sql.DB) (time.Duration, error) {
	if len(f.lag) == 0 {
		return 0, nil
	}
	if f.lag[0] == unanswered {
		f.lag = f.lag[1:]
		return 0, engine.ReplicaError{Number: 2, Err: errBusy}
	}
	lag := f.lag[0]
	f.lag = f.lag[1:]
	return lag, nil
}

const unanswered = -1 // a lag that means that the replica did not answer

// newMove returns a move with one step in each of the stages prepare, copy and swap, and
// two in the last stage.
func newMove() engine.Move {
	step := func(kind plan.StepKind) []plan.OnlineStep {
		return []plan.OnlineStep{{Text: string(kind), Kind: kind}}
	}
	return engine.Move{Plan: engine.OnlinePlan{Tables: []plan.TableName{{Name: "t"}}, Stages: []plan.Stage{
		{Name: plan.StagePrepare, Steps: step(plan.Short), Back: step(plan.Short)},
		{Name: plan.StageCopy, Steps: step(plan.Batches)},
		{Name: plan.StageSwap, Steps: step(plan.Short), Back: append(step(plan.Verify), step(plan.Short)...)},
		{Name: plan.StageFinish, Steps: append(step(plan.Short), step(plan.Short)...), NoWayBack: "it is gone"},
	}}}
}

// newFake returns a driver for a table of 100,000 rows that copies 20,000 rows in a
// second.
func newFake() *fake {
	return &fake{table: 100_000, took: func(rows int) time.Duration { return time.Duration(rows) * 50 * time.Microsecond }}
}

// run returns a run of a new move.
func (f *fake) run(c online.Config) *online.Run { return online.New(f, nil, nil, newMove(), c) }

// The size of a batch adapts until a batch takes about as long as the allowed stall, which
// is 50 ms. After each batch, the copy rests for as long as the batch took.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		if err := f.run(online.Defaults()).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := len(f.rows) - 2 // the last batch that is followed by another
		if f.rows[0] != 50 || f.rows[last] < 900 || f.rows[last] > 1000 {
			t.Errorf("batches of %v rows, want 50 at first and 1,000 at last", f.rows)
		}
		if f.rate < 5000 || f.rate > 11_000 {
			t.Errorf("a rate of %v, want nearly 1,000 rows in each 100 ms", f.rate)
		}
		if gap := f.begun[last+1].Sub(f.begun[last]); gap < 90*time.Millisecond {
			t.Errorf("batches of 50 ms begin every %v, want 100 ms", gap)
		}
	})
}

// At the polite pace, the copy pauses after a batch for as long as the batch took, and longer
// if the commit took more than a fifth of the allowed stall. At full pace, it pauses only if
// the commit took longer than the stall, and for the excess. The allowed stall is 50 ms.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		pace         plan.Pace
		took, commit time.Duration // of each batch, where a stall of 50 ms is allowed
		want         time.Duration
	}{
		{"polite", plan.PacePolite, 40 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond},
		{"polite, slow disk", plan.PacePolite, 40 * time.Millisecond, 15 * time.Millisecond, 50 * time.Millisecond},
		{"full", plan.PaceFull, 80 * time.Millisecond, 50 * time.Millisecond, 0},
		{"full, slow disk", plan.PaceFull, 80 * time.Millisecond, 70 * time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(), online.Defaults()
				f.table, f.took, f.commit = 1000, func(int) time.Duration { return test.took }, test.commit
				c.Settings.Pace = test.pace
				if err := f.run(c).Apply(t.Context()); err != nil {
					t.Fatal(err)
				}
				if pause := f.begun[1].Sub(f.begun[0]) - test.took; pause != test.want {
					t.Errorf("a pause of %v, want %v", pause, test.want)
				}
			})
		})
	}
}

// At full pace the size of a batch does not depend on how long commits take. At the polite
// pace, the time of a commit counts, so that batches are smaller.
func TestPaceWithSlowCommits(t *testing.T) {
	t.Parallel()
	for pace, want := range map[plan.Pace]int{plan.PacePolite: 400, plan.PaceFull: 1000} {
		t.Run(string(pace), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(), online.Defaults()
				f.commit = 30 * time.Millisecond
				f.took = func(rows int) time.Duration { return f.commit + time.Duration(rows)*50*time.Microsecond }
				c.Settings.Pace = pace
				if err := f.run(c).Apply(t.Context()); err != nil {
					t.Fatal(err)
				}
				if last := f.rows[len(f.rows)-2]; last < want*9/10 || last > want {
					t.Errorf("batches of %d rows at last, want %d", last, want)
				}
			})
		})
	}
}

// When a batch takes long, for example because the disk has become slow, the next batch
// is smaller at once, and its number of rows stays within the bounds.
func TestPaceShrinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		n := 0
		f.took = func(int) time.Duration {
			if n++; n == 20 { // the batch f.rows[19]
				return time.Second
			}
			return time.Millisecond
		}
		if err := f.run(online.Defaults()).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.rows[20] > f.rows[19]/3 {
			t.Errorf("after a batch of a second, %d rows become %d", f.rows[19], f.rows[20])
		}
		for _, rows := range f.rows {
			if rows < 50 || rows > 10_000 {
				t.Errorf("a batch of %d rows", rows)
			}
		}
	})
}

// The copy waits while a replica is behind, or does not answer any more. A replica that
// does not answer at the first check is an error, because its address may be wrong.
func TestLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		// 10 seconds are allowed, so that the fourth check ends the wait.
		f.lag = []time.Duration{11 * time.Second, unanswered, 12 * time.Second, 9 * time.Second}
		var waited []string
		c := online.Defaults()
		c.Progress = func(p plan.OnlineProgress) {
			if p.Waiting != "" {
				waited = append(waited, p.Waiting)
			}
		}
		begun := time.Now()
		if err := f.run(c).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(waited) != 3 || waited[0] != "a replica that is 11s behind: want 10s at most" || waited[1] != "replica 2: no lock" || f.begun[0].Sub(begun) < 3*time.Second || f.move.Waits != 1 {
			t.Errorf("it waited for %q, and the first batch began after %v", waited, f.begun[0].Sub(begun))
		}
		f = newFake()
		f.lag = []time.Duration{unanswered}
		if err := f.run(online.Defaults()).Apply(t.Context()); !errors.Is(err, errBusy) || len(f.rows) > 0 {
			t.Errorf("a replica that has never answered: %v, %d batches, want an error at once", err, len(f.rows))
		}
	})
}

// The first tries of a step wait for a lock for a shorter time than later tries. If a step
// does not get its lock for ten minutes, Apply returns an error, and no step is done.
func TestTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.busy = 9
		if err := f.run(online.Defaults()).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The lock timeout is 200 ms. The tenth try gets the lock.
		for i, want := range []time.Duration{25, 50, 75, 100, 125, 150, 175, 200, 200, 200} {
			if f.waits[i] != want*time.Millisecond {
				t.Errorf("tries wait for %v", f.waits)
				break
			}
		}
		f = newFake()
		f.busy = 1_000_000
		begun := time.Now()
		err := f.run(online.Defaults()).Apply(t.Context())
		if took := time.Since(begun); !errors.Is(err, errBusy) || took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
		if f.steps != 0 || f.move.Done != 0 {
			t.Errorf("%d steps, %+v", f.steps, f.move)
		}
	})
}

// If stage constrain finds rows that differ between a table and its copy, Apply copies all
// rows again, but at most three times. If the fourth comparison still finds such rows, Apply
// returns an error.
func TestDiffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			differ int // how often the comparison finds different rows
			want   error
		}{{3, nil}, {4, errDiffer}} {
			f := newFake()
			c := online.Defaults()
			c.Last = plan.StageCopy
			if err := f.run(c).Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			batches := len(f.rows) // of one copy of all rows
			// Stage constrain follows stage copy.
			f.move.Plan.Stages = slices.Insert(f.move.Plan.Stages, 2, plan.Stage{
				Name: plan.StageConstrain, Steps: []plan.OnlineStep{{Text: "compare", Kind: plan.Verify, SQL: []string{"SELECT 0"}}},
			})
			f.differ = test.differ
			err := f.run(online.Defaults()).Apply(t.Context())
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), "compare: rows differ, by: SELECT 0 (") {
				t.Errorf("%d times: %v, want %v", test.differ, err, test.want)
			}
			if len(f.rows) < 4*batches-4 {
				t.Errorf("%d batches, and %d after three repairs", batches, len(f.rows))
			}
		}
	})
}

// If a step of a stage other than constrain finds rows that differ, Apply returns an error
// at once, and copies no rows.
func TestDiffersElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.differ = 1
		if err := f.run(online.Defaults()).Apply(t.Context()); !errors.Is(err, errDiffer) || len(f.rows) > 0 {
			t.Errorf("%v, %d batches, want an error at once", err, len(f.rows))
		}
	})
}

// Revert first compares the rows. If rows differ, it fails, and the move can still go
// forwards. Revert also fails if a step of the last stage is done, because this stage has no
// way back. Otherwise it takes all stages back.
func TestWayBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		if err := f.run(online.Defaults()).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.differ = 1
		err := f.run(online.Defaults()).Revert(t.Context())
		if !errors.Is(err, errDiffer) || f.move.Back {
			t.Errorf("%v, %+v", err, f.move)
		}
		f.move.Done++ // as if the first step of the last stage were done
		if err := f.run(online.Defaults()).Revert(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no way back: it is gone") {
			t.Errorf("%v", err)
		}
		f.move.Done--
		f.steps = 0
		// 4 steps run: the check before the way back begins, the check again as its first step,
		// and a step each of the swap and of stage prepare.
		if err := f.run(online.Defaults()).Revert(t.Context()); err != nil || f.move != nil || f.steps != 4 {
			t.Errorf("%v, %+v, %d steps", err, f.move, f.steps)
		}
	})
}

// The remaining time is the sum of the estimates of the steps until the end of the swap, or
// of the way back. The second step copies 1,000 rows. If some of these rows have been
// copied, only the rest of the step's time counts. If the move has a measured rate, this
// rate gives the time of the rest.
func TestLeft(t *testing.T) {
	t.Parallel()
	m := newMove()
	for i := range m.Plan.Stages {
		for j := range m.Plan.Stages[i].Steps {
			m.Plan.Stages[i].Steps[j].Estimate = time.Minute
		}
		for j := range m.Plan.Stages[i].Back {
			m.Plan.Stages[i].Back[j].Estimate = time.Second
		}
	}
	m.Plan.Stages[1].Steps[0].Rows = 1000
	for _, test := range []struct {
		done, from int  // completed steps and, on the way back, the index of the stage where it began
		back       bool // whether the move is on the way back
		copied     int64
		rows       int64         // the expected number of rows of the next step
		took       time.Duration // the expected time
		rate       float64
	}{
		{0, 0, false, 0, 0, 3 * time.Minute, 0},
		{1, 0, false, 0, 1000, 2 * time.Minute, 0},
		{1, 0, false, 250, 1000, time.Minute + 45*time.Second, 0},
		{1, 0, false, 1100, 1000, time.Minute, 0},
		{3, 0, false, 0, 0, 0, 0},
		{4, 0, false, 0, 0, 0, 0},
		{0, 2, true, 0, 0, 3 * time.Second, 0},
		{3, 2, true, 0, 0, 0, 0},
		{1, 0, false, 250, 1000, time.Minute + 15*time.Second, 50},
	} {
		m.Done, m.From, m.Back, m.Copied, m.Rate = test.done, test.from, test.back, test.copied, test.rate
		if rows, took := online.Left(&m); rows != test.rows || took != test.took {
			t.Errorf("%+v: %d rows, %v", test, rows, took)
		}
	}
}
