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
	plainInt  int
	plainUint uint
)

// plainKind is a model without tags. The kinds differ in the type and the place of the key.
type plainKind struct {
	name string
	rows plugintest.RowKind
}

// generic returns the model [keyed] with a key of type K.
func generic[K any](name string) plainKind {
	model := &keyed[K]{}
	return plainKind{name, plainRows(model, model.TableName(), "ID")}
}

// modelRows returns rows of a model that embeds gorm.Model, as most models without tags
// do.
func modelRows() plugintest.RowKind {
	rows := plainRows(&plainModel{}, "plain_models", "ID")
	rows.Generics = plugintest.GenericPaths[plainModel]
	return rows
}

var plainKinds = []plainKind{
	{"gorm.Model", modelRows()},
	{"behind a pointer", plainRows(&plainBehind{}, "plain_behinds", "ID")},
	{"autoIncrement, other name", plainRows(&plainCounted{}, "plain_counteds", "Number")},
	generic[uint]("uint"),
	generic[int]("int"),
	generic[uint64]("uint64"),
	generic[int64]("int64"),
	generic[plainInt]("named int"),
	generic[plainUint]("named uint"),
	generic[*uint]("pointer to uint"),
	generic[*int64]("pointer to int64"),
	generic[*plainUint]("pointer to named"),
	generic[sql.NullInt64]("NullInt64"),
	generic[sql.Null[uint64]]("Null"),
}

func plainModels() (models []any) {
	for _, kind := range plainKinds {
		models = append(models, kind.rows.Model)
	}
	return models
}

// openPlain registers the plugin with WithModels(models...).
func openPlain(t *testing.T, db *gorm.DB, models ...any) {
	t.Helper()
	gen, err := plugintest.SharedGenerator()
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Use(t, db, gormflake.New(gen, gormflake.WithModels(models...)))
}

// TestWithModelsPaths checks that every way of creating rows sets the keys of models of
// WithModels, for each kind of key.
func TestWithModelsPaths(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		openPlain(t, db, plainModels()...)
		for _, kind := range plainKinds {
			t.Run(kind.name, func(t *testing.T) { plugintest.RunPaths(t, db, kind.rows, kind.rows.Paths()) })
		}
		if err := gormflake.Check(db, plainModels()...); err != nil {
			t.Errorf("Check: %v", err)
		}
	})
}

// TestWithModelsControl checks that without WithModels the database assigns keys to these
// models. Otherwise TestWithModelsPaths would not show that the option sets the keys.
func TestWithModelsControl(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, kind := range plainKinds {
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
