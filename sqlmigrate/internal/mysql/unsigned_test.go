package mysql_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
	"github.com/gormflake/gormflake/types"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// These models have keys of type uint, as gorm.Model has.
type (
	mysqlUintUser struct {
		ID     uint
		Orders []mysqlUintOrder `gorm:"foreignKey:UserID"`
	}
	mysqlUintOrder struct {
		ID     uint
		UserID uint
	}
)

func (mysqlUintUser) TableName() string  { return "users" }
func (mysqlUintOrder) TableName() string { return "orders" }

// These models describe the same tables after the move, as the note of the plan advises,
// and a new table that refers to them.
type (
	mysqlUnsignedUser struct {
		ID     types.ID             `gorm:"type:bigint unsigned" snowflake:"pk"`
		Orders []mysqlUnsignedOrder `gorm:"foreignKey:UserID"`
	}
	mysqlUnsignedOrder struct {
		ID     types.ID `gorm:"type:bigint unsigned" snowflake:"pk"`
		UserID types.ID
	}
	mysqlUnsignedParcel struct {
		ID      types.ID `snowflake:"pk"`
		OrderID types.ID
		Order   *mysqlUnsignedOrder
		Users   []mysqlUnsignedUser `gorm:"many2many:parcel_users;joinForeignKey:parcel_id;joinReferences:user_id"`
	}
)

func (mysqlUnsignedUser) TableName() string   { return "users" }
func (mysqlUnsignedOrder) TableName() string  { return "orders" }
func (mysqlUnsignedParcel) TableName() string { return "parcels" }

// The server rejects a foreign key between a signed and an unsigned column. So GORM must
// create a new column with the type bigint unsigned if the column refers to a key of this
// type. Otherwise AutoMigrate would fail.
func TestMySQLNewTableReferringToUnsignedKey(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on)
		if err := db.AutoMigrate(&mysqlUintUser{}, &mysqlUintOrder{}); err != nil {
			t.Fatal(err)
		}
		mysqlApply(t, db, migratetest.MySQLInspect(t, db, "users", "orders"))
		if err := db.AutoMigrate(&mysqlUnsignedUser{}, &mysqlUnsignedOrder{}, &mysqlUnsignedParcel{}); err != nil {
			t.Fatal(err)
		}
		for table, column := range map[string]string{"users": "id", "orders": "user_id", "parcels": "order_id", "parcel_users": "user_id"} {
			if got := mysqlColumnType(t, db, table, column); got != "bigint unsigned" {
				t.Errorf("%s.%s is %s, want bigint unsigned", table, column, got)
			}
		}
	})
}

// GORM's uint keys make every key bigint unsigned. One note names all of them, because a
// note for each key would hide the other notes.
func TestMySQLUnsignedKeysShareOneNote(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on)
		if err := db.AutoMigrate(&mysqlUintUser{}, &mysqlUintOrder{}); err != nil {
			t.Fatal(err)
		}
		notes := migratetest.MySQLInspect(t, db, "users", "orders").Notes
		if len(notes) != 1 || !strings.Contains(notes[0], ": orders.id, users.id. ") {
			t.Errorf("notes = %q, want one that names orders.id and users.id", notes)
		}
	})
}
