// Package sqlmock shows the expectations of go-sqlmock for creates with keys. They are
// the same on each database, because GORM reads no key back.
package sqlmock

import (
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// user is a model whose key the plugin sets by its tag.
type user struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name string
}

// listed is a model with a uint key, which the plugin fills by WithModels.
type listed struct {
	ID   uint
	Name string
}

// auto has a key that the database assigns. Its statement differs on PostgreSQL and
// SQLite.
type auto struct {
	ID   uint
	Name string
}

// dialects are GORM's dialects, each opened on a mock instead of a server.
var dialects = []struct {
	name string
	open func(gorm.ConnPool) gorm.Dialector
}{
	{"mysql", func(pool gorm.ConnPool) gorm.Dialector {
		return mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true})
	}},
	{"postgres", func(pool gorm.ConnPool) gorm.Dialector { return postgres.New(postgres.Config{Conn: pool}) }},
	{"sqlite", func(pool gorm.ConnPool) gorm.Dialector { return sqlite.New(sqlite.Config{Conn: pool}) }},
}

// each runs the test on a mock for each database. gen returns the generator of the plugin.
func each(t *testing.T, gen func(*testing.T) gormflake.Generator, test func(t *testing.T, db *gorm.DB, mock sqlmock.Sqlmock)) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			pool, mock, err := sqlmock.New()
			if err != nil {
				t.Fatal(err)
			}
			if d.name == "sqlite" { // whose dialect asks for the version when GORM opens it
				mock.ExpectQuery("select sqlite_version").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow("3.45.0"))
			}
			db, err := gorm.Open(d.open(pool), &gorm.Config{SkipDefaultTransaction: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Use(gormflake.New(gen(t), gormflake.WithModels(&listed{}))); err != nil {
				t.Fatal(err)
			}
			test(t, db, mock)
			if err := mock.ExpectationsWereMet(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeys checks that a test that knows the keys can expect them in the statements.
func TestKeys(t *testing.T) {
	t.Parallel()
	gen := func(*testing.T) gormflake.Generator { return gormflaketest.Keys(1001, 1002) }
	each(t, gen, func(t *testing.T, db *gorm.DB, mock sqlmock.Sqlmock) {
		create := func(row any, table, name string, key int64) {
			mock.ExpectExec("INSERT INTO ."+table+". ").WithArgs(key, name).WillReturnResult(sqlmock.NewResult(0, 1))
			if err := db.Create(row).Error; err != nil {
				t.Error(err)
			}
		}
		create(&user{Name: "Ada"}, "users", "Ada", 1001)
		create(&listed{Name: "Bob"}, "listeds", "Bob", 1002)
	})
}

// TestStatic checks a key that no test can predict, for which the mock accepts any
// argument.
func TestStatic(t *testing.T) {
	t.Parallel()
	gen := func(t *testing.T) gormflake.Generator {
		gen, err := snowflake.New(snowflake.Static(0, 0), snowflake.WithLayout(snowflake.TwitterLayout()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = gen.Close(t.Context()) })
		return gen
	}
	each(t, gen, func(t *testing.T, db *gorm.DB, mock sqlmock.Sqlmock) {
		mock.ExpectExec("INSERT INTO .users. ").WithArgs(sqlmock.AnyArg(), "Ada").WillReturnResult(sqlmock.NewResult(0, 1))
		row := user{Name: "Ada"}
		if err := db.Create(&row).Error; err != nil || row.ID < 1<<53 {
			t.Errorf("key %v: %v", row.ID, err)
		}
	})
}

// TestAutoIncrement checks a model whose key the database assigns. GORM reads the key by
// RETURNING, except on MySQL.
func TestAutoIncrement(t *testing.T) {
	t.Parallel()
	gen := func(*testing.T) gormflake.Generator { return gormflaketest.Keys() }
	each(t, gen, func(t *testing.T, db *gorm.DB, mock sqlmock.Sqlmock) {
		if db.Name() == "mysql" {
			mock.ExpectExec("INSERT INTO `autos` ").WithArgs("Ada").WillReturnResult(sqlmock.NewResult(5, 1))
		} else {
			mock.ExpectQuery("INSERT INTO .autos. .* RETURNING .id.").WithArgs("Ada").WillReturnRows(sqlmock.NewRows([]string{"id"}).AddRow(5))
		}
		row := auto{Name: "Ada"}
		if err := db.Create(&row).Error; err != nil || row.ID != 5 {
			t.Errorf("key %v: %v", row.ID, err)
		}
	})
}
