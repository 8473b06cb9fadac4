package workers

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

// checkWorkerArgs checks the arguments of the command workers, which are workers such as
// 0/7. It treats an argument that does not begin with a digit as an unknown subcommand.
func checkWorkerArgs(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg == "" || arg[0] < '0' || arg[0] > '9' {
			return flags.UnknownCommand(cmd, arg, ": want one, or a worker such as 0/7")
		}
	}
	return nil
}

// findWorker returns the record of a single worker by its name, which is 1/7 for worker 7 of
// datacenter 1, or 7 if the layout has no datacenters.
func findWorker(in *lease.Inspection, name string) (lease.Holder, error) {
	if in.Layout.DatacenterBits > 0 && !strings.Contains(name, "/") {
		return lease.Holder{}, terminal.Usagef("worker %s: want DATACENTER/WORKER, such as 0/7", terminal.Quote(name))
	}
	found, err := findWorkers(in, name)
	if err != nil {
		return lease.Holder{}, err
	}
	return found[0], nil // the only record, because the name or the layout leaves one datacenter
}

// findWorkers returns the records of the workers that a name means. The name 1/7 means
// worker 7 of datacenter 1, and the name 7 means worker 7 of every datacenter.
func findWorkers(in *lease.Inspection, name string) (found []lease.Holder, err error) {
	datacenter, worker, hasDatacenter := strings.Cut(name, "/")
	if !hasDatacenter {
		datacenter, worker = "0", name
	}
	d, datacenterErr := strconv.ParseUint(datacenter, 10, 32)
	w, workerErr := strconv.ParseUint(worker, 10, 32)
	if datacenterErr != nil || workerErr != nil {
		form := "DATACENTER/WORKER, such as 0/7"
		if in.Layout.DatacenterBits == 0 {
			form = "a number, such as 7"
		}
		return nil, terminal.Usagef("worker %s: want %s", terminal.Quote(name), form)
	}
	for _, h := range in.Holders {
		if h.Worker == int64(w) && (!hasDatacenter || h.Datacenter == int64(d)) {
			found = append(found, h)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case !hasDatacenter && in.Layout.DatacenterBits > 0:
		return nil, fmt.Errorf("worker %d was never taken in any datacenter", w)
	}
	return nil, fmt.Errorf("datacenter %d worker %d was never taken", d, w)
}

// complete returns the workers that have records, for the shell to complete an argument, for
// example 0/7. The description of each is the worker's state and owner.
func (f *workersFlags) complete(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return flags.Completions(cmd, given, func(ctx context.Context) (found []cobra.Completion, err error) {
		err = f.withRecords(ctx, flags.ReadOnly, func(in *lease.Inspection) error {
			for _, h := range in.Holders {
				found = append(found, cobra.CompletionWithDesc(fmt.Sprintf("%d/%d", h.Datacenter, h.Worker), fmt.Sprintf("%v %s", h.State(f.now()), h.Owner)))
			}
			return nil
		})
		return found, err
	})
}
