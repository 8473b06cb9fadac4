package handlers

import (
	"strconv"

	"gorm.io/gorm"

	"example/shop/models"
)

// A Store is implemented by models.Rows.
type Store interface {
	User(id uint) error
}

func Show(db *gorm.DB, s string) int32 {
	n, _ := strconv.ParseUint(s, 10, 32)
	var u models.User
	db.First(&u, n)
	return int32(u.ID)
}

func Load(store Store, s string) error {
	n, _ := strconv.ParseUint(s, 10, 32)
	return store.User(uint(n))
}
