package types_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// A counted row has a key that the database assigns from a counter, as in tables from before
// Snowflake keys.
type counted struct {
	ID   types.ID `gorm:"primaryKey;autoIncrement"`
	Name string
}

// The tag autoIncrement still lets the database assign a key of type ID.
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

// A foreign key of type ID to a uint key gets the type of that key, because MySQL refuses a
// foreign key between bigint and bigint unsigned.
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

// Without package gormflake's plugin nothing sets the key, which would be stored as 0.
// Creating such a row is an error, also in a batch.
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

// tenantNote has an optional folder of its tenant, and so a foreign key of two columns
// of which one may be NULL.
type (
	tenantFolder[K ~int64] struct {
		TenantID int64           `gorm:"primaryKey;autoIncrement:false"`
		ID       K               `gorm:"primaryKey"`
		Notes    []tenantNote[K] `gorm:"foreignKey:TenantID,FolderID;references:TenantID,ID;constraint:-"`
	}
	tenantNote[K ~int64] struct {
		ID       K `gorm:"primaryKey"`
		TenantID *int64
		FolderID *K
		Folder   *tenantFolder[K] `gorm:"foreignKey:TenantID,FolderID;references:TenantID,ID;constraint:-"`
	}
)

func (tenantFolder[K]) TableName() string { return "tenant_folders" }
func (tenantNote[K]) TableName() string   { return "tenant_notes" }

// GORM calls Value on a nil *ID in a foreign key of two columns. That must not panic, and a
// row without a folder must stay without one in each operation of an association.
func TestNilIDInAKeyOfTwoColumns(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		t.Run("ID", func(t *testing.T) { testNilInKey[types.ID](t, db) })
		t.Run("Of", func(t *testing.T) { testNilInKey[types.Of[counted]](t, db) })
	})
}

// testNilInKey runs GORM's operations on notes of which one has no folder.
func testNilInKey[K ~int64](t *testing.T, db *gorm.DB) {
	t.Helper()
	type (
		folder = tenantFolder[K]
		note   = tenantNote[K]
	)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	alone := func(want int64) { // checks the number of notes without a folder
		t.Helper()
		var n int64
		if must(db.Model(&note{}).Where(&note{}, "FolderID").Count(&n).Error); n != want {
			t.Errorf("%d notes without a folder, want %d", n, want)
		}
	}
	must(db.AutoMigrate(&folder{}, &note{}))
	defer func() { must(db.Migrator().DropTable(&note{}, &folder{})) }()
	tenant := int64(1)
	must(db.Create(&folder{TenantID: 1, ID: 1, Notes: []note{{ID: 1}}}).Error)
	must(db.Create(&note{ID: 2, TenantID: &tenant}).Error)

	var notes []note
	must(db.Preload("Folder").Order("id").Find(&notes).Error)
	if len(notes) != 2 || notes[0].Folder == nil || *notes[0].FolderID != 1 || notes[1].Folder != nil || notes[1].FolderID != nil {
		t.Fatalf("notes %+v", notes)
	}
	filed, loose := &notes[0], &notes[1]
	for _, model := range []any{loose, &notes} {
		must(db.Model(model).Association("Folder").Find(&[]folder{}))
		db.Model(model).Association("Folder").Count()
		must(db.Model(model).Association("Folder").Delete(&folder{TenantID: 1, ID: 2}))
	}
	alone(1)
	first := &folder{TenantID: 1, ID: 1}
	must(db.Model(first).Association("Notes").Replace(loose))
	alone(1)
	must(db.Model(first).Association("Notes").Delete(filed, &note{ID: 3, TenantID: &tenant}))
	must(db.Model(filed).Association("Folder").Append(first))
	alone(0)
	must(db.Model(filed).Select("FolderID").Updates(note{}).Error)
	alone(1)
}
