package migrate

import (
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// blockerError returns nil if the list is empty. Otherwise it returns an error that counts the
// blockers of a plan and names the first blocker. The error has a single line, which ends with
// hint, for example the command that lists all blockers.
func blockerError(blockers []sqlmigrate.Blocker, hint string) error {
	if len(blockers) == 0 {
		return nil
	}
	// An object, such as a view, can be a blocker for several tables. A Plan groups its
	// blockers by object, so that each is counted once.
	objects := (&sqlmigrate.Plan{Blockers: blockers}).BlockingObjects()
	b := objects[0]
	return fmt.Errorf("nothing has been changed: %s in the way of the plan, first in table %s: %s: %s: fix: %s%s",
		terminal.Counted(len(objects), "blocker stands", "blockers stand"), b.Tables[0], b.Object, b.Reasons[0], b.Fix, hint)
}

// planError returns the error for the exit code of a command that shows a plan. The code is 1
// if there are blockers, 0 if there is nothing to do, and 3 otherwise.
func planError(blockers []sqlmigrate.Blocker, nothingToDo bool) error {
	if err := blockerError(blockers, ""); err != nil || nothingToDo {
		return err
	}
	return terminal.ErrFindings
}
