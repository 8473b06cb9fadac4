package foreignkey

import "github.com/gormflake/gormflake"

// Shop is listed. A Desk refers to its key, and a Flag to another of its columns.
type Shop struct {
	ID    uint
	Code  int32
	Desks []Desk
	Flags []Flag `gorm:"foreignKey:ShopCode;references:Code"`
}

type Desk struct {
	ID     uint
	ShopID int32 // want `foreign key ShopID refers to the key of Shop, and int32 cannot hold it: use uint`
}

type Flag struct {
	ID       uint
	ShopCode int32
}

// Badge refers to another column of Shop than its key.
type Badge struct {
	ID   uint
	Code int32
	Shop *Shop `gorm:"foreignKey:Code;references:Code"`
}

var _ = gormflake.WithModels(&Shop{})
