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
// auto-increment assigns its own keys. A types.ID that is 0 is not an error.
func Skip(ctx context.Context) context.Context {
	return guard.Skip(ctx)
}
