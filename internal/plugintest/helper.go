// Package plugintest tests what the plugin does, from outside: every way in which
// GORM creates rows, and what Assign and Check do with models of all kinds. Its
// other files are the helpers of these tests and of those in the root.
package plugintest

import (
	"log/slog"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
)

// NewPlugin returns a plugin with the generator that all tests share.
func NewPlugin(t testing.TB) *gormflake.Plugin {
	t.Helper()
	gen, err := sharedGenerator()
	if err != nil {
		t.Fatal(err)
	}
	return gormflake.New(gen)
}

// Each runs the test on every database, with the plugin registered.
func Each(t *testing.T, test func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		Use(t, db, NewPlugin(t))
		test(t, db)
	})
}

// Use registers p in db.
func Use(t testing.TB, db *gorm.DB, p gorm.Plugin) {
	t.Helper()
	if err := db.Use(p); err != nil {
		t.Fatal(err)
	}
}

// Migrate creates the tables of models.
func Migrate(t testing.TB, db *gorm.DB, models ...any) {
	t.Helper()
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
}

// Must stops the test if tx failed.
func Must(t testing.TB, tx *gorm.DB) {
	t.Helper()
	if tx.Error != nil {
		t.Fatal(tx.Error)
	}
}

// Count returns the number of rows of a model.
func Count(t testing.TB, db *gorm.DB, model any) int64 {
	t.Helper()
	var n int64
	Must(t, db.Model(model).Count(&n))
	return n
}

// Dummy opens a database that builds statements and runs none.
func Dummy(t testing.TB, config *gorm.Config) *gorm.DB {
	t.Helper()
	if config.Logger == nil {
		config.Logger = logger.Discard
	}
	db, err := gorm.Open(tests.DummyDialector{}, config)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Dry returns a session that builds statements and has no database.
func Dry(t testing.TB, p gorm.Plugin) *gorm.DB {
	t.Helper()
	db := Dummy(t, &gorm.Config{DryRun: true, SkipDefaultTransaction: true})
	if p != nil {
		Use(t, db, p)
	}
	return db
}

// DiscardLog is a logger for tests that do not read the log.
var DiscardLog = slog.New(slog.DiscardHandler)
