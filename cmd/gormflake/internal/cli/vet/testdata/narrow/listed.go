package narrow

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// User is listed, and Country is not. Both embed the same key.
type User struct {
	gorm.Model
	Cards []Card
}

type Card struct {
	ID     uint64
	UserID uint
	Count  uint
}

type Country struct{ gorm.Model }

// Setting is listed, but its tag leaves it out.
type Setting struct {
	gorm.Model `snowflake:"-"`
}

var _ = gormflake.WithModels(&User{}, &Setting{})

// lose converts keys of users, which come from a field, a function or a foreign key, or
// become the key of a query.
func lose(db *gorm.DB, u User, c Card, wanted uint) []any {
	var other User
	db.Where("id = ?", wanted).First(&other)
	id := idOf(&u)
	return []any{
		int32(u.ID),              // want `int32 has too few digits for a key of User: keep uint`
		uint32(u.Model.ID),       // want `uint32 has too few digits for a key of User`
		float64(int64(c.UserID)), // want `float64 keeps 53 bits of a key of User, which are enough for JSSafeLayout alone: keep int64`
		float32(id),              // want `float32 has too few digits for a key of User`
		int16(wanted),            // want `int16 has too few digits for a key of User`
	}
}

func idOf(u *User) uint { return u.ID }

// keep converts keys to types that keep them, and numbers that are not keys of users.
func keep(u User, c Card, country Country, setting Setting, page uint) []any {
	total := u.ID + c.Count
	copied := Country{}
	copied.ID = u.ID
	return []any{
		int64(u.ID), uint64(c.UserID), int(u.ID), uint(int32(7)),
		int32(country.ID), int32(country.Model.ID), int32(c.Count), int32(c.ID), int32(setting.ID), int32(page), int32(total), float64(len(u.Cards)),
	}
}
