package online

import (
	"slices"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A task is a step with the index of its stage in the plan.
type task struct {
	stage int
	*plan.OnlineStep
}

// tasks returns all steps of m in its present direction, including the steps that are done.
// Forwards these are the steps of all stages. On the way back they are the Back steps of the
// stage with which the way back began, and of the stages before it.
func tasks(m *engine.Move) []task {
	if m.Back {
		return backTasks(m, m.From, 0)
	}
	var all []task
	for i, stage := range m.Plan.Stages {
		all = appendTasks(all, i, stage.Steps)
	}
	return all
}

// appendTasks adds steps, which are of the stage with this index, to all.
func appendTasks(all []task, stage int, steps []plan.OnlineStep) []task {
	for i := range steps {
		all = append(all, task{stage, &steps[i]})
	}
	return all
}

// withStepDone returns m with one more step done, and without the position and the rate of
// the copy, because the next step has processed no rows.
func withStepDone(m engine.Move) *engine.Move {
	m.Done, m.Position, m.Until, m.Copied, m.Rate = m.Done+1, 0, 0, 0, 0
	return &m
}

// stepsThrough returns the number of steps, forwards, of the stages up to and including the
// stage last, or of all stages if there is no such stage.
func stepsThrough(p *engine.OnlinePlan, last plan.StageName) int {
	n := 0
	for _, stage := range p.Stages {
		n += len(stage.Steps)
		if stage.Name == last {
			return n
		}
	}
	return n
}

// At returns the stage of the next step, and the number of all steps in the present direction
// of m. The stage is empty if all steps are done.
func At(m *engine.Move) (stage plan.StageName, total int) {
	all := tasks(m)
	if m.Done < len(all) {
		stage = m.Plan.Stages[all[m.Done].stage].Name
	}
	return stage, len(all)
}

// Left returns the number of rows of the next step, if it works in batches, and the
// estimated time until the end of the swap or of Revert. The estimate uses the measured
// rate for the next step, and the plan's estimates for the steps after it.
func Left(m *engine.Move) (rows int64, estimate time.Duration) {
	all := tasks(m)
	// Steps of the last stage do not count, because they run only when a user calls Finish.
	// If some of them are done, nothing is left.
	if !m.Back {
		all = all[:max(m.Done, stepsThrough(&m.Plan, plan.StageSwap))]
	}
	return remaining(m, all, 1)
}

// remaining returns the number of rows of the next step, if it works in batches, and the
// estimated time of all steps in all that are not done yet. factor corrects the estimates of
// the plan. For example, 2 means that steps take twice as long as planned.
func remaining(m *engine.Move, all []task, factor float64) (rows int64, estimate time.Duration) {
	for i, t := range all[min(m.Done, len(all)):] {
		part, whole := 1.0, float64(t.Estimate)*factor // the part of the step that is not done, and the time of the whole step
		// The batches of the next step may have copied some of its rows already.
		if i == 0 && t.Kind == plan.Batches && t.Rows > 0 {
			rows, part = t.Rows, max(0, 1-float64(m.Copied)/float64(t.Rows))
			if m.Rate > 0 {
				whole = float64(t.Rows) / m.Rate * float64(time.Second)
			}
		}
		estimate += time.Duration(part * whole)
	}
	return rows, estimate
}

// Swapped reports whether the swap is done, after which the new columns have the names of
// the old columns, and has not been taken back. If Revert begins in stage swap but before the
// swap itself, Swapped also returns true until the steps that take back stage swap are done.
func Swapped(m *engine.Move) bool {
	swap := slices.IndexFunc(m.Plan.Stages, func(s plan.Stage) bool { return s.Name == plan.StageSwap })
	if m.Back {
		// The way back began in stage swap or after it, and the steps that take back stage
		// swap, and the stages after it, are not all done.
		return m.From >= swap && m.Done < len(backTasks(m, m.From, swap))
	}
	return m.Done >= stepsThrough(&m.Plan, plan.StageSwap)
}

// backTasks returns the steps that take back the stages from index from down to index to. A
// negative to, the index of a stage that the plan does not have, means down to the first stage.
func backTasks(m *engine.Move, from, to int) []task {
	var all []task
	for i := from; i >= max(to, 0); i-- {
		all = appendTasks(all, i, m.Plan.Stages[i].Back)
	}
	return all
}
