package roles

import "gorm.io/gorm"

func initRoles(db *gorm.DB, role Role) {
	db.First(&role, 5) // want `key 5 of Role`
}

type initializer struct{}

func (*initializer) add(db *gorm.DB, role Role) {
	db.First(&role, 4) // want `key 4 of Role`
}

// find is reported by rule literal.
func find(db *gorm.DB, role Role) { db.First(&role, 3) }
