package database_test

import (
	"testing"

	"github.com/Masterminds/squirrel"
	"github.com/doug-martin/goqu/v9"
	_ "github.com/doug-martin/goqu/v9/dialect/sqlite3"
	"github.com/go-gormigrate/gormigrate/v2"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestSquirrel checks that the builder binds keys, also those of a list, and reads them.
func TestSquirrel(t *testing.T) {
	t.Parallel()
	pool, err := open(t, testdb.SQLite, &order{}).DB()
	ok(t, err)
	_, err = squirrel.Insert("orders").Columns("id").Values(sample).RunWith(pool).Exec()
	ok(t, err)
	var id types.ID
	ok(t, squirrel.Select("id").From("orders").Where(squirrel.Eq{"id": []types.ID{sample, 1}}).RunWith(pool).QueryRow().Scan(&id))
	equal(t, id, sample)
}

// TestGoqu checks that keys are numbers without quotes in the SQL.
func TestGoqu(t *testing.T) {
	t.Parallel()
	pool, err := open(t, testdb.SQLite, &order{}).DB()
	ok(t, err)
	db := goqu.New("sqlite3", pool)
	_, err = db.Insert("orders").Rows(goqu.Record{"id": sample, "parent": sample - 1}).Executor().Exec()
	ok(t, err)
	var found []order
	ok(t, db.From("orders").Where(goqu.C("id").In([]types.ID{sample, 1}), goqu.C("parent").Eq(sample-1)).ScanStructs(&found))
	equal(t, len(found), 1)
	equal(t, found[0].ID, sample)
}

// TestGormigrate checks that a row that a migration creates gets a key, and that gormigrate
// can write its own table of migrations, which has no tagged key.
func TestGormigrate(t *testing.T) {
	t.Parallel()
	db := open(t, testdb.SQLite)
	run := gormigrate.New(db, gormigrate.DefaultOptions, []*gormigrate.Migration{{ID: "1", Migrate: func(tx *gorm.DB) error {
		if err := tx.AutoMigrate(&order{}); err != nil {
			return err
		}
		return tx.Create(&order{}).Error
	}}})
	ok(t, run.Migrate())
	var found order
	ok(t, db.First(&found).Error)
	equal(t, found.ID, 1001)
	var migration string
	ok(t, db.Table(gormigrate.DefaultOptions.TableName).Pluck("id", &migration).Error)
	equal(t, migration, "1")
}
