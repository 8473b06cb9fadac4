package plain_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/gormflake/gormflake/types"
)

// bunOrder is an order as a model of bun.
type bunOrder struct {
	bun.BaseModel `bun:"table:orders"`

	ID     types.ID `bun:",pk"`
	Parent *types.ID
}

// bunShop is a [shop] that stores orders with the query builder of bun.
type bunShop struct{ *bun.DB }

// openBun opens a shop with bun, on the pool that the leases also use.
func openBun(t *testing.T, db database) (shop, *sql.DB) {
	t.Helper()
	dialects := map[string]func() schema.Dialect{
		"postgres": func() schema.Dialect { return pgdialect.New() },
		"mysql":    func() schema.Dialect { return mysqldialect.New() },
		"sqlite":   func() schema.Dialect { return sqlitedialect.New() },
	}
	s := bun.NewDB(db.pool, dialects[db.dialect]())
	return bunShop{s}, s.DB
}

func (s bunShop) insert(ctx context.Context, rows []order) error {
	var models []bunOrder
	for _, row := range rows {
		models = append(models, bunOrder{ID: row.ID, Parent: row.Parent})
	}
	_, err := s.NewInsert().Model(&models).Exec(ctx)
	return err
}

func (s bunShop) children(ctx context.Context, parent types.ID) (found []order, err error) {
	var models []bunOrder
	err = s.NewSelect().Model(&models).Where("parent = ?", parent).Order("id").Scan(ctx)
	for _, model := range models {
		found = append(found, order{model.ID, model.Parent})
	}
	return found, err
}
