package database_test

import (
	"os"
	"path/filepath"
	"testing"

	"gorm.io/cli/gorm/field"
	"gorm.io/gen"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/integrations/database/cliquery"
	"github.com/gormflake/gormflake/integrations/database/genquery"
	"github.com/gormflake/gormflake/integrations/database/models"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestGormGen checks that the files in the folder genquery are equal to the files that
// package gen generates from models.Order. In them a column of type types.ID is a Field of
// package gorm.io/gen/field, and not of the package field that this file imports. The
// methods Eq, In and Gt of such a Field accept a types.ID. The query finds the first of two
// rows, whose key is 1001, because the keys of a database of open begin there.
func TestGormGen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "genquery")
	generator := gen.NewGenerator(gen.Config{OutPath: dir, Mode: gen.WithDefaultQuery | gen.WithQueryInterface})
	generator.ApplyBasic(models.Order{})
	generator.Execute()
	for _, file := range []string{"gen.go", "orders.gen.go"} {
		generated, err := os.ReadFile(filepath.Join(dir, file))
		ok(t, err)
		if os.Getenv("GORMFLAKE_TEST_GENERATE") != "" {
			ok(t, os.WriteFile(filepath.Join("genquery", file), generated, 0o600))
		}
		committed, err := os.ReadFile(filepath.Join("genquery", file))
		ok(t, err)
		if string(committed) != string(generated) {
			t.Errorf("genquery/%s differs from what the generator writes: run this test with GORMFLAKE_TEST_GENERATE=1", file)
		}
	}
	query := genquery.Use(open(t, testdb.SQLite, &models.Order{}))
	orders, id := query.Order.WithContext(t.Context()), query.Order.ID
	ok(t, orders.Create(&models.Order{}, &models.Order{}))
	found, err := orders.Where(id.In(types.ID(1001), types.ID(7)), id.Gt(types.ID(7))).Find()
	ok(t, err)
	equal(t, len(found), 1)
	equal(t, found[0].ID, 1001)
}

// TestGormCLI checks that the FieldTypeMap in package models makes a field of type types.ID a
// field.Number in the generated code. Otherwise the field would be a field.Field, which has no
// methods Gt and Between.
func TestGormCLI(t *testing.T) {
	t.Parallel()
	db := open(t, testdb.SQLite, &models.Order{})
	ok(t, db.Create([]models.Order{{}, {}}).Error)
	id := cliquery.Order.ID
	equal(t, id, field.Number[types.ID]{}.WithColumn("id"))
	found, err := gorm.G[models.Order](db).Where(id.In(1001, 1002)).Where(id.Gt(1001)).Find(t.Context())
	ok(t, err)
	equal(t, len(found), 1)
	equal(t, found[0].ID, 1002)
	equal(t, cliquery.Line.ID, field.Field[models.LineID]{}.WithColumn("id"))
}
