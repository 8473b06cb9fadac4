package sqlite_test

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/types"
)

// These models describe the same tables before and after the move.
type (
	oldOrder struct {
		ID    int64
		Lines []oldLine `gorm:"foreignKey:OrderID;constraint:OnDelete:CASCADE"`
	}
	oldLine struct {
		ID      int64
		OrderID int64
	}
	newOrder struct {
		ID    types.ID  `snowflake:"pk"`
		Lines []newLine `gorm:"foreignKey:OrderID;constraint:OnDelete:CASCADE"`
	}
	newLine struct {
		ID      types.ID `snowflake:"pk"`
		OrderID types.ID
	}
)

func (oldOrder) TableName() string { return "orders" }
func (oldLine) TableName() string  { return "lines" }
func (newOrder) TableName() string { return "orders" }
func (newLine) TableName() string  { return "lines" }

// countingSource is a source of IDs that issues 1<<40+1, 1<<40+2 and so on.
type countingSource struct{ last int64 }

// Fill writes the next IDs into dst.
func (c *countingSource) Fill(_ context.Context, dst []types.ID) error {
	for i := range dst {
		c.last++
		dst[i] = types.ID(1<<40 + c.last)
	}
	return nil
}

// After a move, the checks of package gormflake find no fault, AutoMigrate changes
// nothing, rows get IDs of the program, and the database rejects a row of an old program
// without a key.
func TestSQLiteAfterwards(t *testing.T) {
	t.Parallel()
	eachSQLite(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&oldOrder{}, &oldLine{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&oldOrder{Lines: []oldLine{{}, {}}}).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Use(gormflake.New(&countingSource{})); err != nil {
			t.Fatal(err)
		}
		migratetest.WantError(t, gormflake.Check(db, &newOrder{}, &newLine{}), "table orders still assigns column id", "table lines still assigns column id", "package sqlmigrate")
		sqliteApply(t, db, sqliteInspect(t, db, &newOrder{}, &newLine{}))
		if err := gormflake.Check(db, &newOrder{}, &newLine{}); err != nil {
			t.Error(err)
		}
		before := sqliteDump(t, db)
		if err := db.AutoMigrate(&newOrder{}, &newLine{}); err != nil {
			t.Fatal(err)
		}
		wantSameDump(t, "after AutoMigrate", sqliteDump(t, db), before)
		order := newOrder{Lines: []newLine{{}, {}}}
		if err := db.Create(&order).Error; err != nil {
			t.Fatal(err)
		}
		if order.ID <= 1<<40 || order.Lines[1].ID <= 1<<40 || order.Lines[1].OrderID != order.ID {
			t.Errorf("keys %+v", order)
		}
		migratetest.WantError(t, db.Create(&oldOrder{}).Error, "key id is missing or not positive")
		wantPhases(t, sqliteInspect(t, db, &newOrder{}, &newLine{}))
		healthy(t, db)
	})
}
