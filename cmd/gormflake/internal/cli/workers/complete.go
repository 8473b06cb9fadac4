package workers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/lease"
)

// complete completes arguments with the workers that have records. The description is the
// worker's state and owner.
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

// completeReset completes the first argument with a worker, and further arguments with
// tables.
func (f *resetFlags) completeReset(cmd *cobra.Command, given []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return f.complete(cmd, given, typed)
	}
	return readonly.CompleteTables(&f.database)(cmd, given[1:], typed)
}
