package migratetest

import (
	"context"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// Inspect takes targets and options in one list, for tests with a table of both.
func Inspect(ctx context.Context, db *gorm.DB, all ...any) (*sqlmigrate.Plan, error) {
	var targets []any
	var opts []sqlmigrate.Option
	for _, value := range all {
		if opt, ok := value.(sqlmigrate.Option); ok {
			opts = append(opts, opt)
		} else {
			targets = append(targets, value)
		}
	}
	return sqlmigrate.InspectWith(ctx, db, targets, opts...)
}
