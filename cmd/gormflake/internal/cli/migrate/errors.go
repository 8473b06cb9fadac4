package migrate

import (
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

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
