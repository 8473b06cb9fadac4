package migrate

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// revertFlags holds the flags of migrate revert.
type revertFlags struct {
	runFlags
	database flags.Database
	json     bool
}

// newRevert returns the command migrate revert, which takes back a saved plan.
func newRevert() *cobra.Command {
	var f revertFlags
	cmd := &cobra.Command{
		Use:   "revert --dsn URL FILE",
		Short: "Take back what apply has done",
		Long: `Take back what "gormflake migrate apply" has done. FILE is the plan that it has
saved: the database does not show what was there before. Where several were
saved, begin with the newest.

Before anything is changed, it is made sure that no phase has a reason not to be
taken back, such as keys that would not fit any more. The statements of FILE are
run as they stand there: take no file from anybody else.`,
		Example: `  gormflake migrate apply --dsn sqlite://shop.db --yes --save moved.json orders
  gormflake migrate revert --dsn sqlite://shop.db --yes moved.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return terminal.Usagef("want one file, the plan that \"gormflake migrate apply\" has saved")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.revert(cmd, args[0]) },
	}
	f.database.Register(cmd)
	f.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object when it is done")
	return cmd
}

// revert takes back the phases of --phases of the plan that "migrate apply" has saved to the
// file. Before it runs the statements, it shows them and asks the user.
func (f *revertFlags) revert(cmd *cobra.Command, file string) error {
	if err := f.check(); err != nil {
		return err
	}
	plan, err := readPlan(file)
	if err != nil {
		return err
	}
	plan = f.phases.cut(plan)
	if plan.Empty() {
		return terminal.Usagef("%s has nothing of the phases %s", file, strings.Join(f.phases.names, ", "))
	}
	return f.database.With(cmd.Context(), flags.ReadWrite, func(db *gorm.DB) error {
		summarizeBack(cmd.ErrOrStderr(), plan)
		question := fmt.Sprintf("Run %s on %s?", theseStatements(countStatements(plan, downStatements)), strings.Join(tablesOf(plan), ", "))
		if err := f.confirm.Ask(cmd, question); err != nil {
			return err
		}
		if err := f.run(cmd, db, plan, downStatements, (*sqlmigrate.Plan).Revert); err != nil {
			return err
		}
		if f.json {
			return terminal.SayJSON(cmd.OutOrStdout(), map[string]any{"reverted": phasesOf(plan)})
		}
		terminal.Say(cmd.OutOrStdout(), "taken back: %s", strings.Join(phasesOf(plan), ", "))
		return nil
	})
}
