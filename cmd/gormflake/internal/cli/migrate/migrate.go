// Package migrate has the commands that move tables to Snowflake keys. Each command gets
// a plan from package sqlmigrate and prints, writes, applies or reverts it.
//
// A move has phases, each of which can be deployed apart from the next. Phase widen makes the
// columns of keys and references wide enough. After phase detach, the database assigns no
// keys, and after phase guard, it rejects keys that are not positive, because a program has
// not set them. If the database still has to assign keys, for example for old programs, phase
// park takes the place of detach and guard: it sets the counters above all IDs. The commands
// "migrate online" do phase widen while programs write.
package migrate

import (
	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
)

// New returns the command migrate with its subcommands.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move tables from auto-increment keys to Snowflake keys",
		Long: `Move tables from keys that the database assigns to Snowflake keys, together
with every column that refers to them. Nothing is renumbered: the old keys stay,
and are smaller than any new one.

Begin with "plan". Then either write migration files for the tool that you use,
or apply the plan from here.`,
		Args: flags.Group,
		RunE: flags.ShowHelp,
	}
	cmd.AddCommand(newPlan(), newFiles(), newApply(), newRevert(), newOnline())
	return cmd
}
