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
// GORM then builds the statement as without the plugin, so a table that still has
// auto-increment assigns its own keys. A tagged primary key that is 0 and that the
// database would store is an error: set it, or Omit the field.
func Skip(ctx context.Context) context.Context {
	return guard.Skip(ctx)
}
