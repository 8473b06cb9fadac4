package migrate

import (
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// blockerError returns an error that counts the blockers and names the first one, or nil if
// the list is empty. It has a single line, which ends with hint.
func blockerError(blockers []sqlmigrate.Blocker, hint string) error {
	if len(blockers) == 0 {
		return nil
	}
	objects := (&sqlmigrate.Plan{Blockers: blockers}).BlockingObjects()
	b := objects[0]
	return fmt.Errorf("nothing has been changed: %s in the way of the plan, first in table %s: %s: %s: fix: %s%s",
		terminal.Counted(len(objects), "blocker stands", "blockers stand"), b.Tables[0], b.Object, b.Reasons[0], b.Fix, hint)
}

// planError returns the error with which a command ends that shows a plan, for its exit
// code. The code is 1 if there are blockers, 0 if all work is done, and 3 otherwise.
func planError(blockers []sqlmigrate.Blocker, nothingToDo bool) error {
	if err := blockerError(blockers, ""); err != nil || nothingToDo {
		return err
	}
	return terminal.ErrFindings
}
