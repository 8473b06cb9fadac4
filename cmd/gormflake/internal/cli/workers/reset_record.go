package workers

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

const (
	// minReset is how far ahead of the clock a bound must be. For a bound that is nearer,
	// it is sufficient to wait.
	minReset = 24 * time.Hour

	// minWindow is the default window of a lease.
	minWindow = time.Minute

	// maxDifference is the largest difference of the clocks from which the new bound is
	// computed.
	maxDifference = time.Minute
)

type resetFlags struct {
	workersFlags
	confirm flags.Confirm
	columns []string
	timeout time.Duration
	dryRun  bool
	wait    func(context.Context, time.Duration) error
}

// A reset is the reset of one worker.
type reset struct {
	*readonly.Database
	flags *resetFlags
	store lease.Store
	name  string // the worker as the user named it
	out   io.Writer

	in      *lease.Inspection
	holder  lease.Holder
	window  time.Duration
	columns []readonly.Table
}

// find reads the present record of the worker.
func (r *reset) find() (err error) {
	if r.in, err = r.flags.inspect(r.Ctx, r.store); err == nil {
		r.holder, err = findWorker(r.in, r.name)
	}
	return err
}

// now returns the later time of this machine's clock and the database's. It returns an
// error if they differ too much.
func (r *reset) now() (time.Time, error) {
	now := r.flags.now()
	if r.Dialect == "sqlite" {
		return now, nil
	}
	theirs, err := r.Clock()
	if err != nil {
		return now, fmt.Errorf("the database's clock: %w", err)
	}
	if ahead := now.Sub(theirs); ahead.Abs() > maxDifference {
		return now, fmt.Errorf("this machine's clock is %s the database's: correct the clocks first, for the new bound goes by them", terminal.Difference(ahead))
	}
	if theirs.After(now) {
		now = theirs
	}
	return now, nil
}
