package literal

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type Role struct {
	gorm.Model
	Name string
}

type Order struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

type Country struct{ ID uint }

type Category struct{ ID uint }

var models = []any{&Role{}, &Category{}}

var handle *gorm.DB

var _ = gormflake.WithModels(models...)

const admin = 1

// wrong expects rows to have the keys that a database would assign.
func wrong(db *gorm.DB, role Role, id uint) []any {
	db.First(&role, 1)                       // want `key 1 of Role is written as a number, but new rows get large keys: find the row by another column`
	db.Delete(&role, 1)                      // want `key 1 of Role`
	db.Where("id = ?", admin).First(&role)   // want `key 1 of Role`
	db.Model(&role).Where("roles.id = ?", 2) // want `key 2 of Role`
	db.First(&Order{}, 3)                    // want `key 3 of Order`
	remove(db, 4)                            // want `key 4 of Role`
	find(db, 6)                              // want `key 6 of Order`
	load(8)                                  // want `key 8 of Role`
	key := types.ID(10)                      // want `key 10 of Order`
	find(db, key)
	db.Model(&Category{}).Where("categories.id = ?", 2) // want `key 2 of Category`
	if role.ID == admin {                               // want `key 1 of Role`
		return nil
	}
	switch id = role.ID; id {
	case 5: // want `key 5 of Role`
	}
	return []any{
		Role{Model: gorm.Model{ID: 1}}, // want `key 1 of Role`
		&Order{ID: 2},                  // want `key 2 of Order`
	}
}

func remove(db *gorm.DB, id uint) { db.Delete(&Role{}, id) }

// find has a parameter of type types.ID, and further ones that a call may leave out.
func find(db *gorm.DB, id types.ID, _ ...string) { db.First(&Order{}, id) }

// load has further parameters that a call may leave out.
func load(id uint, _ ...string) { handle.First(&Role{}, id) }

// right uses large keys, zero, and numbers that are not keys of these models.
func right(db *gorm.DB, role Role, id uint) []any {
	db.First(&role, 4194304)
	db.First(&role, 9)
	db.First(&role, param("id"))
	db.Where("user_roles.id = ?", 1).Find(&role)
	db.Limit(int(either(id, 8))).First(&role, either(id, 0))
	db.First(&Country{}, 1)
	db.Where("name = ?", 1).Limit(1).First(&role, id)
	db.Where("countries.id = ?", 1).Find(&role)
	if role.ID == 0 || len(role.Name) == 1 || param("page") == 1 {
		return nil
	}
	return []any{Role{Model: gorm.Model{ID: 0}}, Country{ID: 1}, gorm.Model{ID: 1}, types.ID(1)}
}

// param returns a number of a request, which may be a key.
func param(name string) uint { return uint(len(name)) }

// A Tree has a type that never ends.
type Tree []Tree

type trie map[rune]trie

var _, _ = Tree{}, trie{}

// either returns a parameter, so that each call has its own keys.
func either(n, other uint) uint {
	if n > 0 {
		return n
	}
	return other
}
