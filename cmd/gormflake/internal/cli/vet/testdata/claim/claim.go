package claim

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type User struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

type Device struct{ gorm.Model }

var _ = gormflake.WithModels(&Device{})

type RegisteredClaims struct{ Subject string }

// Login embeds the claims of a library.
type Login struct {
	RegisteredClaims
	ID       uint     `json:"id"`     // a number, which old programs read
	Parent   types.ID `json:"parent"` // want `Parent puts a key of User into tokens as the string "1", where old programs read the number 1`
	DeviceID uint     `json:"device"`
	Name     string   `json:"name"`
	Hidden   types.ID `json:"-"`
}

type UserClaims struct {
	ID int64
}

// Session is a table, and not a token.
type Session struct {
	gorm.Model
	UserID types.ID
}

// Card is not a token.
type Card struct{ ID uint }

func tokens(u User, d Device) []any {
	return []any{
		Login{ID: uint(u.ID), Parent: u.ID, Hidden: u.ID, DeviceID: d.ID}, UserClaims{u.ID.Int64()}, Session{UserID: u.ID}, Card{uint(u.ID)},
	}
}
