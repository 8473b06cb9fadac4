package pgonline

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

var (
	// stageUp and stageBack are the texts of a migration file and its down part, in which
	// StageFile replaces the words in capitals.

	//go:embed stage.sql
	stageUp string
	//go:embed stage_back.sql
	stageBack string
)

// InFiles lists the stages for which there are migration files. Their steps are short, so
// that a file can run a stage in one transaction. The stages between prepare and swap copy
// rows and build indexes, for which a program is needed.
var InFiles = []plan.StageName{plan.StagePrepare, plan.StageSwap, plan.StageFinish}

// StageFile returns the text of a migration that runs a stage, and the text of its down
// part. The file of stage prepare contains the plan p; other stages do not use p. The
// files of later stages read the plan from the journal of the database in which they run,
// which the file of stage prepare has written there.
func StageFile(stage plan.StageName, tables []plan.Table, p *engine.OnlinePlan) (up, down string, err error) {
	// names are the tables. keys are columns, by whose types the file finds out whether the
	// move has been done in the database in which the file runs. For the stages up to the
	// swap, keys are the columns to widen, which have To. For stage finish, keys are all
	// columns, because after the swap the columns are wide, and no column has To.
	var names, keys []string
	for _, t := range tables {
		if t.Schema != tables[0].Schema {
			return "", "", fmt.Errorf("sqlmigrate: the tables are in several schemas: carry out stage %s with OnlinePlan.Apply", stage)
		}
		name := pgsql.Literal(pgsql.Qualified(t.Schema, t.Name))
		names = append(names, name)
		for _, c := range t.Columns {
			if c.To != "" || stage == plan.StageFinish {
				keys = append(keys, fmt.Sprintf("(%s, %s)", name, pgsql.Literal(c.Name)))
			}
		}
	}
	if len(keys) == 0 {
		return "", "", errors.New("sqlmigrate: nothing to do: the keys are wide")
	}
	var move string // the ID of the move, and its plan as JSON; both are empty except for stage prepare
	var text []byte
	if stage == plan.StagePrepare {
		move = p.ID()
		if text, err = json.Marshal(p); err != nil {
			return "", "", fmt.Errorf("sqlmigrate: online: %w", err)
		}
	}
	filled := strings.NewReplacer(
		"STAGE", string(stage), "TABLES", strings.Join(names, ", "), "KEYS", strings.Join(keys, ", "), "TRIGGER", triggerName,
		"'COLUMNS'", pgsql.Literal(journalColumns), "'PLAN'", pgsql.Literal(string(text)), "'MOVE'", pgsql.Literal(move),
		"COMMAND", "gormflake migrate online apply --until constrain",
	)
	return strings.TrimSpace(filled.Replace(stageUp)), strings.TrimSpace(filled.Replace(stageBack)), nil
}
