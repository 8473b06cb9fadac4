package online

import (
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A reporter computes the progress of a run, and calls callback, the progress function of
// the caller.
type reporter struct {
	callback func(plan.OnlineProgress)
	begun    time.Time
	now      plan.OnlineProgress // the progress that send passes to callback
	all      []task              // the steps of the move in its direction
	end      int                 // the number of steps after which this call ends

	spent, planned time.Duration // the time of the steps that this call has completed, with their waits, and the plan's estimate for these steps
	stepBegun      time.Time     // when the present step began

	copyBegun  time.Time // when this call began the present copy
	copiedThen int64     // how many rows had been copied at copyBegun
	last       time.Time // when the copy was last reported
}

// begin prepares for the steps that the run is about to do. all are the steps of the move in
// its present direction. The run does the steps from index m.Done to end-1.
func (r *reporter) begin(m *engine.Move, all []task, end int) {
	r.all, r.end, r.stepBegun = all, end, time.Time{}
	r.now.Done, r.now.Of = m.Done, end
}

// step reports that step t is about to begin, and counts the time of the step before it. done
// is the number of completed steps.
func (r *reporter) step(m *engine.Move, t task, done int) {
	r.addTime(done)
	r.now = plan.OnlineProgress{
		Stage: m.Plan.Stages[t.stage].Name, Table: t.Table, Step: t.Text, SQL: t.SQL, Done: done, Of: r.end, Rows: m.Copied,
	}
	r.estimate(m)
	r.send()
}

// addTime adds the time of the step that has just ended to the totals, and sets the beginning
// of the next step. done is the number of completed steps, so the step that has ended has
// index done-1. addTime adds nothing before the first step of this call.
func (r *reporter) addTime(done int) {
	if !r.stepBegun.IsZero() && done > 0 {
		r.spent += time.Since(r.stepBegun)
		r.planned += r.all[done-1].Estimate
	}
	r.stepBegun = time.Now()
}

// estimate computes the remaining time, and the number of rows of the present step. If the
// completed steps took longer or shorter than planned, it corrects the plan's estimates for
// the remaining steps by the same factor.
func (r *reporter) estimate(m *engine.Move) {
	factor := 1.0
	if r.planned > time.Second { // shorter steps say little about the speed of the server
		factor = float64(r.spent) / float64(r.planned)
	}
	r.now.OfRows, r.now.Remaining = remaining(m, r.all[:r.end], factor)
}

// beginCopy sets the start from which the rate of a copy is measured.
func (r *reporter) beginCopy(m *engine.Move) {
	r.copyBegun, r.copiedThen, r.last = time.Now(), m.Copied, time.Now()
}

// copied reports the progress of the copy after a batch, but at most once a second. batch is
// the number of rows of the next batch. It also sets m.Rate to the rate of the copy in this
// call, which the next batch records with the move.
func (r *reporter) copied(m *engine.Move, batch int) {
	if time.Since(r.last) < time.Second {
		return
	}
	r.last = time.Now()
	m.Rate = float64(m.Copied-r.copiedThen) / time.Since(r.copyBegun).Seconds()
	r.now.Rows, r.now.Rate, r.now.Batch, r.now.Waiting = m.Copied, m.Rate, batch, ""
	r.estimate(m)
	r.send()
}

// waiting reports that the run waits for an event, for example for "a lock, after 2 tries: "
// and a description of the session that holds it.
func (r *reporter) waiting(event string) {
	r.now.Waiting = event
	r.send()
	r.now.Waiting = ""
}

// finished reports that end steps are done, which is the end of this call.
func (r *reporter) finished(end int) {
	r.now = plan.OnlineProgress{Done: end, Of: end}
	r.send()
}

// send passes r.now to the progress function of the caller.
func (r *reporter) send() {
	r.now.Elapsed = time.Since(r.begun)
	r.callback(r.now)
}
