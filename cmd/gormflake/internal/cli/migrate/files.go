package migrate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// filesFlags holds the flags of migrate files and of migrate online files.
type filesFlags struct {
	migrateFlags
	phases         phasesFlag
	dir, format    string // the folder of the files; the migration tool, one of formats
	withLeaseTable bool   // --lease-table, whether to write the table in which workers are leased
	leaseTable     string // --table, the name of that table
	json           bool
}

// formats are the values of --format.
var formats = []string{string(sqlmigrate.GolangMigrate), string(sqlmigrate.Goose), string(sqlmigrate.Atlas)}

// newFiles returns the command migrate files, which writes a plan for a migration tool.
func newFiles() *cobra.Command {
	var f filesFlags
	cmd := &cobra.Command{
		Use:   "files --dsn URL --format TOOL TABLE...",
		Short: "Write the plan as files of a migration tool",
		Long: `Write the plan as files for golang-migrate, goose or Atlas: one migration for each
phase, with its way back, which Atlas does not run: folder down has it. Nothing is
changed in the database. The names of the new files are printed; no file is ever
overwritten.

With --lease-table there is one more for the table in which workers are leased,
for applications that may not create it. Tables need not be named then.`,
		Example: `  gormflake migrate files --dsn sqlite://shop.db --format goose --dir migrations orders
  gormflake migrate files --dsn sqlite://shop.db --format goose --dir more --lease-table`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.withLeaseTable {
				return nil
			}
			return needTables(cmd, args)
		},
		RunE: f.write,
	}
	f.migrateFlags.register(cmd)
	f.phases.register(cmd)
	f.registerFiles(cmd)
	cmd.Flags().BoolVar(&f.withLeaseTable, "lease-table", false, "write the table in which workers are leased, too")
	cmd.Flags().StringVar(&f.leaseTable, "table", flags.DefaultTable, "name of that table")
	return cmd
}

// registerFiles adds the flags that migrate files and migrate online files share.
func (f *filesFlags) registerFiles(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "migrations", "directory of the files, created if it is absent")
	flags.ChoiceVar(cmd, &f.format, "format", "", "tool that runs the files, one of "+strings.Join(formats, ", "), formats)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object with the names of the files")
	_ = cmd.MarkFlagDirname("dir")
}

// check returns an error if the flags are invalid. It does not connect to a database.
func (f *filesFlags) check() error {
	switch {
	case f.format == "":
		return terminal.Usagef("no --format: want one of %s", strings.Join(formats, ", "))
	case !slices.Contains(formats, f.format):
		return terminal.Usagef("--format %q: want one of %s", f.format, strings.Join(formats, ", "))
	case f.leaseTable != flags.DefaultTable && !f.withLeaseTable:
		return terminal.Usagef("--table is the name of the table of --lease-table: give both or neither")
	}
	// DDL fails if the name is invalid, which does not depend on the dialect.
	if _, err := sqllease.DDL("sqlite", sqllease.WithTable(f.leaseTable)); err != nil {
		return terminal.Usage(err)
	}
	return f.phases.check()
}

// write writes the files of the plan for the tables, and with --lease-table also the file of
// the table of workers. It prints the names of the new files.
func (f *filesFlags) write(cmd *cobra.Command, tables []string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	before := namesIn(f.dir)
	defer func() { f.printWritten(cmd, before) }()
	// Without a table, the command line has --lease-table, and there is no plan.
	if len(append(tables, f.selection.args()...)) == 0 {
		return f.database.With(cmd.Context(), flags.ReadOnly, f.writeLeaseTable)
	}
	return f.withPlan(cmd.Context(), flags.ReadOnly, tables, func(db *gorm.DB, plan *sqlmigrate.Plan) error {
		if err := blockerError(plan.Blockers, ""); err != nil {
			return err
		}
		plan = f.phases.cut(plan)
		if f.withLeaseTable {
			if err := f.writeLeaseTable(db); err != nil {
				return err
			}
		}
		if plan.Empty() {
			terminal.Say(cmd.ErrOrStderr(), "nothing to do for these tables and phases: no file of theirs is written")
			return nil
		}
		return plan.WriteFiles(f.dir, sqlmigrate.Format(f.format))
	})
}

// writeLeaseTable writes the file that creates the table of workers.
func (f *filesFlags) writeLeaseTable(db *gorm.DB) error {
	return sqlmigrate.WriteLeaseTable(f.dir, sqlmigrate.Format(f.format), db.Dialector.Name(), sqllease.WithTable(f.leaseTable))
}

// printWritten prints the names of the files in the folder that are not in before, which are
// the files that the command has written. It is also called after an error, because some
// files may have been written until then.
func (f *filesFlags) printWritten(cmd *cobra.Command, before []string) {
	written := []string{}
	for _, name := range namesIn(f.dir) {
		if !slices.Contains(before, name) {
			written = append(written, filepath.Join(f.dir, name))
		}
	}
	if f.json {
		_ = terminal.SayJSON(cmd.OutOrStdout(), map[string]any{"files": written}) // Main reports the error of the output
		return
	}
	for _, name := range written {
		terminal.Say(cmd.OutOrStdout(), "%s", name)
	}
}

// namesIn returns the names of the files in a folder. An error counts as no file, because
// the folder may not exist yet.
func namesIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

// stagesInFiles are the stages of an online move that consist of short steps only. The other
// stages copy rows, build indexes or validate constraints, which takes too long for a
// migration.
var stagesInFiles = []string{string(sqlmigrate.StagePrepare), string(sqlmigrate.StageSwap), string(sqlmigrate.StageFinish)}

// newOnlineFiles returns the command migrate online files, which writes a stage of an online
// move for a migration tool.
func newOnlineFiles() *cobra.Command {
	// check rejects a --table other than the default without --lease-table. This command has
	// neither flag, so leaseTable has the default.
	f := filesFlags{leaseTable: flags.DefaultTable}
	var stage string
	cmd := &cobra.Command{
		Use:   "files --dsn URL --format TOOL --stage STAGE TABLE...",
		Short: "Write a short stage as a file of a migration tool",
		Long: `Write stage prepare, swap or finish as a migration for golang-migrate, goose or Atlas,
for releases that run those. It needs PostgreSQL. In each database, carry out the
stages between prepare and swap with "gormflake migrate online apply --until
constrain": without that, the migration of swap fails, and changes nothing. Write
finish a release later, as it has no way back.`,
		Example: `  gormflake migrate online files --dsn postgres://app@db/shop --format goose --stage swap orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if !slices.Contains(stagesInFiles, stage) {
				return terminal.Usagef("--stage %q: want one of %s", stage, strings.Join(stagesInFiles, ", "))
			}
			before := namesIn(f.dir)
			defer func() { f.printWritten(cmd, before) }()
			return f.withPlan(cmd.Context(), flags.ReadOnly, tables, func(db *gorm.DB, plan *sqlmigrate.Plan) error {
				err := plan.WriteStage(cmd.Context(), db, sqlmigrate.StageName(stage), f.dir, sqlmigrate.Format(f.format))
				if err != nil {
					return flags.Named(err)
				}
				return nil
			})
		},
	}
	f.migrateFlags.register(cmd)
	f.registerFiles(cmd)
	flags.ChoiceVar(cmd, &stage, "stage", "", "stage to write, one of "+strings.Join(stagesInFiles, ", "), stagesInFiles)
	return cmd
}
