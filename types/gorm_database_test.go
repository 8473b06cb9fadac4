package types_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

// A counted key is one of the time before Snowflake keys.
type counted struct {
	ID   types.ID `gorm:"primaryKey;autoIncrement"`
	Name string
}

func TestGormAutoIncrementKey(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		for range 2 { // as at each start of a program
			if err := db.AutoMigrate(&counted{}); err != nil {
				t.Fatal(err)
			}
		}
		rows := []counted{{Name: "first"}, {Name: "second"}}
		if err := db.Create(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if rows[0].ID != 1 || rows[1].ID != 2 {
			t.Errorf("the database has assigned %d and %d, want 1 and 2", rows[0].ID, rows[1].ID)
		}
	})
}

type (
	unsignedParent struct {
		ID   uint // on MySQL bigint unsigned
		Name string
	}
	unsignedChild struct {
		ID       types.ID `gorm:"primaryKey"`
		ParentID types.ID
		Parent   *unsignedParent
	}
)

// MySQL refuses a foreign key between columns of different types.
func TestGormForeignKeyHasTheTypeOfItsKey(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&unsignedParent{}, &unsignedChild{}); err != nil {
			t.Fatal(err)
		}
		child := unsignedChild{ID: sample, Parent: &unsignedParent{}}
		if err := db.Create(&child).Error; err != nil {
			t.Fatal(err)
		}
		if child.ParentID != 1 {
			t.Errorf("the parent is %d, want 1", child.ParentID)
		}
	})
}

// Without package gormflake's plugin an unset key would be stored as 0.
func TestGormUnsetKeyIsRefused(t *testing.T) {
	t.Parallel()
	type keyed struct{ ID types.ID }
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&keyed{}); err != nil {
			t.Fatal(err)
		}
		for _, rows := range []any{&keyed{}, &[]keyed{{ID: 1}, {}}, []*keyed{{}}} {
			if err := db.Create(rows).Error; err == nil || !strings.Contains(err.Error(), "model keyed, field ID: the row has no key") {
				t.Errorf("err = %v", err)
			}
		}
		if err := db.Create(&keyed{ID: sample}).Error; err != nil {
			t.Error(err)
		}
		var n int64
		if err := db.Model(&keyed{}).Count(&n).Error; err != nil || n != 1 {
			t.Errorf("%d rows, %v; want 1", n, err)
		}
	})
}
