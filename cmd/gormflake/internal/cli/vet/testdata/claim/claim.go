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

// Token embeds the claims of a library.
type Login struct {
	RegisteredClaims
	ID       uint     `json:"id"`     // want `ID keeps a key of User as a number in tokens: tokens of old programs stay valid, but a types.ID here would write "1", to which old programs answer 401`
	Parent   types.ID `json:"parent"` // want `Parent puts the string "1" into tokens where old programs read the number 1`
	DeviceID uint     `json:"device"`
	Name     string   `json:"name"`
	Hidden   types.ID `json:"-"`
}

type UserClaims struct {
	ID int64 // want `ID keeps a key of User as a number in tokens`
}

// Card is not a token.
type Card struct{ ID uint }

func tokens(u User, d Device) []any {
	return []any{
		Login{ID: uint(u.ID), Parent: u.ID, Hidden: u.ID, DeviceID: d.ID}, UserClaims{u.ID.Int64()}, Card{uint(u.ID)},
	}
}
