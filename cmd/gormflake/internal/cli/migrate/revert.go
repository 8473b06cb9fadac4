package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

type revertFlags struct {
	runFlags
	database flags.Database
	json     bool
}

func newRevert() *cobra.Command {
	var set revertFlags
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
		RunE: func(cmd *cobra.Command, args []string) error { return set.revert(cmd, args[0]) },
	}
	set.database.Register(cmd)
	set.register(cmd)
	cmd.Flags().BoolVar(&set.json, "json", false, "print one JSON object when it is done")
	return cmd
}

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
		question := fmt.Sprintf("Run %s on %s?", these(statements(plan, downward)), strings.Join(tablesOf(plan), ", "))
		if err := f.confirm.Ask(cmd, question); err != nil {
			return err
		}
		if err := f.run(cmd, db, plan, downward, (*sqlmigrate.Plan).Revert); err != nil {
			return err
		}
		if f.json {
			return terminal.SayJSON(cmd.OutOrStdout(), map[string]any{"reverted": phasesOf(plan)})
		}
		terminal.Say(cmd.OutOrStdout(), "taken back: %s", strings.Join(phasesOf(plan), ", "))
		return nil
	})
}

// summarizeBack prints the statements of the way back in their order.
func summarizeBack(out io.Writer, plan *sqlmigrate.Plan) {
	for _, phase := range slices.Backward(plan.Phases) {
		for _, step := range slices.Backward(phase.Steps) {
			terminal.Say(out, "to take back phase %s of %s:", phase.Name, step.Table)
			for _, statement := range step.Down {
				terminal.Say(out, "  %s", strings.ReplaceAll(statement.SQL, "\n", "\n  "))
			}
		}
	}
}

// savedVersion is the version of the format of a saved plan.
const savedVersion = 1

// A savedPlan is the file that "migrate revert" reads. It is needed because the database
// does not show the earlier state after a plan was applied.
type savedPlan struct {
	Version int              `json:"gormflake_plan"`
	Saved   time.Time        `json:"saved"`
	Plan    *sqlmigrate.Plan `json:"plan"`
}

// savePlan writes the plan to a new file. It does not overwrite a file.
func savePlan(name string, plan *sqlmigrate.Plan, now time.Time) error {
	text, err := json.MarshalIndent(savedPlan{savedVersion, now.UTC(), plan}, "", "  ")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the plan for the way back, nothing has been changed: %w: give another --save, or --save \"\" to go without", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("save the plan for the way back, nothing has been changed: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}

func readPlan(name string) (*sqlmigrate.Plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the saved plan: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var saved savedPlan
	if err := decoder.Decode(&saved); err != nil {
		return nil, fmt.Errorf("%s is not a plan that \"gormflake migrate apply\" has saved: %w", name, err)
	}
	if saved.Version != savedVersion || saved.Plan == nil {
		return nil, fmt.Errorf("%s: form %d of a saved plan: want %d: take the gormflake that has saved it", name, saved.Version, savedVersion)
	}
	return saved.Plan, nil
}
