package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/types"
)

// assignGenerator counts up from a number that JavaScript cannot represent, and
// records the blocks that it returned.
type assignGenerator struct {
	mu     sync.Mutex
	last   int64
	blocks []int
	reject func(block int) error
}

func newAssignGenerator() *assignGenerator { return &assignGenerator{last: 1 << 60} }

func (g *assignGenerator) Fill(_ context.Context, dst []types.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reject != nil {
		if err := g.reject(len(g.blocks)); err != nil {
			return err
		}
	}
	g.blocks = append(g.blocks, len(dst))
	for i := range dst {
		g.last++
		dst[i] = types.ID(g.last)
	}
	return nil
}

func assignText(t *testing.T, tree any) string {
	t.Helper()
	text, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func assignTables(t *testing.T, db *gorm.DB, models []any) {
	t.Helper()
	drop := func() {
		_ = db.Migrator().DropTable("assign_post_tags", "assign_menu_dishes")
		for _, model := range slices.Backward(models) {
			if err := db.Migrator().DropTable(model); err != nil {
				t.Error(err)
			}
		}
	}
	drop()
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(drop)
}

var errAssignRejected = errors.New("rejected")

func TestAssignThenWrite(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(newAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		for _, shape := range assignShapes() {
			t.Run(shape.name+", batches", func(t *testing.T) {
				assignTables(t, db, shape.models)
				tree := shape.tree()
				assignOrFail(t, db, tree)
				writeBatches(t, db, shape, tree)
				wantLoaded(t, db, shape, tree)
			})
			t.Run(shape.name+", one create", func(t *testing.T) {
				assignTables(t, db, shape.models)
				tree := shape.tree()
				assignOrFail(t, db, tree)
				before := assignText(t, tree)
				if err := db.Create(tree).Error; err != nil {
					t.Fatal(err)
				}
				if after := assignText(t, tree); after != before {
					t.Fatalf("Create changed the tree to\n%s\nfrom\n%s", after, before)
				}
				wantLoaded(t, db, shape, tree)
			})
		}
	})
}

func assignOrFail(t *testing.T, db *gorm.DB, tree any) {
	t.Helper()
	if err := gormflake.Assign(db, tree); err != nil {
		t.Fatal(err)
	}
}

// writeBatches inserts table by table, with nothing for GORM to link.
func writeBatches(t *testing.T, db *gorm.DB, shape assignShape, tree any) {
	t.Helper()
	tables := shape.tables(tree)
	for i, rows := range tables {
		tx := db.Omit(clause.Associations)
		if shape.joined != "" && i == len(tables)-1 {
			tx = db.Omit(shape.joined + ".*")
		}
		if err := tx.CreateInBatches(rows, 3).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func wantLoaded(t *testing.T, db *gorm.DB, shape assignShape, tree any) {
	t.Helper()
	loaded, err := shape.load(db)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := assignText(t, loaded), assignText(t, tree); got != want {
		t.Fatalf("loaded\n%s\nassigned\n%s", got, want)
	}
}
