package migratetest

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// MustInspect plans a move and compares the plan with the recorded one.
func MustInspect(t *testing.T, db *gorm.DB, targets ...any) *sqlmigrate.Plan {
	t.Helper()
	plan, err := Inspect(t.Context(), db, targets...)
	if err != nil {
		t.Fatal(err)
	}
	Plan(t, db, plan)
	return plan
}
