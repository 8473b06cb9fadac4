package migrate

import (
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

func newPlan() *cobra.Command {
	var set migrateFlags
	cmd := &cobra.Command{
		Use:   "plan --dsn URL TABLE...",
		Short: "Show what would be done, for how long and under which locks",
		Long: `Show what would be done to the tables and to all that are connected with them,
for how long and under which locks, and what stands in the way. Nothing is
changed.

The exit code is 0 if there is nothing to do, 3 if there are changes to make,
and 1 if something stands in the way or the database could not be read.`,
		Example: `  gormflake migrate plan --dsn sqlite://shop.db orders
  gormflake migrate plan --dsn sqlite://shop.db --reference audit.order_id=orders.id orders`,
		Args: needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return set.withPlan(cmd.Context(), flags.ReadOnly, tables, func(_ *gorm.DB, plan *sqlmigrate.Plan) error {
				return showPlan(cmd, plan)
			})
		},
	}
	set.register(cmd)
	return cmd
}

func showPlan(cmd *cobra.Command, plan *sqlmigrate.Plan) error {
	terminal.Say(cmd.OutOrStdout(), "%s", strings.TrimSuffix(plan.String(), "\n"))
	if err := blocked(plan, ""); err != nil {
		return err
	}
	if plan.Empty() {
		return nil
	}
	return terminal.ErrFindings
}
