package issuer

import (
	"context"
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// leaseOptions returns the options of a lease, and the flags by which they came. It
// begins with the window, of which there always is one.
func (f *Flags) leaseOptions() (names []string, options []lease.Option) {
	names, options = []string{"window"}, []lease.Option{lease.WithWindow(f.window)}
	if f.cmd.Flags().Changed("datacenter") {
		names, options = append(names, "datacenter"), append(options, lease.WithDatacenter(f.datacenter))
	}
	if f.cmd.Flags().Changed("worker") {
		names, options = append(names, "worker"), append(options, lease.WithWorker(f.worker))
	}
	return names, options
}

// checkLease says what is wrong before a database is asked: no more than the
// window where the database may name another layout.
func (f *Flags) checkLease() error {
	layout, err := f.Layout.Layout()
	if err != nil {
		return err
	}
	names, options := f.leaseOptions()
	if !f.Layout.Given() {
		names = names[:1]
	}
	return checkOptions(f.cmd.Context(), layout, names, options)
}

// checkOptions has the first option that Acquire refuses, as a mistake of the
// command line.
func checkOptions(ctx context.Context, layout snowflake.Layout, names []string, options []lease.Option) error {
	for i, name := range names {
		_, err := lease.Acquire(ctx, noStore{}, layout, options[:i+1]...)
		if !errors.Is(err, errAsked) {
			return terminal.Usage(fmt.Errorf("--%s: %w", name, err))
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
