package plugin

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

type User struct{ gorm.Model }

var _ = gormflake.WithModels(&User{})

// second creates a listed model on a handle without the plugin.
func second(dialector gorm.Dialector) error {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}
	return db.Create(&User{}).Error // want `model User has a listed key, and its \*gorm.DB has no plugin`
}
