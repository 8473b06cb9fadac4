package fill_test

import (
	"context"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
)

// TestOmittedKeyIsRefused checks that a create that omits its key is an error on every
// database. Otherwise the row would have another key than the struct.
func TestOmittedKeyIsRefused(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{}, &plugintest.PlainKeyBook{}, &plugintest.TextKeyBook{})
		for name, err := range map[string]error{
			"struct":  db.Omit("ID").Create(&plugintest.Book{Title: "a"}).Error,
			"copy":    db.Omit("ID").Create(&plugintest.Book{ID: plugintest.Preset, Title: "a"}).Error,
			"slice":   db.Omit("id").Create(&[]plugintest.Book{{Title: "a"}}).Error,
			"map":     db.Model(&plugintest.Book{}).Omit("ID").Create(map[string]any{"title": "a"}).Error,
			"int64":   db.Omit("ID").Create(&plugintest.PlainKeyBook{Title: "a"}).Error,
			"generic": gorm.G[plugintest.Book](db).Omit("ID").Create(context.Background(), &plugintest.Book{Title: "a"}),
			"string":  db.Omit("ID").Create(&plugintest.TextKeyBook{Title: "a"}).Error,
		} {
			if err == nil || !strings.Contains(err.Error(), "the statement omits the key ID, and the row would get another key than the struct, or none") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}) + plugintest.Count(t, db, &plugintest.PlainKeyBook{}); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestGenericsCreate checks, for every form of create in GORM's generics API, that the row
// has the key that the caller sees. Set has no struct, so there the caller sees no key.
func TestGenericsCreate(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Product{}, &plugintest.Book{})
		ctx := t.Context()
		books := gorm.G[plugintest.Book](db)
		upsert := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"title"})}
		rows := []plugintest.Book{{Title: "batch"}, {Title: "batch2"}}
		one, table, selected, result := plugintest.Book{Title: "one"}, plugintest.Book{Title: "table"}, plugintest.Book{Title: "selected"}, plugintest.Book{Title: "result"}
		affected := gorm.WithResult()
		for name, err := range map[string]error{
			"Create":          books.Create(ctx, &one),
			"Table":           books.Table("books").Create(ctx, &table),
			"Select":          books.Select("Title").Create(ctx, &selected),
			"WithResult":      gorm.G[plugintest.Book](db, affected).Create(ctx, &result),
			"CreateInBatches": books.CreateInBatches(ctx, &rows, 1),
			"Set":             books.Set(clause.Assignment{Column: clause.Column{Name: "title"}, Value: "set"}).Create(ctx),
			"Set with a key": books.Set(
				clause.Assignment{Column: clause.Column{Name: "id"}, Value: plugintest.Preset},
				clause.Assignment{Column: clause.Column{Name: "title"}, Value: "preset"}).Create(ctx),
			"Table and Set": books.Table("books").Set(clause.Assignment{Column: clause.Column{Name: "title"}, Value: "set2"}).Create(ctx),
			"upsert by Set": gorm.G[plugintest.Book](db, upsert).Set(
				clause.Assignment{Column: clause.Column{Name: "id"}, Value: plugintest.Preset + 1},
				clause.Assignment{Column: clause.Column{Name: "title"}, Value: "upsert"}).Create(ctx),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		stored := plugintest.Stored(t, db, "books")
		for title, id := range map[string]any{
			"one": one.ID, "table": table.ID, "selected": selected.ID, "result": result.ID, "batch": rows[0].ID, "batch2": rows[1].ID,
			"preset": plugintest.Preset, "upsert": plugintest.Preset + 1,
		} {
			if stored[title] != plugintest.KeyOf(id) || stored[title] == 0 {
				t.Errorf("%s: row has key %d, caller sees %d", title, stored[title], id)
			}
		}
		// A key of the generator is large, because it has the present time.
		if len(stored) != 10 || stored["set"] < 1<<40 || stored["set2"] < 1<<40 || affected.RowsAffected != 1 {
			t.Errorf("rows = %v, %d affected", stored, affected.RowsAffected)
		}
	})
}

// TestModelWithSoftDelete checks that a model can add soft delete to gormflake.Model, as
// docs/gorm.md shows it, and that it passes Check.
func TestModelWithSoftDelete(t *testing.T) {
	t.Parallel()
	type note struct {
		gormflake.Model
		DeletedAt gorm.DeletedAt `gorm:"index"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &note{})
		if err := gormflake.Check(db, &note{}); err != nil {
			t.Fatal(err)
		}
		rows := []note{{}, {}}
		plugintest.Must(t, db.Create(&rows))
		plugintest.Must(t, db.Delete(&rows[0]))
		var kept, deleted note
		plugintest.Must(t, db.First(&kept))
		plugintest.Must(t, db.Unscoped().First(&deleted, rows[0].ID))
		if plugintest.Count(t, db, &note{}) != 1 || kept.ID != rows[1].ID || !deleted.DeletedAt.Valid || deleted.ID == 0 {
			t.Errorf("kept %+v, deleted %+v, rows %+v", kept, deleted, rows)
		}
	})
}
