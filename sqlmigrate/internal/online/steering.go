package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// askInterval is how often a run reads the lag of the replicas, and its steering, which
// are the wishes of an operator that the journal stores.
const askInterval = time.Second

// waitUntilAllowed waits until reasonToWait finds no reason to wait before t. It checks
// this at most once in each askInterval.
func (r *Run) waitUntilAllowed(ctx context.Context, t task) error {
	for time.Since(r.lastCheck) >= askInterval {
		reason, err := r.reasonToWait(ctx, t)
		if err != nil {
			return err
		}
		if reason == "" {
			r.lastCheck = time.Now()
			return nil
		}
		r.report.waiting(reason)
		if err := engine.Sleep(ctx, askInterval); err != nil {
			return err
		}
	}
	return nil
}

// reasonToWait returns the condition that the run has to wait for before t, in words that
// follow "waits for", or "" if it can go on. It reads the steering from the journal. If the
// steering has a stall, which is how long a batch may take, or a pace, these replace the
// values of the options. On the way back, only a pause makes the run wait.
func (r *Run) reasonToWait(ctx context.Context, t task) (string, error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables)
	if err != nil || found == nil {
		return "", err // the step itself will report that the move is gone
	}
	s := found.Steering
	r.config.Stall = cmp.Or(s.Stall, r.configured.Stall)
	r.config.Settings.Pace = cmp.Or(s.Pace, r.configured.Settings.Pace)
	switch {
	case s.Paused:
		return "the end of a pause", nil
	case r.move.Back:
		return "", nil
	case s.HoldSwap && r.stage(t) == plan.StageSwap:
		return "permission to swap", nil
	case !s.Between.Contains(time.Now()):
		return "its hours, " + s.Between.String(), nil
	case s.MaxRunning > 0:
		running, err := r.driver.Running(ctx, r.conn)
		if err != nil || running > s.MaxRunning {
			return fmt.Sprintf("the server's load: %d statements are running, want %d at most", running, s.MaxRunning), err
		}
	}
	return r.replicaToWaitFor(ctx, t)
}

// replicaToWaitFor returns the reason why a batch has to wait for a replica, or "". The
// run waits for a replica that is too far behind, and for a replica that does not answer
// any more. If a replica does not answer at the first check, it returns an error, because
// the configuration may be wrong.
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
	// A wait counts once in the move, although it is checked every second.
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
