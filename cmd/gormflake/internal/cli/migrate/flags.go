package migrate

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// migrateFlags holds the flags that select the tables to move and their database.
type migrateFlags struct {
	database   flags.Database
	layout     flags.Layout
	references flags.References
	selection  selection

	recreateViews bool
}

// register adds the flags to a command.
func (f *migrateFlags) register(cmd *cobra.Command) {
	f.database.Register(cmd)
	f.layout.Register(cmd)
	f.references.Register(cmd)
	f.selection.register(cmd)
	cmd.ValidArgsFunction = readonly.CompleteTables(&f.database)
	cmd.Flags().BoolVar(&f.recreateViews, "recreate-views", false, "drop views that keep PostgreSQL from widening a column, and create them again as they were, in the same transaction")
}

// options returns the options of package sqlmigrate for the layout, the references and the
// views. It returns an error if one of these flags is invalid.
func (f *migrateFlags) options() ([]sqlmigrate.Option, error) {
	layout, err := f.layout.Layout()
	if err != nil {
		return nil, err
	}
	options, err := f.references.Options()
	if f.recreateViews {
		options = append(options, sqlmigrate.WithRecreateViews())
	}
	return append(options, sqlmigrate.WithLayout(layout)), err
}

// planArgs returns the flags on which the plan depends, in the form of arguments such as
// --recreate-views, for the command that the user runs next.
func (f *migrateFlags) planArgs() []string {
	args := slices.Concat(f.layout.Args(), f.references.Args(), f.selection.args())
	if f.recreateViews {
		args = append([]string{"--recreate-views"}, args...)
	}
	return args
}

// withPlan opens the database, inspects the named tables and the tables that --schema and
// --tables select, and calls do with the database and the plan. mode is flags.ReadOnly or
// flags.ReadWrite.
func (f *migrateFlags) withPlan(ctx context.Context, mode string, tables []string, do func(*gorm.DB, *sqlmigrate.Plan) error) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	return f.database.With(ctx, mode, func(db *gorm.DB) error {
		targets, err := f.selection.targets(ctx, db, tables)
		if err != nil {
			return err
		}
		// The errors, and the fixes below, name options of package sqlmigrate. Named and Words
		// replace them by the names of flags.
		if err := sqlmigrate.Validate(db, targets, options...); err != nil {
			return terminal.Usage(flags.Named(err))
		}
		plan, err := sqlmigrate.InspectWith(ctx, db, targets, options...)
		if err != nil {
			return flags.Named(err)
		}
		for i := range plan.Blockers {
			plan.Blockers[i].Fix = flags.Words(plan.Blockers[i].Fix)
		}
		return do(db, plan)
	})
}

// needTables returns a usage error if the command line names no table, by an argument,
// --schema or --tables.
func needTables(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !cmd.Flags().Changed("schema") && !cmd.Flags().Changed("tables") {
		return terminal.Usagef("no table: name the tables to move, as in %q", cmd.CommandPath()+" orders")
	}
	return nil
}

// A phasesFlag is the flag --phases, with the names of phases. The default is all phases.
type phasesFlag struct{ names []string }

// register adds the flag to a command.
func (f *phasesFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.names, "phases", phaseNames, "phases to take, each of which can be deployed apart")
	_ = cmd.RegisterFlagCompletionFunc("phases", cobra.FixedCompletions(phaseNames, cobra.ShellCompDirectiveNoFileComp))
}

// phaseNames are the values of --phases, in the order in which phases are applied. A plan
// with --park has phase park instead of detach and guard.
var phaseNames = []string{string(sqlmigrate.Widen), string(sqlmigrate.Detach), string(sqlmigrate.Guard), string(sqlmigrate.Park)}

// cut returns the part of the plan that has the phases of the flag.
func (f *phasesFlag) cut(plan *sqlmigrate.Plan) *sqlmigrate.Plan {
	names := make([]sqlmigrate.PhaseName, len(f.names))
	for i, name := range f.names {
		names[i] = sqlmigrate.PhaseName(name)
	}
	return plan.Only(names...)
}

// check returns an error if one of the names is not the name of a phase.
func (f *phasesFlag) check() error {
	for _, name := range f.names {
		if !slices.Contains(phaseNames, name) {
			return terminal.Usagef("--phases %q: want some of %s", name, strings.Join(phaseNames, ", "))
		}
	}
	return nil
}
