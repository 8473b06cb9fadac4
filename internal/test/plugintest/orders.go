package plugintest

import (
	"database/sql"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// AssignOrder has many lines.
type AssignOrder struct {
	ID    types.ID      `gorm:"primaryKey" snowflake:"pk"`
	Name  string        `gorm:"size:40"`
	Lines []*AssignLine `gorm:"foreignKey:OrderID" json:",omitempty"`
}

// AssignLine belongs to an order and points back to it.
type AssignLine struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
	Order   *AssignOrder `gorm:"foreignKey:OrderID" json:"-"` // back pointer
	SKU     string
	Serials []AssignSerial `gorm:"foreignKey:LineID" json:",omitempty"`
}

// AssignSerial belongs to a line. Its foreign key is a plain integer.
type AssignSerial struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	LineID int64
	Code   types.ID `snowflake:"id"`
}

// AssignUser has a profile behind a pointer, and an address by value.
type AssignUser struct {
	ID      types.ID       `gorm:"primaryKey" snowflake:"pk"`
	Profile *AssignProfile `gorm:"foreignKey:UserID"`
	Address AssignAddress  `gorm:"foreignKey:UserID"`
}

// AssignProfile belongs to a user. Its foreign key may be NULL.
type AssignProfile struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	UserID *types.ID
	Bio    string
}

// AssignAddress belongs to a user. Its foreign key may be NULL.
type AssignAddress struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	UserID sql.NullInt64
	City   string
}

// AssignPost has many tags, each of which has many posts.
type AssignPost struct {
	ID   types.ID     `gorm:"primaryKey" snowflake:"pk"`
	Tags []*AssignTag `gorm:"many2many:assign_post_tags" json:",omitempty"`
}

// AssignTag belongs to many posts.
type AssignTag struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name string
}

// BenchOrder has many lines, by value.
type BenchOrder struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string
	Lines    []BenchLine `gorm:"foreignKey:OrderID"`
}

// BenchLine belongs to a [BenchOrder].
type BenchLine struct {
	ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID types.ID
	SKU     string
}

// NoDatabase returns a handle without a database, which is enough for Assign, because
// Assign runs no statement.
func NoDatabase(tb testing.TB, gen gormflake.Generator, opts ...gormflake.Option) *gorm.DB {
	tb.Helper()
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"}, &gorm.Config{
		DryRun: true, DisableAutomaticPing: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Use(gormflake.New(gen, opts...)); err != nil {
		tb.Fatal(err)
	}
	return db
}
