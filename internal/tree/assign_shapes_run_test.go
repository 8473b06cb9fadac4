package tree_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

var errAssignRejected = errors.New("rejected")

// TestAssignThenWrite checks, for trees of all kinds of relations, that the rows that the
// database returns are the assigned rows, whether the tree is stored table by table or by
// one Create. Create must change no key.
func TestAssignThenWrite(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		for _, shape := range assignShapes() {
			t.Run(shape.Name+", batches", func(t *testing.T) {
				plugintest.AssignTables(t, db, shape.Models)
				tree := shape.Tree()
				plugintest.AssignOrFail(t, db, tree)
				writeBatches(t, db, shape, tree)
				plugintest.WantLoaded(t, db, shape, tree)
			})
			t.Run(shape.Name+", one create", func(t *testing.T) {
				plugintest.AssignTables(t, db, shape.Models)
				tree := shape.Tree()
				plugintest.AssignOrFail(t, db, tree)
				before := plugintest.AssignText(t, tree)
				if err := db.Create(tree).Error; err != nil {
					t.Fatal(err)
				}
				if after := plugintest.AssignText(t, tree); after != before {
					t.Fatalf("Create changed the tree to\n%s\nfrom\n%s", after, before)
				}
				plugintest.WantLoaded(t, db, shape, tree)
			})
		}
	})
}

// writeBatches inserts the rows table by table, so that GORM sets no foreign keys.
func writeBatches(t *testing.T, db *gorm.DB, shape plugintest.AssignShape, tree any) {
	t.Helper()
	tables := shape.Tables(tree)
	for i, rows := range tables {
		tx := db.Omit(clause.Associations)
		// The last rows are of the model that has the many-to-many relation. Their create also
		// inserts the rows of the join table.
		if shape.Joined != "" && i == len(tables)-1 {
			tx = db.Omit(shape.Joined + ".*")
		}
		if err := tx.CreateInBatches(rows, 3).Error; err != nil {
			t.Fatal(err)
		}
	}
}
