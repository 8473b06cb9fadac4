package online_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An operator pauses a move, holds its swap, restricts it to certain hours, or limits it by
// the number of statements that run on the server. Each of these requests makes the move wait
// before one of its steps, until the operator withdraws the request.
func TestSteering(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		wanted  plan.Steering
		running int    // number of statements that run on the server
		batches bool   // whether rows are copied before it waits
		waiting string // part of the reason
	}{
		{"paused", plan.Steering{Paused: true}, 0, false, "the end of a pause"},
		{"held before the swap", plan.Steering{HoldSwap: true}, 0, true, "permission to swap"},
		// The clock of synctest begins at midnight in UTC.
		{"at other hours", plan.Steering{Between: plan.Hours{From: 20 * time.Hour, To: 21 * time.Hour}}, 0, false, "its hours, 20:00-21:00"},
		{"under load", plan.Steering{MaxRunning: 3}, 4, false, "4 statements are running, want 3 at most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(), online.Defaults()
				f.steering, f.running = test.wanted, test.running
				waits := 0
				c.Progress = func(p plan.OnlineProgress) {
					if p.Waiting == "" {
						return
					}
					if !strings.Contains(p.Waiting, test.waiting) || test.batches != (len(f.rows) > 0) || test.batches != (p.Stage == plan.StageSwap) {
						t.Errorf("it waits before %s, after %d batches, for %s", p.Stage, len(f.rows), p.Waiting)
					}
					if waits++; waits == 30 {
						f.steering = plan.Steering{}
					}
				}
				begun := time.Now()
				if err := f.run(c).Apply(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); waits != 30 || took < 30*time.Second {
					t.Errorf("it waited %d times, and took %v; want 30 times, once a second", waits, took)
				}
			})
		})
	}
}

// An operator can hold the swap of a table of any size. A run reads the requests of the
// operator once a second, and the copy of a small table may take less than that. So the run
// must read the requests again before the swap.
func TestHoldSwapOfSmallTables(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{10, 20_000, 95_000} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(), online.Defaults()
				f.table, f.steering.HoldSwap = rows, true
				waits := 0
				c.Progress = func(p plan.OnlineProgress) {
					if strings.Contains(p.Waiting, "permission to swap") {
						waits++
						f.steering.HoldSwap = waits < 5
					}
				}
				if err := f.run(c).Apply(t.Context()); err != nil || waits != 5 {
					t.Errorf("Apply = %v, after it has waited %d times for the permission, want 5", err, waits)
				}
			})
		})
	}
}

// Of the requests of an operator, only a pause makes Revert wait. The others apply to the way
// forwards, and must not hold up the way back.
func TestSteeringOfTheWayBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(), online.Defaults()
		if err := f.run(c).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.steering, f.running = plan.Steering{Paused: true, HoldSwap: true, Between: plan.Hours{From: 20 * time.Hour, To: 21 * time.Hour}, MaxRunning: 1}, 5
		c.Progress = func(p plan.OnlineProgress) {
			if p.Waiting != "" {
				f.steering.Paused = false
			}
		}
		if err := f.run(c).Revert(t.Context()); err != nil || f.move != nil || f.steering.Paused {
			t.Errorf("Revert = %v, and left %+v; it waited for the pause: %v", err, f.move, !f.steering.Paused)
		}
	})
}

// An operator can request a shorter stall, which makes the batches smaller. When the operator
// withdraws the request, the stall of the configuration counts again.
func TestSteeringOfThePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(), online.Defaults()
		begun := time.Now()
		c.Progress = func(plan.OnlineProgress) {
			f.steering.Stall = 0
			if at := time.Since(begun); at > 3*time.Second && at < 6*time.Second {
				f.steering.Stall = 5 * time.Millisecond
			}
		}
		if err := f.run(c).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		largest := f.rows[0] // of the batches that have adapted to the shorter stall
		for i, at := range f.begun {
			if after := at.Sub(begun); after > 4*time.Second+time.Second/2 && after < 6*time.Second {
				largest = max(largest, f.rows[i])
			}
		}
		if last := f.rows[len(f.rows)-2]; largest > 110 || last < 900 {
			t.Errorf("batches of up to %d rows, and then of %d; want 100, and then 1,000", largest, last)
		}
	})
}

// An operator can request full pace, at which the copy does not rest. When the operator
// withdraws the request, the pace of the configuration counts again.
func TestSteeringToFullPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(), online.Defaults()
		begun := time.Now()
		c.Progress = func(plan.OnlineProgress) {
			f.steering.Pace = ""
			if at := time.Since(begun); at > 3*time.Second && at < 6*time.Second {
				f.steering.Pace = plan.PaceFull
			}
		}
		if err := f.run(c).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		batches := map[time.Duration]int{} // by the second in which they begin
		for _, at := range f.begun {
			batches[at.Sub(begun)/time.Second]++
		}
		if batches[2] > 12 || batches[5] < 18 || batches[8] > 12 {
			t.Errorf("batches by second: %v; want 10 a second, and 20 in second 5", batches)
		}
	})
}

// Hours may extend over midnight. Their beginning belongs to them, and their end does
// not.
func TestHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		in   []string
		out  []string
	}{
		{"22:00-06:00", []string{"22:00", "23:59", "00:00", "05:59"}, []string{"06:00", "12:00", "21:59"}},
		{"09:30-17:00", []string{"09:30", "16:59"}, []string{"09:29", "17:00", "00:00"}},
	} {
		hours, err := plan.ParseHours(test.text)
		if err != nil || hours.String() != test.text {
			t.Errorf("ParseHours(%q) = %v, %v", test.text, hours, err)
		}
		for _, clock := range append(test.in, test.out...) {
			at, err := time.Parse("15:04", clock)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Contains(strings.Join(test.in, " "), clock)
			if got := hours.Contains(at); got != want {
				t.Errorf("%s contains %s: %v, want %v", test.text, clock, got, want)
			}
		}
	}
	for _, text := range []string{"", "22:00", "22-06", "25:00-06:00", "22:00-22:00", "22:00-06:00-07:00"} {
		if _, err := plan.ParseHours(text); err == nil || !strings.Contains(err.Error(), "want two times of the day, as 22:00-06:00") {
			t.Errorf("ParseHours(%q): %v", text, err)
		}
	}
	if !(plan.Hours{}).Contains(time.Now()) {
		t.Error("the zero value is not the whole day")
	}
}

// checkedMove returns a move whose stage swap has, before the swap, a step for a counter and a
// check.
func checkedMove() engine.Move {
	m := newMove()
	swap := &m.Plan.Stages[2]
	swap.Steps = append([]plan.OnlineStep{{Text: "counter", Kind: plan.Short}, {Text: "check", Kind: plan.Verify}}, swap.Steps...)
	return m
}

// A pause that begins after the first step of stage swap holds the swap no more, because a table
// could be changed between the check and the swap.
func TestSwapDoesNotWaitAfterItsCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(), online.Defaults()
		// The steps before the swap are the step of stage prepare, the counter and the check.
		f.afterStep = func() { f.steering.Paused = f.steps == 2 || f.steps == 3 }
		c.Progress = func(p plan.OnlineProgress) {
			if p.Waiting != "" {
				t.Errorf("it waits before %s, for %s", p.Stage, p.Waiting)
				f.steering.Paused = false
			}
		}
		if err := online.New(f, nil, nil, checkedMove(), c).Apply(t.Context()); err != nil || f.steps != 4 {
			t.Errorf("Apply = %v, after %d steps, want 4", err, f.steps)
		}
	})
}

// A run that continues between the check of a table and the swap repeats the check, because the
// table may have been changed since the earlier run.
func TestResumedSwapChecksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), checkedMove()
		m.Done = 4 // the steps of the stages prepare and copy, the counter and the check
		f.move = &m
		if err := online.New(f, nil, nil, m, online.Defaults()).Apply(t.Context()); err != nil || f.steps != 3 {
			t.Errorf("Apply = %v, after %d steps, want the counter, the check and the swap", err, f.steps)
		}
	})
}

// An operator who holds the swap after it has begun does not hold the steps that follow in the
// same stage, as on PostgreSQL, where they validate foreign keys.
func TestHoldAfterTheSwap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m, c := newFake(), newMove(), online.Defaults()
		m.Plan.Stages[2].Steps = append(m.Plan.Stages[2].Steps, plan.OnlineStep{Text: "validate", Kind: plan.Long})
		f.afterStep = func() { f.steering.HoldSwap = f.steps == 2 } // after the step of stage prepare and the swap
		c.Progress = func(p plan.OnlineProgress) {
			if p.Waiting != "" {
				t.Errorf("it waits before %s, for %s", p.Stage, p.Waiting)
				f.steering.HoldSwap = false
			}
		}
		if err := online.New(f, nil, nil, m, c).Apply(t.Context()); err != nil || f.steps != 3 {
			t.Errorf("Apply = %v, after %d steps, want 3", err, f.steps)
		}
	})
}
