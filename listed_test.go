package gormflake_test

import (
	"database/sql"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/plugintest"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

type (
	listedInt  int
	listedUint uint
)

// listedKind runs a test with a model of one kind of key.
type listedKind struct {
	name string
	row  any
	run  func(t *testing.T, db *gorm.DB)
}

func kindOf[T any](name, table, key string, generics func(plugintest.RowKind[T]) []plugintest.Path[T]) listedKind {
	rows := listedRows[T](table, key)
	rows.Generics = generics
	return listedKind{name, new(T), func(t *testing.T, db *gorm.DB) { plugintest.RunPaths(t, db, rows, rows.Paths()) }}
}

func generic[K any](name string) listedKind {
	return kindOf[listed[K]](name, listed[K]{}.TableName(), "ID", nil)
}

var listedKinds = []listedKind{
	kindOf[listedModel]("gorm.Model", "listed_models", "ID", plugintest.GenericPaths),
	kindOf[listedBehind]("behind a pointer", "listed_behinds", "ID", nil),
	kindOf[listedCounted]("autoIncrement, other name", "listed_counteds", "Number", nil),
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
		models = append(models, kind.row)
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
			t.Run(kind.name, func(t *testing.T) { kind.run(t, db) })
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
			plugintest.Migrate(t, db, kind.row)
			plugintest.Must(t, db.Model(kind.row).Create(map[string]any{"title": "a"}))
			var id types.ID
			plugintest.Must(t, db.Model(kind.row).Select("id").Scan(&id))
			if id != 1 {
				t.Errorf("%s: row has key %d, want 1 from the database", kind.name, id)
			}
		}
	})
}
