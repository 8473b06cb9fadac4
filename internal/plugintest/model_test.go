package plugintest

import (
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
)

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

func TestModel(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, ledgerModels...)
		l := ledger{Title: "a", Lines: []ledgerLine{{}, {}}, Marks: []ledgerMark{{Name: "x"}, {Name: "y"}}}
		Must(t, db.Create(&l))
		var stored ledger
		Must(t, db.Preload("Lines").Preload("Marks").First(&stored, l.ID))
		if len(stored.Lines) != 2 || len(stored.Marks) != 2 || stored.CreatedAt.IsZero() || stored.UpdatedAt.IsZero() {
			t.Errorf("row = %+v", stored)
		}
		if err := gormflake.Check(db, ledgerModels...); err != nil {
			t.Error(err)
		}
	})
}

func TestModelMigratesOnce(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, ledgerModels...)
		rec := &Recorder{Interface: logger.Discard}
		Migrate(t, db.Session(&gorm.Session{Logger: rec}), ledgerModels...)
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

// A database handle without the plugin must not lose children silently.
func TestModelWithoutPlugin(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Migrate(t, db, ledgerModels...)
		l := ledger{Title: "a", Lines: []ledgerLine{{}, {}, {}}}
		err := db.Create(&l).Error
		if err == nil || !strings.Contains(err.Error(), "chk_ledgers_created_at") && !strings.Contains(err.Error(), "CHECK constraint failed") {
			t.Errorf("err = %v, want the check constraint", err)
		}
		if err := db.Omit("Lines").Create(&[]ledger{{Title: "b"}}).Error; err == nil {
			t.Error("a row without key was written")
		}
		if Count(t, db, &ledger{}) != 0 || Count(t, db, &ledgerLine{}) != 0 {
			t.Error("rows were written")
		}
	})
}
