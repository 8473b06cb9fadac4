package tree_test

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// TreeRow is in every model of the random trees. The test identifies a row by its Code,
// because neither the plugin nor GORM changes it.
type TreeRow struct {
	Code  string `gorm:"size:20;uniqueIndex"`
	Title string `gorm:"size:50"`
}

// treeNode has every kind of relation, to itself and to other models, and every tag.
type treeNode struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public  types.ID `snowflake:"id"`
	Number  string   `gorm:"size:32;<-:create" snowflake:"serial=NOD"`
	TreeRow `gorm:"embedded"`

	ParentID *types.ID
	Parent   *treeNode
	Children []treeNode  `gorm:"foreignKey:ParentID"`
	Friends  []*treeNode `gorm:"many2many:tree_friends"`
	RoomID   types.ID
	Room     treeRoom
	Leaves   []*treeLeaf `gorm:"foreignKey:NodeID"`
	Badge    treeBadge   `gorm:"foreignKey:NodeID"`
	Notes    []treeNote  `gorm:"polymorphic:Owner"`
	Cover    *treeNote   `gorm:"polymorphic:Owner;polymorphicValue:cover"`
	Topics   []treeTopic `gorm:"many2many:tree_node_topics"`
}

// BeforeCreate fails if a hook would not see the keys.
func (n *treeNode) BeforeCreate(*gorm.DB) error {
	if n.ID == 0 || n.Public == 0 || n.Number == "" {
		return errors.New("a hook sees a row without its keys")
	}
	return nil
}

type treeRoom struct {
	gormflake.Model
	TreeRow `gorm:"embedded"`
}

type treeLeaf struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	NodeID  types.ID
	Node    *treeNode
}

type treeBadge struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	NodeID  sql.Null[int64]
	Notes   []*treeNote `gorm:"polymorphic:Owner"`
}

type treeNote struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow   `gorm:"embedded"`
	OwnerID   *types.ID
	OwnerType string `gorm:"size:20"`
}

// treeTopic has its key in an embedded struct behind a pointer.
type treeTopic struct {
	*TreeTopicKey `gorm:"embedded;embeddedPrefix:topic_"`
	TreeRow       `gorm:"embedded"`
}

type TreeTopicKey struct {
	ID types.ID `gorm:"primaryKey" snowflake:"pk"`
}

// treeOrder, treeLine and treeBuyer have keys of plain integers. GORM treats one of them
// as auto-increment.
type treeOrder struct {
	ID      int64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	BuyerID sql.NullInt64
	Buyer   *treeBuyer
	Lines   []treeLine  `gorm:"foreignKey:OrderID"`
	Tags    []*treeTag  `gorm:"many2many:tree_order_tags"`
	Labels  []treeLabel `gorm:"polymorphic:Owner"`
}

type treeLine struct {
	ID      uint64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	OrderID *int64
	Order   *treeOrder
}

type treeBuyer struct {
	ID      int64 `snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	Orders  []*treeOrder `gorm:"foreignKey:BuyerID"`
}

// treeLabel has a foreign key of text to an integer key.
type treeLabel struct {
	ID        *types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow   `gorm:"embedded"`
	OwnerID   sql.NullString
	OwnerType string `gorm:"size:20"`
}

type treeTag struct {
	ID      string `gorm:"primaryKey;size:20" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
}

// treeFolder and treeFile have string keys.
type treeFolder struct {
	ID      string `gorm:"primaryKey;size:20" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	UpperID *string `gorm:"size:20"`
	Upper   *treeFolder
	Lower   []*treeFolder `gorm:"foreignKey:UpperID"`
	Files   []treeFile    `gorm:"foreignKey:FolderID"`
	Tags    []treeTag     `gorm:"many2many:tree_folder_tags"`
}

type treeFile struct {
	ID       string `gorm:"primaryKey;size:20" snowflake:"pk"`
	TreeRow  `gorm:"embedded"`
	FolderID sql.NullString `gorm:"size:20"`
}

// treeDoc has a composite key, half of which the caller sets.
type treeDoc struct {
	TenantID types.ID `gorm:"primaryKey"`
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow  `gorm:"embedded"`
	Number   string     `gorm:"size:32" snowflake:"serial=DOC"`
	Parts    []treePart `gorm:"foreignKey:DocTenantID,DocID;references:TenantID,ID"`
	See      []*treeDoc `gorm:"many2many:tree_see"`
}

type treePart struct {
	ID          types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow     `gorm:"embedded"`
	DocTenantID types.ID
	DocID       types.ID
	Doc         *treeDoc `gorm:"foreignKey:DocTenantID,DocID;references:TenantID,ID"`
}

// treeUser and treeProfile share a key, from which a serial number is made.
type treeUser struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow `gorm:"embedded"`
	Profile *treeProfile `gorm:"foreignKey:UserID"`
}

type treeProfile struct {
	UserID  types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number  string   `gorm:"size:32" snowflake:"serial=PRO"`
	TreeRow `gorm:"embedded"`
	User    *treeUser
}

// treeReceipt has a serial number as its key.
type treeReceipt struct {
	Number  string `gorm:"primaryKey;size:32" snowflake:"serial=REC"`
	TreeRow `gorm:"embedded"`
	Items   []treeItem `gorm:"foreignKey:ReceiptNumber"`
}

type treeItem struct {
	ID            types.ID `gorm:"primaryKey" snowflake:"pk"`
	TreeRow       `gorm:"embedded"`
	ReceiptNumber string `gorm:"size:32"`
	Receipt       *treeReceipt
}

// treeKind is a model and, for a few models, creates by GORM's generics API. That API
// passes the rows to the same Create, and the compiler takes a second for it for each
// model.
type treeKind struct {
	model         any
	genericCreate func(db *gorm.DB, row any) error
	genericBatch  func(db *gorm.DB, rows any, size int) error
}

// genericKind returns a model that the test also creates by the generics API.
func genericKind[T any]() treeKind {
	ctx := context.Background()
	return treeKind{
		model:         new(T),
		genericCreate: func(db *gorm.DB, row any) error { return gorm.G[T](db).Create(ctx, row.(*T)) },
		genericBatch: func(db *gorm.DB, rows any, size int) error {
			return gorm.G[T](db).CreateInBatches(ctx, rows.(*[]T), size)
		},
	}
}

// treeKinds returns the models of the random trees.
func treeKinds() []treeKind {
	return []treeKind{
		genericKind[treeNode](),
		{model: &treeRoom{}},
		{model: &treeLeaf{}},
		{model: &treeBadge{}},
		{model: &treeNote{}},
		{model: &treeTopic{}},
		{model: &treeOrder{}},
		{model: &treeLine{}},
		genericKind[treeBuyer](),
		{model: &treeLabel{}},
		{model: &treeTag{}},
		{model: &treeFolder{}},
		{model: &treeFile{}},
		genericKind[treeDoc](),
		{model: &treePart{}},
		{model: &treeUser{}},
		{model: &treeProfile{}},
		{model: &treeReceipt{}},
		{model: &treeItem{}},
	}
}
