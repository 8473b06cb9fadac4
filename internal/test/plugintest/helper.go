// Package plugintest contains the models, generators, rows and failing sessions that the
// tests of the plugin share, and the errors that they expect. The tests are next to the
// code that they test, in the root, and in internal/model, fill, guard, tree, check and
// copyrows.
package plugintest

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// NewPlugin returns a plugin with the generator that all tests share.
func NewPlugin(t testing.TB) *gormflake.Plugin {
	t.Helper()
	gen, err := SharedGenerator()
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

// Dummy returns a database that builds statements and does not run them.
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

// Dry returns a session without a database, which builds statements and does not run
// them.
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

// Wants fails the test unless err has as many lines as want has elements. Each line must begin
// with "gormflake: ", and contain all parts in its element of want.
func Wants(t *testing.T, err error, want ...[]string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("err = %v\nwant %d lines", err, len(want))
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.HasPrefix(lines[i], "gormflake: ") || !strings.Contains(lines[i], part) {
				t.Errorf("line %q lacks %q", lines[i], part)
			}
		}
	}
}

// The causes of an unset key in the errors that [Unset] returns.
const (
	NoPlugin = "the plugin is not registered in this *gorm.DB: call gormflake.Open, or db.Use(gormflake.New(gen)), first"
	NoTag    = `the field has no tag: add snowflake:"pk"`
	ByHook   = "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	ByMap    = `the map has 0 for it: leave it out for the plugin to fill, or set a key`
	Counted  = `; if the database assigns it, add gorm:"autoIncrement"`
)

// Unset returns the text of the error of a create for an unset key.
func Unset(model, field, cause string) string {
	return fmt.Sprintf("gormflake: model %s, field %s: the row has no key: %s", model, field, cause)
}

// Version is a field type that adds its own clause to creates, as plugins for optimistic
// locks do. This clause and the plugin's own clause must both apply.
type Version int64

// CreateClauses returns the clause that sets the field in each create.
func (Version) CreateClauses(f *schema.Field) []clause.Interface {
	return []clause.Interface{setVersion{field: f}}
}

// setVersion sets the field to 1 in each row that is created.
type setVersion struct {
	clause.Insert
	field *schema.Field
}

func (s setVersion) ModifyStatement(stmt *gorm.Statement) {
	stmt.SetColumn(s.field.Name, Version(1), true)
}

// Memory opens a SQLite database in memory.
func Memory(t testing.TB, p gorm.Plugin) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // each connection would have a separate database
	t.Cleanup(func() { pool.Close() })
	if p != nil {
		Use(t, db, p)
	}
	return db
}
