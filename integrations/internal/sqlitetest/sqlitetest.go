// Package sqlitetest tests keys with a SQLite dialector other than GORM's own. The
// drivers of these dialectors share names with other drivers, so each has a separate
// package, and so a separate test binary.
package sqlitetest

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// order and line are the models of CheckKeys, a row and its child.
type order struct {
	gormflake.Model
	Lines []line
}

type line struct {
	gormflake.Model
	OrderID types.ID
}

// CheckKeys leases a worker from the empty database of the dialector, creates a row with a
// child, and checks that it can read both. It reads the row by its rowid, the number that SQLite
// gives to each row. The rowid must be the key, because the key then needs no second index.
func CheckKeys(t *testing.T, dialector gorm.Dialector) {
	t.Helper()
	db, err := gorm.Open(dialector)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	gen, err := gormflake.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(context.WithoutCancel(t.Context()))
	if err := db.AutoMigrate(&order{}, &line{}); err != nil {
		t.Fatal(err)
	}
	created := order{Lines: []line{{}}}
	if err := db.Create(&created).Error; err != nil {
		t.Fatal(err)
	}
	var read order
	if err := db.Preload("Lines").Take(&read, "rowid = ?", created.ID).Error; err != nil {
		t.Fatal(err)
	}
	if read.ID != created.ID || len(read.Lines) != 1 || read.Lines[0].OrderID != created.ID {
		t.Errorf("got %+v, want %+v", read, created)
	}
}
