package online

import (
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A reporter calls the function that the caller has given for progress.
type reporter struct {
	fn    func(plan.OnlineProgress)
	begun time.Time
	now   plan.OnlineProgress
	all   []task
	end   int

	spent, planned time.Duration // of the steps of this call that are over
	stepBegun      time.Time

	copyBegun  time.Time // and how many rows had been copied then
	copiedThen int64
	last       time.Time // report of a copy
}

func (r *reporter) begin(m *engine.Move, all []task, end int) {
	r.all, r.end, r.stepBegun = all, end, time.Time{}
	r.now.Done, r.now.Of = m.Done, end
}

// step is before each.
func (r *reporter) step(m *engine.Move, t task, done int) {
	r.passed(done)
	r.now = plan.OnlineProgress{
		Stage: m.Plan.Stages[t.stage].Name, Table: t.Table, Step: t.Text, SQL: t.SQL, Done: done, Of: r.end, Rows: m.Copied,
	}
	r.estimate(m)
	r.send()
}

// passed notes what the step before took.
func (r *reporter) passed(done int) {
	if !r.stepBegun.IsZero() && done > 0 {
		r.spent += time.Since(r.stepBegun)
		r.planned += r.all[done-1].Estimate
	}
	r.stepBegun = time.Now()
}

// estimate goes by what the steps before took.
func (r *reporter) estimate(m *engine.Move) {
	factor := 1.0
	if r.planned > time.Second {
		factor = float64(r.spent) / float64(r.planned)
	}
	r.now.OfRows, r.now.Remaining = left(m, r.all[:r.end], factor)
}

// beginCopy notes from where the rate is measured.
func (r *reporter) beginCopy(m *engine.Move) {
	r.copyBegun, r.copiedThen, r.last = time.Now(), m.Copied, time.Now()
}

// copied is after each batch, and reports each second.
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

func (r *reporter) waiting(what string) {
	r.now.Waiting = what
	r.send()
	r.now.Waiting = ""
}

func (r *reporter) over(end int) {
	r.now = plan.OnlineProgress{Done: end, Of: end}
	r.send()
}

func (r *reporter) send() {
	r.now.Elapsed = time.Since(r.begun)
	r.fn(r.now)
}
