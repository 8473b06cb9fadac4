package sqlmigrate

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Inspect finds all tables that are connected with the targets by references,
// in either direction, and plans what has to be done so that their keys can be
// Snowflake IDs. It reads only.
//
// A target is
//
//   - the name of a table, as "orders" or "shop.orders", used exactly as it is
//     written; a name that has a dot is put in double quotes,
//   - a GORM model, pointer or value: its table, and the references of its
//     associations that have no constraint, join tables and polymorphic owners
//     included,
//   - an [Option].
//
// Integer columns that are named after one of the tables, as order_id, and are
// not connected with it are left alone, and pointed out in [Plan.Notes].
//
// A blocker is not an error: it is in [Plan.Blockers], and [Plan.Err] makes an
// error of it. An error is a target that does not exist or means nothing, a
// database that is not supported, a right that is missing.
//
// db must not be a transaction. If it is pinned to one connection, as in
// [gorm.DB.Connection], that is used.
func Inspect(ctx context.Context, db *gorm.DB, targets ...any) (*Plan, error) {
	if err := checkHandle(db); err != nil {
		return nil, err
	}
	dialect := db.Dialector.Name()
	e, err := engineOf(dialect)
	if err != nil {
		return nil, err
	}
	c, err := configure(db, targets)
	if err != nil {
		return nil, err
	}
	var plan *Plan
	err = withConn(ctx, db, func(conn *sql.Conn) (err error) {
		plan, err = c.inspect(ctx, conn, dialect, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}

func (c *config) inspect(ctx context.Context, conn *sql.Conn, dialect string, e engine.Engine) (*Plan, error) {
	references, notes, err := c.existing(ctx, conn, e)
	if err != nil {
		return nil, err
	}
	found, err := e.Inspect(ctx, conn, engine.Request{
		Tables:     c.tables,
		References: references,
		Limit:      c.layout.Min(time.Now()).Int64(),
	})
	if err != nil {
		return nil, err
	}
	plan := planOf(dialect, found)
	likely, err := plan.likelyReferences(ctx, conn, e.LikelyReferences())
	if err != nil {
		return nil, err
	}
	plan.Notes = slices.Concat(plan.Notes, notes, likely)
	return plan, nil
}
