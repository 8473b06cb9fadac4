package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// askInterval is how often a run reads the lag of the replicas and its steering. The steering
// holds the requests of an operator, for example to pause. It is stored with the move in the
// database.
const askInterval = time.Second

// waitUntilAllowed waits while there is a reason to wait before the step t, such as a
// request of an operator, or a replica that is behind. It is called before each step, and
// before each batch of a step.
func (r *Run) waitUntilAllowed(ctx context.Context, t task) error {
	for r.hasToAsk(t) {
		reason, err := r.reasonToWait(ctx, t)
		if err != nil {
			return err
		}
		if reason == "" {
			r.allowed, r.allowedAt = t, time.Now()
			return nil
		}
		r.report.waiting(reason)
		if err := engine.Sleep(ctx, askInterval); err != nil {
			return err
		}
	}
	return nil
}

// hasToAsk reports whether waitUntilAllowed has to look for a reason to wait before t. It has to
// before the first step of a stage, because a reason may concern only this stage. For example, an
// operator may hold the swap of a table whose copy took less than a second. It also has to before
// each step that may take long. Between short steps, and between the batches of a step, it looks
// once in askInterval.
//
// In a stage swap that checks the tables, only the first step waits, because what a check has
// found has to be true at the swap.
func (r *Run) hasToAsk(t task) bool {
	switch {
	case t != r.allowed && (r.allowed.OnlineStep == nil || t.stage != r.allowed.stage):
		return true
	case !r.move.Back && r.stage(t) == plan.StageSwap && r.checks(t.stage):
		return false
	case t != r.allowed && t.Kind != plan.Short:
		return true
	}
	return time.Since(r.allowedAt) >= askInterval
}

// checks reports whether steps of the stage check the tables, as in stage swap of MySQL and
// MariaDB.
func (r *Run) checks(stage int) bool {
	return slices.ContainsFunc(r.move.Plan.Stages[stage].Steps, func(s plan.OnlineStep) bool { return s.Kind == plan.Verify })
}

// repeatChecks makes a run that continues in the middle of a stage swap that checks the tables
// begin with the first step of the stage, because the tables may have been changed since the
// earlier run.
func (r *Run) repeatChecks() {
	all := tasks(r.move)
	done := r.move.Done
	if done == len(all) || r.stage(all[done]) != plan.StageSwap || !r.checks(all[done].stage) {
		return
	}
	for done > 0 && all[done-1].stage == all[done].stage {
		done--
	}
	move := *r.move
	move.Done = done
	r.move = &move
}

// reasonToWait returns the event for which the run has to wait before t, in words that follow
// "waits for", or "" if it can go on. It reads the steering, the requests of an operator, from
// the database. If the steering has a stall, which is how long a batch may take, or a pace,
// these replace the values of the options. On the way back, only Paused makes the run wait.
func (r *Run) reasonToWait(ctx context.Context, t task) (string, error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables)
	if err != nil || found == nil {
		return "", err // the step itself will report that the move is gone
	}
	steering := found.Steering
	r.config.Stall = cmp.Or(steering.Stall, r.configured.Stall)
	r.config.Settings.Pace = cmp.Or(steering.Pace, r.configured.Settings.Pace)
	switch {
	case steering.Paused:
		return "the end of a pause", nil
	case r.move.Back:
		return "", nil
	case steering.HoldSwap && r.stage(t) == plan.StageSwap && r.isFirst(t):
		return "permission to swap", nil
	case !steering.Between.Contains(time.Now()):
		return "its hours, " + steering.Between.String(), nil
	case steering.MaxRunning > 0:
		running, err := r.driver.Running(ctx, r.conn)
		if err != nil || running > steering.MaxRunning {
			return fmt.Sprintf("the server's load: %d statements are running, want %d at most", running, steering.MaxRunning), err
		}
	}
	return r.replicaToWaitFor(ctx, t)
}

// isFirst reports whether t is the first step of its stage. In stage swap, this step comes before
// the exchange, or is the exchange.
func (r *Run) isFirst(t task) bool { return t.OnlineStep == &r.move.Plan.Stages[t.stage].Steps[0] }

// replicaToWaitFor returns a description of the replica for which a batch has to wait, or "".
// Steps of other kinds do not wait. The run waits for a replica that is too far behind, and
// for a replica that does not answer any more. If a replica does not answer at the first check
// of the run, replicaToWaitFor returns an error, because its address may be wrong.
func (r *Run) replicaToWaitFor(ctx context.Context, t task) (string, error) {
	if t.Kind != plan.Batches || r.config.MaxLag == 0 {
		return "", nil
	}
	lag, err := r.driver.Lag(ctx, r.conn, r.move, r.config.Replicas)
	reason := fmt.Sprintf("a replica that is %v behind: want %v at most", lag.Round(time.Millisecond), r.config.MaxLag)
	switch {
	case errors.As(err, &engine.ReplicaError{}) && r.replicasAnswered:
		reason = err.Error()
	case err != nil:
		return "", err
	}
	// Count the wait in the move (Waits), but only when the wait begins, because
	// waitUntilAllowed calls replicaToWaitFor every second while the wait lasts.
	wasBehind := r.replicaBehind
	r.replicasAnswered, r.replicaBehind = true, err != nil || lag > r.config.MaxLag
	if !r.replicaBehind {
		return "", nil
	}
	if wasBehind {
		return reason, nil
	}
	next := *r.move
	next.Waits++
	return reason, r.save(ctx, &next)
}
