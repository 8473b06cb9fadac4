package plugin

import (
	"context"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type Base struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

type Order struct {
	Base
	Customer string
}

type Setting struct{ Name string }

// none creates rows on a handle without the plugin.
func none(dialector gorm.Dialector) error {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}
	if err := db.Create(&Setting{"a"}).Error; err != nil {
		return err
	}
	if err := db.WithContext(context.Background()).Save(&Order{}).Error; err != nil { // want `model Order has a tagged key, and its \*gorm.DB has no plugin: call gormflake.Open`
		return err
	}
	return db.CreateInBatches([]*Order{{}, {}}, 2).Error // want `model Order has a tagged key`
}

// used adds the plugin by Use.
func used(dialector gorm.Dialector, gen gormflake.Generator) error {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		return err
	}
	return db.Create(&Order{}).Error
}

// opened passes the handle to gormflake.Open, which adds the plugin.
func opened(ctx context.Context, dialector gorm.Dialector) error {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}
	gen, err := gormflake.Open(ctx, db)
	if err != nil {
		return err
	}
	defer gen.Close(ctx)
	return db.Create(&Order{}).Error
}

var shared *gorm.DB

// elsewhere assigns the handle to a variable that other functions use.
func elsewhere(dialector gorm.Dialector) (err error) {
	shared, err = gorm.Open(dialector)
	if err != nil {
		return err
	}
	return shared.Create(&Order{}).Error // somebody else may have given it the plugin
}

// returned passes the handle to prepare, which may add the plugin.
func returned(dialector gorm.Dialector) (*gorm.DB, error) {
	db, err := gorm.Open(dialector)
	if err != nil {
		return nil, err
	}
	prepare(db)
	return db, db.Create(&Order{}).Error
}

func prepare(*gorm.DB) {}
