package issuer

import (
	"context"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// A flaggedOption is an option of a lease, and the flag that it came by.
type flaggedOption struct {
	flag string
	lease.Option
}

// leaseOptions begins with the window, of which there always is one.
func (f *Flags) leaseOptions() []flaggedOption {
	opts := []flaggedOption{{"window", lease.WithWindow(f.window)}}
	if f.cmd.Flags().Changed("datacenter") {
		opts = append(opts, flaggedOption{"datacenter", lease.WithDatacenter(f.datacenter)})
	}
	if f.cmd.Flags().Changed("worker") {
		opts = append(opts, flaggedOption{"worker", lease.WithWorker(f.worker)})
	}
	return opts
}

func optionsOf(flagged []flaggedOption) []lease.Option {
	opts := make([]lease.Option, len(flagged))
	for i, o := range flagged {
		opts[i] = o.Option
	}
	return opts
}

// checkLease says what is wrong before a database is asked: no more than the
// window where the database may name another layout.
func (f *Flags) checkLease() error {
	layout, err := f.Layout.Layout()
	if err != nil {
		return err
	}
	flagged := f.leaseOptions()
	if !f.Layout.Given() {
		flagged = flagged[:1]
	}
	return checkOptions(f.cmd.Context(), layout, flagged)
}

// checkOptions has the first option that Acquire refuses, as a mistake of the
// command line.
func checkOptions(ctx context.Context, layout snowflake.Layout, flagged []flaggedOption) error {
	for i, o := range flagged {
		_, err := lease.Acquire(ctx, noStore{}, layout, optionsOf(flagged[:i+1])...)
		if !errors.Is(err, errAsked) {
			return terminal.Usage(fmt.Errorf("--%s: %w", o.flag, err))
		}
	}
	return nil
}

var errAsked = errors.New("the options are right: the store is asked")

// A noStore is for what Acquire says before it asks one.
type noStore struct{}

func (noStore) Load(context.Context) (map[int]lease.Record, error) { return nil, errAsked }

func (noStore) CompareAndSwap(context.Context, int, lease.Record, lease.Record) (bool, error) {
	return false, errAsked
}
