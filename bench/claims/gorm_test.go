package claims_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestMain runs the tests, and then prints which servers were missing.
func TestMain(m *testing.M) { testdb.Main(m) }

// master and detail are models whose keys the database assigns. A detail belongs to a
// master.
type master struct {
	ID      int64
	Name    string
	Details []detail
}

type detail struct {
	ID, MasterID int64
}

// TestGORMGuessesKeysWithoutRETURNING checks that GORM without RETURNING only learns the
// first key of a batch, and assumes that the other keys follow it by steps of 1. Here the
// server assigns them by steps of 3, so the details refer to masters that do not exist.
func TestGORMGuessesKeysWithoutRETURNING(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.MySQL)
	if err := db.AutoMigrate(&master{}, &detail{}); err != nil {
		t.Fatal(err)
	}
	// Without the foreign key, details can be stored although their master does not exist.
	if err := db.Migrator().DropConstraint(&master{}, "Details"); err != nil {
		t.Fatal(err)
	}
	err := db.Connection(func(tx *gorm.DB) error {
		if err := tx.Exec("SET auto_increment_increment = 3").Error; err != nil {
			return err
		}
		masters := []master{{Details: []detail{{}}}, {Details: []detail{{}}}, {Details: []detail{{}}}}
		return tx.Create(&masters).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	var orphans int64
	err = db.Model(&detail{}).Where("master_id NOT IN (?)", db.Model(&master{}).Select("id")).Count(&orphans).Error
	if err != nil || orphans != 2 {
		t.Errorf("%d details have no master, %v, want 2 of 3", orphans, err)
	}
	var masters int64
	if err := db.Model(&master{}).Count(&masters).Error; err != nil || masters != 3 {
		t.Errorf("%d masters, %v, want 3", masters, err)
	}
}

// On a database with RETURNING, GORM learns the key of each master that the database has
// assigned, so each detail refers to its own master.
func TestGORMReadsKeysBack(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if testdb.TargetOf(db) == testdb.MySQL {
			t.Skip("see TestGORMGuessesKeysWithoutRETURNING")
		}
		if err := db.AutoMigrate(&master{}, &detail{}); err != nil {
			t.Fatal(err)
		}
		masters := []master{{Details: []detail{{}, {}}}, {Details: []detail{{}}}}
		if err := db.Create(&masters).Error; err != nil {
			t.Fatal(err)
		}
		for _, m := range masters {
			for _, d := range m.Details {
				if m.ID == 0 || d.ID == 0 || d.MasterID != m.ID {
					t.Errorf("%+v of %+v", d, m)
				}
			}
		}
	})
}

// note sets its own key, as many programs do.
type note struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false"`
	Title string
}

// BeforeCreate sets the key, here always the same.
func (n *note) BeforeCreate(*gorm.DB) error {
	if n.ID == 0 {
		n.ID = 1001
	}
	return nil
}

// A hook sets no key if the row is a map or the session skips hooks.
func TestGORMHooksCanBePassedBy(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	if err := db.AutoMigrate(&note{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Model(&note{}).Create(map[string]any{"title": "a"}).Error; err != nil {
		t.Fatal(err)
	}
	var got note
	if err := db.First(&got).Error; err != nil || got.ID == 1001 {
		t.Errorf("%+v, %v, want another key than the hook's", got, err)
	}
	if err := db.Session(&gorm.Session{SkipHooks: true}).Create(&note{Title: "b"}).Error; err != nil {
		t.Fatal(err)
	}
	var skipped note
	if err := db.First(&skipped, "title = ?", "b").Error; err != nil || skipped.ID == 1001 {
		t.Errorf("%+v, %v, want another key than the hook's", skipped, err)
	}
}
