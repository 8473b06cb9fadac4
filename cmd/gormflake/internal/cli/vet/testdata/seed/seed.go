package roles

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

type Role struct{ ID uint }

type Card struct {
	Name   string `gorm:"primaryKey"`
	RoleID uint
	Role   Role
}

var _ = gormflake.WithModels(&Role{})

// fill is in a file of seeds.
func fill(db *gorm.DB) {
	db.Create(&Role{ID: 1}) // want `the seed sets keys of Role, here 1: this is correct if all of them are below 1,000,000`
	db.Create(&Role{ID: 2})
	db.Create(&Role{})
	db.Create(&Card{RoleID: 9}) // want `key 9 of Role is written as a number in a seed or migration: set it in the row that the seed creates, below 1,000,000`
	db.Create(&Card{RoleID: 1})
}
