package migrate

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// stagesInFiles are those whose steps are all short.
var stagesInFiles = []string{string(sqlmigrate.StagePrepare), string(sqlmigrate.StageSwap), string(sqlmigrate.StageFinish)}

func newOnlineFiles() *cobra.Command {
	set := filesFlags{leaseTable: flags.DefaultTable}
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
			if err := set.check(); err != nil {
				return err
			}
			if !slices.Contains(stagesInFiles, stage) {
				return terminal.Usagef("--stage %q: want one of %s", stage, strings.Join(stagesInFiles, ", "))
			}
			before := namesIn(set.dir)
			defer func() { set.printWritten(cmd, before) }()
			return set.withPlan(cmd.Context(), flags.ReadOnly, tables, func(db *gorm.DB, plan *sqlmigrate.Plan) error {
				err := plan.WriteStage(cmd.Context(), db, sqlmigrate.StageName(stage), set.dir, sqlmigrate.Format(set.format))
				if err != nil {
					return flags.Named(err)
				}
				return nil
			})
		},
	}
	set.migrateFlags.register(cmd)
	set.registerFiles(cmd)
	flags.ChoiceVar(cmd, &stage, "stage", "", "stage to write, one of "+strings.Join(stagesInFiles, ", "), stagesInFiles)
	return cmd
}
