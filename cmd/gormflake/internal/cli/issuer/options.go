package issuer

import (
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

// checkLease returns what is wrong before a database is asked: no more than the
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
	return checkOptions(layout, names, options)
}

// checkOptions returns the first mistake in the options as one of the command line.
func checkOptions(layout snowflake.Layout, names []string, options []lease.Option) error {
	for i, name := range names {
		if err := lease.CheckOptions(layout, options[:i+1]...); err != nil {
			return terminal.Usagef("--%s: %w", name, err)
		}
	}
	return nil
}
