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
	now      plan.OnlineProgress
	all      []task // the steps of the move in its direction
	end      int    // the number of steps after which this call ends

	spent, planned time.Duration // the time of the steps that this call completed, and their planned time
	stepBegun      time.Time     // when the present step began

	copyBegun  time.Time // when the present copy began, and how many rows had been copied then
	copiedThen int64
	last       time.Time // when the copy was last reported
}

// begin sets all steps of the move in its direction, of which the run does those from
// m.Done to end.
func (r *reporter) begin(m *engine.Move, all []task, end int) {
	r.all, r.end, r.stepBegun = all, end, time.Time{}
	r.now.Done, r.now.Of = m.Done, end
}

// step reports t, which is about to begin. done is the number of completed steps.
func (r *reporter) step(m *engine.Move, t task, done int) {
	r.addTime(done)
	r.now = plan.OnlineProgress{
		Stage: m.Plan.Stages[t.stage].Name, Table: t.Table, Step: t.Text, SQL: t.SQL, Done: done, Of: r.end, Rows: m.Copied,
	}
	r.estimate(m)
	r.send()
}

// addTime adds the time of the step that has just ended, which is the last of the done
// steps, to the totals. It adds nothing before the first step of this call.
func (r *reporter) addTime(done int) {
	if !r.stepBegun.IsZero() && done > 0 {
		r.spent += time.Since(r.stepBegun)
		r.planned += r.all[done-1].Estimate
	}
	r.stepBegun = time.Now()
}

// estimate computes the remaining time. If the completed steps took longer or shorter
// than planned, it corrects the plan's estimates by the same factor.
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

// copied reports the copy after a batch, but at most once a second. batch is the number
// of rows of the next batch. It also measures the rate of the copy.
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

// waiting reports that the run waits, and for what.
func (r *reporter) waiting(what string) {
	r.now.Waiting = what
	r.send()
	r.now.Waiting = ""
}

// finished reports that all steps up to end are done.
func (r *reporter) finished(end int) {
	r.now = plan.OnlineProgress{Done: end, Of: end}
	r.send()
}

// send calls the progress function of the caller.
func (r *reporter) send() {
	r.now.Elapsed = time.Since(r.begun)
	r.callback(r.now)
}
