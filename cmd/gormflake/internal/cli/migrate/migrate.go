// Package migrate has the commands that move tables to Snowflake keys. Each command gets
// a plan from package sqlmigrate and prints, writes, applies or reverts it.
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
