package workers

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// newDDL returns the command workers ddl, which needs no database.
func newDDL() *cobra.Command {
	var dialect, table string
	cmd := &cobra.Command{
		Use:   "ddl",
		Short: "Print the statement that creates the table of workers",
		Long: `Print the statement that creates the table of workers, for databases in which
applications may not do that. They then need the rights to SELECT, INSERT and
UPDATE its rows.`,
		Example: `  gormflake workers ddl --dialect postgres
  gormflake workers ddl --dialect mysql --table ids.workers`,
		Args: flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			statement, err := sqllease.DDL(dialect, sqllease.WithTable(table))
			if err != nil {
				return terminal.Usage(err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), statement)
			return err
		},
	}
	flags.ChoiceVar(cmd, &dialect, "dialect", "", "sqlite, mysql or postgres", []string{"sqlite", "mysql", "postgres"})
	cmd.Flags().StringVar(&table, "table", flags.DefaultTable, "name of the table")
	_ = cmd.MarkFlagRequired("dialect")
	return cmd
}
