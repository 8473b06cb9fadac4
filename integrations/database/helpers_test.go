// Package database_test tests types.ID with drivers, query builders and GORM's own
// plugins and generators.
package database_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// sample has more digits than a float64 holds, and text is its decimal form.
const (
	sample types.ID = 7529595880471527425
	text            = "7529595880471527425"
)

// order is a row whose parent may be NULL.
type order struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Parent *types.ID
}

// ok ends the test if there is an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test unless the values are equal.
func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// open returns a database with the plugin, whose first key is 1001, and with empty tables of
// the models.
func open(t *testing.T, target testdb.Target, models ...any) *gorm.DB {
	t.Helper()
	db := testdb.Open(t, target)
	ok(t, db.Use(gormflake.New(&plugintest.Counter{})))
	ok(t, db.AutoMigrate(models...))
	return db
}
