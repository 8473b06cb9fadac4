package gormflake_test

import (
	"database/sql"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

type (
	listedInt  int
	listedUint uint
)

// listedKind is a model of one kind of key.
type listedKind struct {
	name string
	rows plugintest.RowKind
}

func generic[K any](name string) listedKind {
	model := &listed[K]{}
	return listedKind{name, listedRows(model, model.TableName(), "ID")}
}

// modelRows are rows of gorm.Model, which is what most listed models embed.
func modelRows() plugintest.RowKind {
	rows := listedRows(&listedModel{}, "listed_models", "ID")
	rows.Generics = plugintest.GenericPaths[listedModel]
	return rows
}

var listedKinds = []listedKind{
	{"gorm.Model", modelRows()},
	{"behind a pointer", listedRows(&listedBehind{}, "listed_behinds", "ID")},
	{"autoIncrement, other name", listedRows(&listedCounted{}, "listed_counteds", "Number")},
	generic[uint]("uint"),
	generic[int]("int"),
	generic[uint64]("uint64"),
	generic[int64]("int64"),
	generic[listedInt]("named int"),
	generic[listedUint]("named uint"),
	generic[*uint]("pointer to uint"),
	generic[*int64]("pointer to int64"),
	generic[*listedUint]("pointer to named"),
	generic[sql.NullInt64]("NullInt64"),
	generic[sql.Null[uint64]]("Null"),
}

func listedModels() (models []any) {
	for _, kind := range listedKinds {
		models = append(models, kind.rows.Model)
	}
	return models
}

func openListed(t *testing.T, db *gorm.DB, models ...any) {
	t.Helper()
	gen, err := plugintest.SharedGenerator()
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Use(t, db, gormflake.New(gen, gormflake.WithModels(models...)))
}

// Each way of creating rows gives keys to listed models of each kind.
func TestWithModelsPaths(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		openListed(t, db, listedModels()...)
		for _, kind := range listedKinds {
			t.Run(kind.name, func(t *testing.T) { plugintest.RunPaths(t, db, kind.rows, kind.rows.Paths()) })
		}
		if err := gormflake.Check(db, listedModels()...); err != nil {
			t.Errorf("Check: %v", err)
		}
	})
}

// Without the option, the database gives keys to the same models.
func TestWithModelsControl(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, kind := range listedKinds {
			plugintest.Migrate(t, db, kind.rows.Model)
			plugintest.Must(t, db.Model(kind.rows.Model).Create(map[string]any{"title": "a"}))
			var id types.ID
			plugintest.Must(t, db.Model(kind.rows.Model).Select("id").Scan(&id))
			if id != 1 {
				t.Errorf("%s: row has key %d, want 1 from the database", kind.name, id)
			}
		}
	})
}
