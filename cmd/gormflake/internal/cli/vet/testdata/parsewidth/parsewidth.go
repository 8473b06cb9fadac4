package parsewidth

import (
	"strconv"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

type User struct{ ID uint }

type Country struct{ ID uint }

var _ = gormflake.WithModels(new(User))

// find passes the number through variables to a query.
func find(db *gorm.DB, s string) (u User, err error) {
	n, err := strconv.ParseUint(s, 10, 32) // want `ParseUint reads a key of User with 32 bits, and returns an error for larger keys: use 64 bits`
	if err != nil {
		return u, err
	}
	id := uint(n)
	return u, db.First(&u, id).Error
}

// remove passes the number through a function.
func remove(db *gorm.DB, s string) error {
	n, _ := strconv.ParseInt(s, 10, 32) // want `ParseInt reads a key of User with 32 bits`
	return removeUser(db, uint(n))
}

func removeUser(db *gorm.DB, id uint) error {
	users := db.Model(&User{})
	users = users.Where(map[string]any{"id": id})
	return users.Updates(map[string]any{"name": ""}).Error
}

// set makes the number a key of a struct.
func set(s string) User {
	n, _ := strconv.ParseUint(s, 10, 16) // want `ParseUint reads a key of User with 16 bits`
	return User{ID: uint(n)}
}

// generic passes the number to GORM's generic queries.
func generic(db *gorm.DB, s string) any {
	n, _ := strconv.ParseUint(s, 10, 32) // want `ParseUint reads a key of User with 32 bits`
	return gorm.G[User](db).Where("name <> ? AND id IN (?)", s, n)
}

// right reads keys with 64 bits, and other numbers with fewer.
func right(db *gorm.DB, s string) (u User, err error) {
	id, _ := strconv.ParseUint(s, 10, 64)
	other, _ := strconv.Atoi(s)
	page, _ := strconv.ParseInt(s, 10, 32)
	country, _ := strconv.ParseUint(s, 10, 32)
	db.First(&Country{}, country)
	db.Where("age = ?", page).Where("id > ?", other).Find(&u)
	return u, db.Limit(int(page)).First(&u, id).Error
}
