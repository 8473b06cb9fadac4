package gormflake

import (
	"context"

	"github.com/gormflake/gormflake/internal/guard"
)

// Skip returns a context under which the plugin fills nothing, neither in the
// statement nor in the associations it saves:
//
//	db.WithContext(gormflake.Skip(ctx)).Create(&row)
//
// GORM then builds the statement as without the plugin, so a model that still has
// auto-increment gets its keys from the database. A tagged primary key that the
// statement would write as 0 or NULL is an error: set it, or Omit the field if the
// database assigns it.
func Skip(ctx context.Context) context.Context {
	return guard.Skip(ctx)
}
