package foreignkey

import (
	"database/sql"

	"github.com/gormflake/gormflake/types"
)

// Customer has a tagged key, to which an Order and a Card refer. The relation Tags needs no
// foreign key in either model.
type Customer struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Orders []Order
	Card   *Card `gorm:"foreignKey:Owner"`
	Tags   []Tag `gorm:"many2many:customer_tags"`
}

// Order belongs to customers, by foreign keys of several types.
type Order struct {
	ID         types.ID `gorm:"primaryKey" snowflake:"pk"`
	CustomerID int32    // want `foreign key CustomerID refers to the key of Customer, and int32 cannot hold it: use .*types.ID`
	Lines      []Line
	SellerID   *types.ID
	Seller     *Customer
	BuyerID    sql.NullInt32 // want `foreign key BuyerID refers to the key of Customer, and int32 cannot hold it`
	Buyer      *Customer
	AgentKey   float64  // want `foreign key AgentKey refers to the key of Customer, and float64 cannot hold it`
	Agent      Customer `gorm:"foreignKey:AgentKey"`
}

type Line struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID uint     `gorm:"size:32"` // want `foreign key OrderID refers to the key of Order, and size:32 makes a column that cannot hold it`
	Count   int32
}

type Card struct {
	Number string `gorm:"primaryKey;size:32"`
	Owner  uint16 // want `foreign key Owner refers to the key of Customer, and uint16 cannot hold it`
}

type Tag struct {
	Name string `gorm:"primaryKey"`
}

// Country has no tagged key: its references may be narrow.
type Country struct {
	ID     uint32
	Cities []City
}

type City struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	CountryID uint32
	Name      string `gorm:"size:20"`
	Twin      *City
	TwinID    sql.Null[types.ID]
}
