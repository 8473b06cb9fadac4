package model_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// ledger embeds gormflake.Model, as its children and its many-to-many rows do.
type ledger struct {
	gormflake.Model
	Title string
	Lines []ledgerLine
	Marks []ledgerMark `gorm:"many2many:ledger_marks_of"`
}

type ledgerLine struct {
	gormflake.Model
	LedgerID int64
}

type ledgerMark struct {
	gormflake.Model
	Name string `gorm:"size:20"`
}

var ledgerModels = []any{&ledger{}, &ledgerLine{}, &ledgerMark{}}

// TestModel checks that models that embed gormflake.Model get keys and time stamps, also
// in related rows, and pass Check.
func TestModel(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, ledgerModels...)
		l := ledger{Title: "a", Lines: []ledgerLine{{}, {}}, Marks: []ledgerMark{{Name: "x"}, {Name: "y"}}}
		plugintest.Must(t, db.Create(&l))
		var stored ledger
		plugintest.Must(t, db.Preload("Lines").Preload("Marks").First(&stored, l.ID))
		if len(stored.Lines) != 2 || len(stored.Marks) != 2 || stored.CreatedAt.IsZero() || stored.UpdatedAt.IsZero() {
			t.Errorf("row = %+v", stored)
		}
		if err := gormflake.Check(db, ledgerModels...); err != nil {
			t.Error(err)
		}
	})
}

// TestModelMigratesOnce checks that AutoMigrate changes nothing in tables that it has
// created.
func TestModelMigratesOnce(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, ledgerModels...)
		rec := &plugintest.Recorder{Interface: logger.Discard}
		plugintest.Migrate(t, db.Session(&gorm.Session{Logger: rec}), ledgerModels...)
		for _, sql := range rec.Statements() {
			if strings.HasPrefix(sql, "ALTER") || strings.HasPrefix(sql, "CREATE") || strings.HasPrefix(sql, "DROP") {
				t.Errorf("second migration: %s", sql)
			}
		}
		if len(rec.Statements()) == 0 {
			t.Error("nothing was recorded")
		}
	})
}

// TestModelWithoutPlugin checks that a create on a handle without the plugin fails, and
// does not silently lose children.
func TestModelWithoutPlugin(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, ledgerModels...)
		want := plugintest.Unset("ledger", "Model.ID", plugintest.NoPlugin+plugintest.Counted)
		for _, value := range []any{
			&ledger{Title: "a", Lines: []ledgerLine{{}, {}, {}}}, &[]ledger{{Title: "b"}},
		} {
			if err := db.Create(value).Error; err == nil || err.Error() != want {
				t.Errorf("err = %v, want %s", err, want)
			}
		}
		l := ledger{Model: gormflake.Model{ID: 1}, Lines: []ledgerLine{{}, {}, {}}}
		if err := db.Create(&l).Error; err == nil {
			t.Error("children without keys were written")
		}
		if plugintest.Count(t, db, &ledger{}) != 0 || plugintest.Count(t, db, &ledgerLine{}) != 0 {
			t.Error("rows were written")
		}
	})
}

// TestModelWithPrefix checks that Model can be embedded with a prefix. A constraint in the
// tags of Model would fail here, because GORM would copy it into tables that have no column
// id, such as prefixed, whose key is my_id.
func TestModelWithPrefix(t *testing.T) {
	t.Parallel()
	type prefixed struct {
		gormflake.Model `gorm:"embeddedPrefix:my_"`
		Title           string
		Marks           []ledgerMark `gorm:"many2many:prefixed_marks"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &ledgerMark{}, &prefixed{})
		row := prefixed{Title: "a", Marks: []ledgerMark{{Name: "x"}}}
		plugintest.Must(t, db.Create(&row))
		var stored prefixed
		plugintest.Must(t, db.Preload("Marks").First(&stored, "my_id = ?", row.ID))
		if row.ID == 0 || len(stored.Marks) != 1 {
			t.Errorf("row = %+v", stored)
		}
	})
}

// TestModelInOwnCase checks that rows of gormflake.Model can be created with a naming
// strategy that keeps upper-case letters in the names of columns.
func TestModelInOwnCase(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		plugintest.Migrate(t, db, &ledgerMark{})
		plugintest.Must(t, db.Create(&ledgerMark{Name: "x"}))
	}, &gorm.Config{NamingStrategy: schema.NamingStrategy{NoLowerCase: true}})
}

// TestModelRebuildsNoTable checks that AutoMigrate does not rebuild an existing table whose
// model now embeds Model. A rebuild would delete the rows of other tables that refer to the
// table by ON DELETE CASCADE. The existing table, created from oldLedger, has the columns of
// Model, and lacks the column name.
func TestModelRebuildsNoTable(t *testing.T) {
	t.Parallel()
	type oldLedger struct {
		ID        types.ID `gorm:"primaryKey"`
		CreatedAt time.Time
		UpdatedAt time.Time
		Title     string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db.Table("ledger_marks"), &oldLedger{})
		rec := &plugintest.Recorder{Interface: logger.Discard}
		plugintest.Migrate(t, db.Session(&gorm.Session{Logger: rec}), &ledgerMark{})
		for _, sql := range rec.Statements() {
			if strings.HasPrefix(sql, "CREATE TABLE") || strings.HasPrefix(sql, "DROP") || strings.Contains(sql, "CONSTRAINT") {
				t.Errorf("migration: %s", sql)
			}
		}
	})
}
