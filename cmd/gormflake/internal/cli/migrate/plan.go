package migrate

import (
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// planFlags holds the flags of migrate plan.
type planFlags struct {
	migrateFlags
	details, sql, json bool
	writeReferences    string // the path of a file, or ""
}

// newPlan returns the command migrate plan, which shows a plan and changes nothing.
func newPlan() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --dsn URL TABLE...",
		Short: "Show what would be done, for how long and under which locks",
		Long: `Show what would be done to the tables and to all that are connected with them,
for how long and under which locks, and what stands in the way. Nothing is
changed. A summary comes first, which names three of many objects of a kind;
--details adds all names, columns and steps, --sql prints the statements in
order for a review, and --json all of it for programs.

--schema and --tables select tables whose primary key begins with an integer; not
those of goose, golang-migrate and extensions.

Columns that are too narrow for a Snowflake ID and may hold keys of the tables
are listed: by their names, comments, by what views and functions compare them
with, and by a sample of their values. Name each with --reference, so that it is
moved too, or with --not-reference. "gormflake doctor" takes the same flags. For many
columns, --write-references writes a file that --references reads.

The exit code is 0 if there is nothing to do, 3 if there are changes to make, such
columns, or what the phases leave undone, and 1 if something stands in the way or the database could not be
read.`,
		Example: `  gormflake migrate plan --dsn sqlite://shop.db orders
  gormflake migrate plan --dsn sqlite://shop.db --sql --reference audit.order_id=orders.id orders`,
		Args: needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return f.withPlan(cmd.Context(), flags.ReadOnly, tables, func(_ *gorm.DB, plan *sqlmigrate.Plan) error {
				if err := f.print(cmd, plan); err != nil {
					return err
				}
				if f.writeReferences != "" {
					if err := f.references.Write(f.writeReferences, plan.Likely); err != nil {
						return err
					}
				}
				return planError(plan.Blockers, plan.Empty() && len(plan.Likely) == 0 && len(plan.Omitted) == 0)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.details, "details", false, "show all names, the columns, and each step with its statements")
	cmd.Flags().BoolVar(&f.sql, "sql", false, "print the statements, with what each step locks, as SQL")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&f.writeReferences, "write-references", "", "file to write for --references, with the listed columns as comments, to be edited by hand")
	cmd.MarkFlagsMutuallyExclusive("details", "sql", "json")
	return cmd
}

// print prints the plan as text, as SQL or as JSON. The lines of the text have at most 100
// characters, or fewer on a narrow terminal.
func (f *planFlags) print(cmd *cobra.Command, plan *sqlmigrate.Plan) error {
	text := ""
	switch {
	case f.json:
		return terminal.SayJSON(cmd.OutOrStdout(), planAsJSON(plan))
	case f.sql:
		text = plan.SQL()
	default:
		text = plan.Text(sqlmigrate.Style{
			// terminal.Width is 0 without a terminal, and a Style takes 0 as the default, 100.
			Details: f.details, Width: min(terminal.Width(cmd.OutOrStdout()), 100),
			Reference: flags.Reference, NotReference: flags.NotReference,
		})
	}
	terminal.Say(cmd.OutOrStdout(), "%s", strings.TrimSuffix(text, "\n"))
	return nil
}
