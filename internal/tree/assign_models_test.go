package tree_test

import (
	"database/sql"

	"github.com/gormflake/gormflake/types"
)

// The models of the Assign tests. Each kind of relation has separate models and tables,
// so that the tests can run in parallel.

type assignBook struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	AuthorID *types.ID
	Author   *assignAuthor `gorm:"foreignKey:AuthorID"`
	PressID  *int64
	Press    assignPress `gorm:"foreignKey:PressID"`
}

type assignAuthor struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name string
}

type assignPress struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	Name string
}

type assignMenu struct {
	ID     types.Of[assignMenu] `gorm:"primaryKey" snowflake:"pk"`
	Dishes []*assignDish        `gorm:"many2many:assign_menu_dishes" json:",omitempty"`
}

type assignDish struct {
	ID   types.Of[assignDish] `gorm:"primaryKey" snowflake:"pk"`
	Name string
}

type assignVideo struct {
	ID       types.ID        `gorm:"primaryKey" snowflake:"pk"`
	Comments []assignComment `gorm:"polymorphic:Owner;polymorphicValue:film"`
}

type assignComment struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	OwnerID   types.ID
	OwnerType string `gorm:"size:40"`
}

type assignCategory struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	ParentID *types.ID
	Children []assignCategory `gorm:"foreignKey:ParentID" json:",omitempty"`
}

type assignDoc struct {
	TenantID  int64            `gorm:"primaryKey;autoIncrement:false"`
	ID        types.ID         `gorm:"primaryKey" snowflake:"pk"`
	Revisions []assignRevision `gorm:"foreignKey:TenantID,DocID;references:TenantID,ID"`
}

// assignRevision has foreign keys in its primary key. The key to which its blobs refer is
// therefore complete only after Assign has set these foreign keys.
type assignRevision struct {
	TenantID int64        `gorm:"primaryKey;autoIncrement:false"`
	DocID    types.ID     `gorm:"primaryKey"`
	Number   int          `gorm:"primaryKey;autoIncrement:false"`
	Blobs    []assignBlob `gorm:"foreignKey:TenantID,DocID,Number;references:TenantID,DocID,Number"`
}

type assignBlob struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	TenantID int64
	DocID    types.ID
	Number   int
}

// AssignBase is exported because GORM ignores unexported embedded types.
type AssignBase struct {
	ID    types.ID     `gorm:"primaryKey" snowflake:"pk"`
	Notes []assignNote `gorm:"foreignKey:TicketID" json:",omitempty"`
}

type assignTicket struct {
	AssignBase
	Extra *assignExtra `gorm:"embedded;embeddedPrefix:extra_"`
}

type assignExtra struct {
	OpenerID types.ID
	Opener   *assignOpener `gorm:"foreignKey:OpenerID"`
}

type assignOpener struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

type assignNote struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	TicketID types.ID
}

type assignNamed int64

// assignKinds has a child for each kind of foreign key.
type assignKinds struct {
	ID       types.ID         `gorm:"primaryKey" snowflake:"pk"`
	Pointer  *assignByPointer `gorm:"foreignKey:KindsID"`
	Int64    *assignByInt64   `gorm:"foreignKey:KindsID"`
	Unsigned *assignByUint64  `gorm:"foreignKey:KindsID"`
	Named    *assignByNamed   `gorm:"foreignKey:KindsID"`
	Nullable *assignByNull    `gorm:"foreignKey:KindsID"`
	Generic  *assignByGeneric `gorm:"foreignKey:KindsID"`
	Typed    *assignByTyped   `gorm:"foreignKey:KindsID"`
}

type assignByPointer struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID *int64
}

type assignByInt64 struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID int64
}

type assignByUint64 struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID uint64
}

type assignByNamed struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID *assignNamed
}

type assignByNull struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID sql.NullInt64
}

type assignByGeneric struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID sql.Null[types.ID]
}

type assignByTyped struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	KindsID types.Of[assignKinds]
}
