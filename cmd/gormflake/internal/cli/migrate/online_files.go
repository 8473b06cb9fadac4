package migrate

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// The statements of a stage are in the journal of each database, so a file is the same for
// all of them.
var (
	//go:embed online_stage.sql
	stageUp string
	//go:embed online_stage_back.sql
	stageDown string
)

// stagesInFiles are those whose steps are all short.
var stagesInFiles = []string{string(sqlmigrate.StageSwap), string(sqlmigrate.StageFinish)}

func newOnlineFiles() *cobra.Command {
	set := filesFlags{leaseTable: flags.DefaultTable}
	var stage string
	cmd := &cobra.Command{
		Use:   "files --dsn URL --format TOOL --stage STAGE TABLE...",
		Short: "Write a short stage as a file of a migration tool",
		Long: `Write stage swap or finish as a migration for golang-migrate or goose, for releases
that run those. It needs PostgreSQL. In each database, carry out the stages before
with "gormflake migrate online apply --until constrain": without that, the migration
fails, and changes nothing. Write finish a release later, as it has no way back.`,
		Example: `  gormflake migrate online files --dsn postgres://app@db/shop --format goose --stage swap orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			if err := set.check(); err != nil {
				return err
			}
			if !slices.Contains(stagesInFiles, stage) {
				return terminal.Usagef("--stage %q: want %s", stage, strings.Join(stagesInFiles, " or "))
			}
			before := namesIn(set.dir)
			defer func() { set.printWritten(cmd, before) }()
			return set.withPlan(cmd.Context(), flags.ReadOnly, tables, func(_ *gorm.DB, plan *sqlmigrate.Plan) error {
				return set.writeStage(plan, stage)
			})
		},
	}
	set.migrateFlags.register(cmd)
	set.registerFiles(cmd)
	flags.ChoiceVar(cmd, &stage, "stage", "", "stage to write: "+strings.Join(stagesInFiles, " or "), stagesInFiles)
	return cmd
}

func (f *filesFlags) writeStage(plan *sqlmigrate.Plan, stage string) error {
	table, keys := "", []string(nil)
	for _, t := range plan.Tables {
		name := identifier(t.Name)
		if t.Schema != "" {
			name = identifier(t.Schema) + "." + name
		}
		if t.Schema != plan.Tables[0].Schema {
			return fmt.Errorf("the tables are in several schemas: carry out stage %s with gormflake migrate online", stage)
		}
		for _, c := range t.Columns {
			if c.To != "" || stage == string(sqlmigrate.StageFinish) {
				table = name
				keys = append(keys, fmt.Sprintf("(%s, %s)", literal(name), literal(c.Name)))
			}
		}
	}
	switch {
	case plan.Dialect != "postgres":
		return fmt.Errorf("stages in files need PostgreSQL: carry out stage %s with gormflake migrate online", stage)
	case len(keys) == 0:
		return errors.New("nothing to do: the keys are wide")
	}
	filled := strings.NewReplacer("STAGE", stage, "'TABLE'", literal(table), "KEYS", strings.Join(keys, ", "),
		"COMMAND", "gormflake migrate online apply --until constrain")
	return sqlmigrate.WriteMigration(f.dir, sqlmigrate.Format(f.format), plan.Dialect, "snowflake_online_"+stage,
		strings.TrimSpace(filled.Replace(stageUp)), strings.TrimSpace(filled.Replace(stageDown)))
}

func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
