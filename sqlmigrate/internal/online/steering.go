package online

import (
	"context"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// steeringInterval is how often a run asks what others want of it.
const steeringInterval = time.Second

// awaitLeave waits while others hold the run up, and takes their pace. The way back
// waits for nothing but the end of a pause.
func (r *Run) awaitLeave(ctx context.Context, t task) error {
	for time.Since(r.steered) >= steeringInterval {
		reason, err := r.heldUp(ctx, t)
		if err != nil {
			return err
		}
		if reason == "" {
			r.steered = time.Now()
			return nil
		}
		r.report.waiting(reason)
		if err := engine.Sleep(ctx, steeringInterval); err != nil {
			return err
		}
	}
	return nil
}

// heldUp returns what the run has to wait for, empty if for nothing.
func (r *Run) heldUp(ctx context.Context, t task) (string, error) {
	s, err := r.readSteering(ctx)
	if err != nil {
		return "", err
	}
	r.config.Stall = r.stall
	if s.Stall > 0 {
		r.config.Stall = s.Stall
	}
	switch {
	case s.Paused:
		return "the end of a pause", nil
	case r.move.Back:
		return "", nil
	case s.HoldSwap && r.move.Plan.Stages[t.stage].Name == plan.StageSwap:
		return "leave to swap", nil
	case !s.Between.Contains(time.Now()):
		return "its hours, " + s.Between.String(), nil
	case s.MaxRunning == 0:
		return "", nil
	}
	running, err := r.driver.Running(ctx, r.conn)
	if err != nil || running <= s.MaxRunning {
		return "", err
	}
	return fmt.Sprintf("the server's load: %d statements are running, want %d at most", running, s.MaxRunning), nil
}

func (r *Run) readSteering(ctx context.Context) (plan.Steering, error) {
	found, err := r.driver.LoadMove(ctx, r.conn, r.move.Plan.Tables)
	if err != nil || found == nil {
		return plan.Steering{}, err // a step finds that the move is gone
	}
	return found.Steering, nil
}
