// Package migrate has the commands that move tables to Snowflake keys. Each command gets
// a plan from package sqlmigrate and prints, writes, applies or reverts it.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
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

// migrateFlags holds the flags that select the tables to move and their database.
type migrateFlags struct {
	database   flags.Database
	layout     flags.Layout
	references flags.References
	selection  selection

	recreateViews bool
}

func (f *migrateFlags) register(cmd *cobra.Command) {
	f.database.Register(cmd)
	f.layout.Register(cmd)
	f.references.Register(cmd)
	f.selection.register(cmd)
	cmd.ValidArgsFunction = readonly.CompleteTables(&f.database)
	cmd.Flags().BoolVar(&f.recreateViews, "recreate-views", false, "drop views that keep PostgreSQL from widening a column, and create them again as they were, in the same transaction")
}

// options returns the options of package sqlmigrate for the flags.
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

// planArgs returns the flags on which the plan depends, in the form of arguments.
func (f *migrateFlags) planArgs() []string {
	args := append(f.references.Args(), f.selection.args()...)
	if f.recreateViews {
		args = append([]string{"--recreate-views"}, args...)
	}
	return args
}

// withPlan opens the database, inspects it and calls do with the plan. Its texts name
// flags in place of options.
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

// needTables returns a usage error if no argument or flag names a table.
func needTables(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !cmd.Flags().Changed("schema") && !cmd.Flags().Changed("tables") {
		return terminal.Usagef("no table: name the tables to move, as in %q", cmd.CommandPath()+" orders")
	}
	return nil
}

// blocked returns an error on a single line that names the first blocker, or nil. more is
// appended.
func blocked(blockers []sqlmigrate.Blocker, more string) error {
	if len(blockers) == 0 {
		return nil
	}
	objects := (&sqlmigrate.Plan{Blockers: blockers}).BlockingObjects()
	b := objects[0]
	return fmt.Errorf("nothing has been changed: %s in the way of the plan, first in table %s: %s: %s: fix: %s%s",
		terminal.Counted(len(objects), "blocker stands", "blockers stand"), b.Tables[0], b.Object, b.Reasons[0], b.Fix, more)
}

// findings returns the error with which a command ends that shows a plan.
func findings(blockers []sqlmigrate.Blocker, nothingToDo bool) error {
	if err := blocked(blockers, ""); err != nil || nothingToDo {
		return err
	}
	return terminal.ErrFindings
}

// A phasesFlag is the flag --phases.
type phasesFlag struct{ names []string }

func (f *phasesFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.names, "phases", phaseNames, "phases to take, each of which can be deployed apart")
	_ = cmd.RegisterFlagCompletionFunc("phases", cobra.FixedCompletions(phaseNames, cobra.ShellCompDirectiveNoFileComp))
}

var phaseNames = []string{string(sqlmigrate.Widen), string(sqlmigrate.Detach), string(sqlmigrate.Guard), string(sqlmigrate.Park)}

// cut returns the part of the plan that has the phases of the flag.
func (f *phasesFlag) cut(plan *sqlmigrate.Plan) *sqlmigrate.Plan {
	names := make([]sqlmigrate.PhaseName, len(f.names))
	for i, name := range f.names {
		names[i] = sqlmigrate.PhaseName(name)
	}
	return plan.Only(names...)
}

func (f *phasesFlag) check() error {
	for _, name := range f.names {
		if !slices.Contains(phaseNames, name) {
			return terminal.Usagef("--phases %q: want some of %s", name, strings.Join(phaseNames, ", "))
		}
	}
	return nil
}

// statements returns the number of statements that change something.
func statements(plan *sqlmigrate.Plan, of func(sqlmigrate.Step) []sqlmigrate.Statement) int {
	n := 0
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			n += len(of(step))
		}
	}
	return n
}

func upward(s sqlmigrate.Step) []sqlmigrate.Statement   { return s.Up }
func downward(s sqlmigrate.Step) []sqlmigrate.Statement { return s.Down }

// own are tables of the moves themselves on MySQL, which are not counted as tables of a
// plan.
var own = []string{"sqlmigrate_journal", "sqlmigrate_counters"}

// tablesOf returns the names of the tables that the plan changes, in its order.
func tablesOf(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			if name := step.Table.String(); !slices.Contains(own, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// phasesOf returns the names of the phases of the plan.
func phasesOf(plan *sqlmigrate.Plan) []string {
	names := make([]string, len(plan.Phases))
	for i, phase := range plan.Phases {
		names[i] = string(phase.Name)
	}
	return names
}

// A selection holds the flags that select tables by schema and pattern.
type selection struct{ schemas, patterns []string }

func (s *selection) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringArrayVar(&s.schemas, "schema", nil, "take every table of this schema whose primary key begins with an integer; may be repeated")
	set.StringArrayVar(&s.patterns, "tables", nil, "take those that match a pattern with * and ?, as 'public.*' or 'order*'; may be repeated")
}

func (s *selection) all() []string {
	patterns := slices.Clone(s.patterns)
	for _, schema := range s.schemas {
		patterns = append(patterns, plan.QuoteDotted(schema)+".*")
	}
	return patterns
}

// args returns the flags, quoted for a shell.
func (s *selection) args() []string {
	args := s.all()
	for i, pattern := range args {
		args[i] = "--tables='" + pattern + "'"
	}
	return args
}

// targets returns the named tables and the selected tables.
func (s *selection) targets(ctx context.Context, db *gorm.DB, named []string) ([]any, error) {
	var targets []any
	for _, name := range named {
		targets = append(targets, name)
	}
	for _, pattern := range s.all() {
		found, err := match(ctx, db, pattern)
		if err != nil {
			return nil, fmt.Errorf("tables %q: %w", pattern, err)
		}
		targets = append(targets, found...)
	}
	return targets, nil
}

// notSelected matches tables that are never selected by a pattern. They belong to this
// program, to migration tools or to an online move.
var notSelected = regexp.MustCompile(`^(goose_db_version|schema_migrations|sqlmigrate_\w+|_.*_sf(new|old))$`)

// cutSchema divides a pattern at its first dot. A schema whose name has a dot is quoted,
// as in "a.b".orders.
func cutSchema(pattern string) (schema, name string) {
	if quoted, ok := strings.CutPrefix(pattern, `"`); ok {
		if schema, name, ok = strings.Cut(quoted, `".`); ok {
			return schema, name
		}
	}
	if schema, name, ok := strings.Cut(pattern, "."); ok {
		return schema, name
	}
	return "", pattern
}

func match(ctx context.Context, db *gorm.DB, pattern string) (names []any, err error) {
	schema, name := cutSchema(pattern)
	all, err := (&readonly.Database{Ctx: ctx, DB: db, Dialect: db.Name()}).Tables(schema)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		matches, err := path.Match(name, t.Name)
		if err != nil {
			return nil, terminal.Usage(err)
		}
		if matches && !notSelected.MatchString(t.Name) {
			names = append(names, t.String())
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no table with a primary key that begins with an integer")
	}
	return names, nil
}
