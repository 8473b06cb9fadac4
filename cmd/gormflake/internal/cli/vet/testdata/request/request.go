package request

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type Order struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

type User struct{ ID uint }

var _ = gormflake.WithModels(&User{})

type orderRequest struct {
	ID     uint     `json:"id"`    // want `ID becomes a key of Order and is uint: JSON sends the key as the string "1", which this type cannot read: use types.ID`
	Other  *int32   `json:"other"` // want `Other is read from a request as \*int32, which has too few digits for a key of Order`
	Quoted uint     `json:"quoted,string"`
	Form   uint     `form:"id"`
	Short  uint32   `form:"short"` // want `Short is read from a request as uint32`
	Typed  types.ID `json:"typed"`
	Count  int      `json:"count"`
	inner  uint
}

type userRequest struct {
	ID    uint   `json:"id"`
	Short uint32 `json:"short"` // want `Short is read from a request as uint32, which has too few digits for a key of User`
}

func orders(r orderRequest) []Order {
	return []Order{{ID: types.ID(r.ID)}, {types.ID(*r.Other)}, {types.ID(r.Quoted)}, {types.ID(r.Form)}, {types.ID(r.Short)}, {r.Typed}, {types.ID(r.inner)}}
}

func users(db *gorm.DB, r userRequest) (u User, err error) {
	return u, db.First(&u, []uint{r.ID, uint(r.Short)}).Error
}
