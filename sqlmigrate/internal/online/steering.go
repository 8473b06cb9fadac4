package online

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// askInterval is how often a run reads its steering and the lag of replicas.
const askInterval = time.Second

// awaitLeave waits until heldUp finds no reason to wait, and sets the stall that the
// steering asks for. On the way back, only a pause holds the run up.
func (r *Run) awaitLeave(ctx context.Context, t task) error {
	for time.Since(r.asked) >= askInterval {
		reason, err := r.heldUp(ctx, t)
		if err != nil {
			return err
		}
		if reason == "" {
			r.asked = time.Now()
			return nil
		}
		r.report.waiting(reason)
		if err := engine.Sleep(ctx, askInterval); err != nil {
			return err
		}
	}
	return nil
}

// heldUp returns the reason why the run has to wait before t, or "" if it can go on.
func (r *Run) heldUp(ctx context.Context, t task) (string, error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables)
	if err != nil || found == nil {
		return "", err // the step itself will report that the move is gone
	}
	s := found.Steering
	r.config.Stall = r.stall
	if s.Stall > 0 {
		r.config.Stall = s.Stall
	}
	switch {
	case s.Paused:
		return "the end of a pause", nil
	case r.move.Back:
		return "", nil
	case s.HoldSwap && r.stage(t) == plan.StageSwap:
		return "leave to swap", nil
	case !s.Between.Contains(time.Now()):
		return "its hours, " + s.Between.String(), nil
	case s.MaxRunning > 0:
		running, err := r.driver.Running(ctx, r.conn)
		if err != nil || running > s.MaxRunning {
			return fmt.Sprintf("the server's load: %d statements are running, want %d at most", running, s.MaxRunning), err
		}
	}
	return r.heldUpByReplica(ctx, t)
}

// heldUpByReplica returns the reason why a batch has to wait for a replica, or "". It
// waits for a replica that is too far behind, and for a replica that answered before but
// no longer does. If a replica has not answered at all, it returns an error, because the
// configuration may be wrong.
func (r *Run) heldUpByReplica(ctx context.Context, t task) (string, error) {
	if t.Kind != plan.Batches || r.config.MaxLag == 0 {
		return "", nil
	}
	lag, err := r.driver.Lag(ctx, r.conn, r.move, r.config.Replicas)
	reason := fmt.Sprintf("a replica that is %v behind: want %v at most", lag.Round(time.Millisecond), r.config.MaxLag)
	switch {
	case errors.As(err, &engine.ReplicaError{}) && r.answered:
		reason = err.Error()
	case err != nil:
		return "", err
	}
	waited := r.behind
	r.answered, r.behind = true, err != nil || lag > r.config.MaxLag
	if !r.behind {
		return "", nil
	}
	if waited {
		return reason, nil
	}
	next := *r.move
	next.Waits++
	return reason, r.save(ctx, &next)
}
