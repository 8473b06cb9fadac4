package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// AssignShape is a tree of related rows, with functions that create, insert and load it.
type AssignShape struct {
	Name   string
	Models []any                          // parents first
	Tree   func() any                     // returns a new tree without keys
	Tables func(tree any) []any           // returns the rows of tree as one slice per table, parents first
	Load   func(db *gorm.DB) (any, error) // reads the tree from the database
	Joined string                         // many-to-many relation, whose join rows GORM creates when the test inserts the last of Tables; "" for none
}

// LoadAll returns a function that reads all rows of T with the relations preload.
func LoadAll[T any](preload ...string) func(*gorm.DB) (any, error) {
	return func(db *gorm.DB) (any, error) {
		var rows []T
		for _, name := range preload {
			db = db.Preload(name)
		}
		err := db.Order(clause.OrderByColumn{Column: clause.PrimaryColumn}).Find(&rows).Error
		return &rows, err
	}
}

// NewAssignOrders returns n orders, each with three lines of two serials, without keys.
func NewAssignOrders(n int) *[]AssignOrder {
	orders := make([]AssignOrder, n)
	for i := range orders {
		orders[i].Name = fmt.Sprint("order ", i)
		for j := range 3 {
			line := &AssignLine{SKU: fmt.Sprint(i, "-", j), Serials: make([]AssignSerial, 2)}
			orders[i].Lines = append(orders[i].Lines, line)
		}
	}
	return &orders
}

// orderTables returns the orders of a tree, their lines and the lines' serials.
func orderTables(tree any) []any {
	var lines []*AssignLine
	var serials []AssignSerial
	for _, o := range *tree.(*[]AssignOrder) {
		lines = append(lines, o.Lines...)
		for _, l := range o.Lines {
			serials = append(serials, l.Serials...)
		}
	}
	return []any{tree, &lines, &serials}
}

// HasManyShape returns the shape of orders, their lines and the lines' serials.
func HasManyShape() AssignShape {
	return AssignShape{
		Name:   "has many",
		Models: []any{&AssignOrder{}, &AssignLine{}, &AssignSerial{}},
		Tree:   func() any { return NewAssignOrders(4) },
		Tables: orderTables,
		Load:   LoadAll[AssignOrder]("Lines.Serials"),
	}
}

// AssignGenerator counts up from a number that JavaScript cannot represent, and records
// the sizes of the blocks that it returned.
type AssignGenerator struct {
	mu     sync.Mutex
	Last   int64                 // the last ID returned
	Blocks []int                 // the length of each block returned
	Reject func(block int) error // returns the error for the block of this number, from 0 on; nil rejects none
}

// NewAssignGenerator returns a generator whose first ID is above 2⁶⁰.
func NewAssignGenerator() *AssignGenerator { return &AssignGenerator{Last: 1 << 60} }

// Fill sets dst to the next IDs, unless Reject rejects the block.
func (g *AssignGenerator) Fill(_ context.Context, dst []types.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Reject != nil {
		if err := g.Reject(len(g.Blocks)); err != nil {
			return err
		}
	}
	g.Blocks = append(g.Blocks, len(dst))
	for i := range dst {
		g.Last++
		dst[i] = types.ID(g.Last)
	}
	return nil
}

// AssignText returns a tree as JSON, by which tests compare two trees.
func AssignText(t *testing.T, tree any) string {
	t.Helper()
	text, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// AssignTables creates the tables of models, and drops them when the test ends.
func AssignTables(t *testing.T, db *gorm.DB, models []any) {
	t.Helper()
	drop := func() { // the join tables of the many-to-many relations have no models
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

// AssignOrFail stops the test if Assign fails.
func AssignOrFail(t *testing.T, db *gorm.DB, tree any) {
	t.Helper()
	if err := gormflake.Assign(db, tree); err != nil {
		t.Fatal(err)
	}
}

// WantLoaded stops the test if the database does not contain the tree.
func WantLoaded(t *testing.T, db *gorm.DB, shape AssignShape, tree any) {
	t.Helper()
	loaded, err := shape.Load(db)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := AssignText(t, loaded), AssignText(t, tree); got != want {
		t.Fatalf("loaded\n%s\nassigned\n%s", got, want)
	}
}

// Meddler is a generator that calls Meddle before it generates IDs, for example to change
// rows after the plugin has counted the IDs that they need.
type Meddler struct {
	LayoutCounter
	Meddle func()
}

// Fill calls Meddle, and then sets dst to the next IDs.
func (m *Meddler) Fill(ctx context.Context, dst []types.ID) error {
	m.Meddle()
	return m.LayoutCounter.Fill(ctx, dst)
}
