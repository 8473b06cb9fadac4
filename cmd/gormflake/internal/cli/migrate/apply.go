package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// applyFlags holds the flags of migrate apply.
type applyFlags struct {
	migrateFlags
	runFlags
	save string // file for the plan; if empty, the plan is not saved
	json bool
}

// newApply returns the command migrate apply, which applies the plan of tables.
func newApply() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply --dsn URL TABLE...",
		Short: "Carry the plan out",
		Long: `Carry the plan out: show what is about to be done, ask whether to do it, and do
it. On PostgreSQL and SQLite a phase is one transaction or a few. MySQL and MariaDB
have none for such statements: after an error, run the same command again, and
it resumes where it stopped. So it does after Ctrl-C.

The plan is saved to a file before anything is changed. "gormflake migrate
revert" wants that file: the database does not show what was there before.

The exit code is 0 if all is done, or there was nothing to do, and 3 if a phase
has left something undone, or a table does not take Snowflake IDs afterwards.`,
		Example: `  gormflake migrate apply --dsn sqlite://shop.db --phases widen orders
  gormflake migrate apply --dsn sqlite://shop.db --yes --save moved.json orders`,
		Args: needTables,
		RunE: f.apply,
	}
	f.migrateFlags.register(cmd)
	f.runFlags.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object when it is done")
	cmd.Flags().StringVar(&f.save, "save", "", "file to save the plan to (default snowflake-plan-TIME.json, \"\" for none)")
	_ = cmd.Flags().SetAnnotation("save", flags.MayBeEmpty, nil)
	return cmd
}

// apply inspects the tables and applies the phases of --phases, after it has asked the user.
func (f *applyFlags) apply(cmd *cobra.Command, tables []string) error {
	if err := f.runFlags.check(); err != nil {
		return err
	}
	return f.withPlan(cmd.Context(), flags.ReadWrite, tables, func(db *gorm.DB, plan *sqlmigrate.Plan) error {
		if err := blockerError(plan.Blockers, `; see "gormflake migrate plan"`); err != nil {
			return err
		}
		part := f.phases.cut(plan)
		// part has an error if one of its phases needs a phase that was not selected.
		if err := part.Err(); err != nil {
			return err
		}
		if part.Empty() {
			return f.applyNothing(cmd, db, plan, part, tables)
		}
		// remaining are the phases of the plan that --phases does not select.
		remaining := slices.DeleteFunc(phasesOf(plan), func(name string) bool { return slices.Contains(phasesOf(part), name) })
		return f.applyPart(cmd, db, part, remaining, tables)
	})
}

// applyNothing says that there is nothing to do, because part has no statements. plan is the
// whole plan, and part is its part with the phases of --phases. applyNothing calls Apply of
// part all the same, because Apply also checks whether an earlier run has left a phase
// incomplete. With --json, all phases of plan are left to apply, because part has none of
// them.
func (f *applyFlags) applyNothing(cmd *cobra.Command, db *gorm.DB, plan, part *sqlmigrate.Plan, tables []string) error {
	err := part.Apply(cmd.Context(), db)
	switch {
	case !wasApplied(err):
	case f.json:
		const noFile = "" // there is nothing to revert
		return errors.Join(f.printJSON(cmd, part, noFile, phasesOf(plan), err), reportUndone(cmd, err))
	default:
		terminal.Say(cmd.OutOrStdout(), "nothing to do: %s", explainNothing(plan, append(tables, f.selection.args()...)))
	}
	return reportUndone(cmd, err)
}

// wasApplied reports whether err, which Apply has returned, means that the plan was applied,
// even if it left work undone.
func wasApplied(err error) bool { return err == nil || errors.Is(err, sqlmigrate.ErrIncomplete) }

// An appliedJSON is the output of "migrate apply --json".
type appliedJSON struct {
	Applied []string `json:"applied"`            // names of phases
	Left    []string `json:"left"`               // phases that still have to be applied
	Undone  string   `json:"undone,omitempty"`   // the work that the phases have left undone
	Models  []string `json:"models"`             // fields that have to change
	WayBack string   `json:"way_back,omitempty"` // the file for revert
}

// printJSON prints the output of --json for an applied plan. file is the path of the saved
// plan, or "". remaining are the phases that still have to be applied. err is nil, or says
// which work the plan has left undone.
func (f *applyFlags) printJSON(cmd *cobra.Command, plan *sqlmigrate.Plan, file string, remaining []string, err error) error {
	// The third field, Undone, is set below.
	outcome := appliedJSON{phasesOf(plan), nonNil(remaining), "", nonNil(modelChanges(plan)), file}
	if err != nil {
		outcome.Undone = terminal.OneLine(err)
	}
	return terminal.SayJSON(cmd.OutOrStdout(), outcome)
}

// explainNothing returns the reason why there is nothing to do. Either the tables have been
// moved, or the changes that remain belong to phases that were not selected. plan is the
// whole plan. tables are the arguments and flags by which the user has named the tables.
func explainNothing(plan *sqlmigrate.Plan, tables []string) string {
	if plan.Empty() {
		return strings.Join(tables, ", ") + " and what is connected with them have been moved"
	}
	return "what is left is of " + strings.Join(phasesOf(plan), " and ")
}

// applyPart shows the selected part of the plan, asks, saves the part for revert, applies
// it and prints the next steps. plan is this part, and remaining are the phases that were not
// selected. tables are the tables that the user has named.
func (f *applyFlags) applyPart(cmd *cobra.Command, db *gorm.DB, plan *sqlmigrate.Plan, remaining, tables []string) error {
	summarize(cmd.ErrOrStderr(), plan)
	if n := len(plan.Likely); n > 0 {
		terminal.Say(cmd.ErrOrStderr(), "%s too narrow for a Snowflake ID and may hold keys, first %s: see \"gormflake migrate plan\"",
			terminal.Counted(n, "column is", "columns are"), plan.Likely[0].Column)
	}
	question := fmt.Sprintf("Apply %s to %s?", theseStatements(countStatements(plan, upStatements)), strings.Join(tablesOf(plan), ", "))
	if err := f.confirm.Ask(cmd, question); err != nil {
		return err
	}
	began := time.Now()
	file := f.save
	if !cmd.Flags().Changed("save") { // --save "" means that no file is wanted
		file = "snowflake-plan-" + began.UTC().Format("20060102T150405.000Z") + ".json"
	}
	if file != "" {
		if err := savePlan(file, plan, began); err != nil {
			return err
		}
	}
	err := f.run(cmd, db, plan, upStatements, (*sqlmigrate.Plan).Apply)
	switch {
	case wasApplied(err) && f.json:
		return errors.Join(f.printJSON(cmd, plan, file, remaining, err), reportUndone(cmd, err))
	case wasApplied(err):
		f.printNext(cmd, plan, file, remaining, tables)
	}
	return reportUndone(cmd, err)
}

// reportUndone returns the error with which a command ends after Apply has returned err. If
// err means that the plan was applied but has left work undone, reportUndone prints err and
// returns [terminal.ErrFindings], for the exit code. Otherwise it returns err as it is.
func reportUndone(cmd *cobra.Command, err error) error {
	if !errors.Is(err, sqlmigrate.ErrIncomplete) {
		return err
	}
	terminal.Say(cmd.ErrOrStderr(), "gormflake: %s", terminal.OneLine(err))
	return terminal.ErrFindings
}

// printNext prints the next steps after plan, which is a part of the whole plan, was applied.
// file is the path of the saved plan, or "". remaining are the phases that were not selected.
//
// tables are the tables that the user has named, and the next command names no others. The
// plan can have further tables, which refer to the named tables. If the next command named
// such a table, it would also move the key of that table.
func (f *applyFlags) printNext(cmd *cobra.Command, plan *sqlmigrate.Plan, file string, remaining, tables []string) {
	out := cmd.OutOrStdout()
	terminal.Say(out, "applied: %s", strings.Join(phasesOf(plan), ", "))
	if slices.Contains(remaining, string(sqlmigrate.Detach)) {
		terminal.Say(out, "next: deploy programs that assign keys; until then the database still does")
	}
	if len(remaining) > 0 {
		terminal.Say(out, "next: gormflake migrate apply --dsn … --phases %s %s", strings.Join(remaining, ","), strings.Join(append(f.planArgs(), tables...), " "))
	} else {
		terminal.Say(out, "next: %s", strings.Join(slices.Concat([]string{"gormflake doctor --dsn …"}, f.layout.Args(), f.references.Args()), " "))
	}
	for _, change := range modelChanges(plan) {
		terminal.Say(out, "model: %s", change)
	}
	if file != "" {
		terminal.Say(out, "way back: gormflake migrate revert --dsn … %s", file)
	}
}

// modelChanges returns the fields of GORM models that have to change after the plan, for
// example "orders.customer_id is a types.ID". It returns none for a plan with phase park,
// which moves the counters of the database above all IDs, because programs may then let the
// database assign keys as before.
func modelChanges(plan *sqlmigrate.Plan) []string {
	var changes []string
	for _, table := range plan.Tables {
		for _, c := range table.Columns {
			switch {
			case slices.Contains(phasesOf(plan), string(sqlmigrate.Park)):
			case len(c.Refers) > 0: // also in a primary key, because its value is the parent's key
				changes = append(changes, fmt.Sprintf("%s.%s is a types.ID", table.Name, c.Name))
			case c.Key:
				changes = append(changes, fmt.Sprintf("%s.%s is a types.ID with the tag snowflake:\"pk\"", table.Name, c.Name))
			}
		}
	}
	return changes
}
