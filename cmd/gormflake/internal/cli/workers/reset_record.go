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
	// minReset is how far ahead of the clock the bound of a worker must be to be lowered. If
	// it is nearer, the user can wait until it has passed.
	minReset = 24 * time.Hour

	// minWindow is the least value of reset.window. It is the default window of a lease, which
	// is how far ahead of the clock a holder keeps its bound.
	minWindow = time.Minute

	// maxDifference is how far this machine's clock may differ from the database's clock.
	maxDifference = time.Minute
)

// resetFlags holds the flags of workers reset. wait waits for a duration, or until the
// context ends.
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

	in      *lease.Inspection // all records as they were last read
	holder  lease.Holder      // the record of the worker among them
	window  time.Duration     // how long lower waits, and how far ahead the new bound is
	columns []readonly.Table  // the columns to search, each as the key of a table
}

// readRecord reads the records, and sets r.in and r.holder.
func (r *reset) readRecord() (err error) {
	if r.in, err = r.flags.inspect(r.Ctx, r.store); err == nil {
		r.holder, err = findWorker(r.in, r.name)
	}
	return err
}

// now returns the time of this machine's clock or of the database's clock, whichever is
// later, because a bound that is too high repeats no ID. It returns an error if the two
// differ too much. SQLite runs in this process, and has no clock of its own.
func (r *reset) now() (time.Time, error) {
	now := r.flags.now()
	if r.Dialect == "sqlite" {
		return now, nil
	}
	serverTime, err := r.Clock()
	if err != nil {
		return now, fmt.Errorf("the database's clock: %w", err)
	}
	if ahead := now.Sub(serverTime); ahead.Abs() > maxDifference {
		return now, fmt.Errorf("this machine's clock is %s the database's: correct the clocks first, for the new bound goes by them", terminal.Difference(ahead))
	}
	if serverTime.After(now) {
		now = serverTime
	}
	return now, nil
}
