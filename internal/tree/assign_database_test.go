package tree_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestAssignThenCopy checks that a tree of orders, lines and serials to which Assign has
// given keys can be stored by COPY, table by table.
func TestAssignThenCopy(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
		t.Fatal(err)
	}
	shape := plugintest.HasManyShape()
	plugintest.AssignTables(t, db, shape.Models)
	orders := *plugintest.NewAssignOrders(20)
	plugintest.AssignOrFail(t, db, orders)

	conn, err := pgx.Connect(t.Context(), testdb.PostgresURL(t, db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var orderRows, lineRows, serialRows [][]any
	for _, o := range orders {
		orderRows = append(orderRows, []any{o.ID, o.Name})
		for _, l := range o.Lines {
			lineRows = append(lineRows, []any{l.ID, l.OrderID, l.SKU})
			for _, s := range l.Serials {
				serialRows = append(serialRows, []any{s.ID, s.LineID, s.Code})
			}
		}
	}
	copyRows(t, conn, "assign_orders", []string{"id", "name"}, orderRows)
	copyRows(t, conn, "assign_lines", []string{"id", "order_id", "sku"}, lineRows)
	copyRows(t, conn, "assign_serials", []string{"id", "line_id", "code"}, serialRows)
	plugintest.WantLoaded(t, db, shape, &orders)
}

// copyRows stores rows by COPY.
func copyRows(t *testing.T, conn *pgx.Conn, table string, columns []string, rows [][]any) {
	t.Helper()
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	if err != nil || n != int64(len(rows)) {
		t.Fatalf("copy %d rows into %s: %d, %v", len(rows), table, n, err)
	}
}

type assignInvoice struct {
	ID     types.ID     `gorm:"primaryKey" snowflake:"pk"`
	Number string       `gorm:"uniqueIndex;size:20"`
	Items  []assignItem `gorm:"foreignKey:InvoiceID" json:",omitempty"`
}

type assignItem struct {
	ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
	InvoiceID types.ID
}

// TestAssignAfterUpsert checks a tree whose parent gets the key of an existing row by an
// upsert, after Assign has given keys to the tree. A second Assign must set the foreign keys
// of the children to the new key of the parent.
func TestAssignAfterUpsert(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		plugintest.AssignTables(t, db, []any{&assignInvoice{}, &assignItem{}})
		stored := assignInvoice{Number: "A-1"}
		if err := db.Create(&stored).Error; err != nil {
			t.Fatal(err)
		}
		tree := assignInvoice{Number: "A-1", Items: make([]assignItem, 2)}
		plugintest.AssignOrFail(t, db, &tree)
		upsert := clause.OnConflict{Columns: []clause.Column{{Name: "number"}}, DoUpdates: clause.AssignmentColumns([]string{"number"})}
		if err := db.Clauses(upsert).Omit(clause.Associations).Create(&tree).Error; err != nil {
			t.Fatal(err)
		}
		if tree.ID != stored.ID {
			t.Fatalf("the upsert left key %v, the row has %v", tree.ID, stored.ID)
		}
		plugintest.AssignOrFail(t, db, &tree)
		if err := db.Omit(clause.Associations).CreateInBatches(tree.Items, 10).Error; err != nil {
			t.Fatal(err)
		}
		plugintest.WantLoaded(t, db, plugintest.AssignShape{Load: plugintest.LoadAll[assignInvoice]("Items")}, &[]assignInvoice{tree})
	})
}

// TestAssignThenRetry checks that a failed transaction stores no row, and that the same
// tree can be inserted later.
func TestAssignThenRetry(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormflake.New(plugintest.NewAssignGenerator())); err != nil {
			t.Fatal(err)
		}
		shape := plugintest.HasManyShape()
		plugintest.AssignTables(t, db, shape.Models)
		tree := shape.Tree()
		// write assigns and inserts the tree, records its keys in before, and returns fail.
		before := ""
		write := func(fail error) error {
			return db.Transaction(func(tx *gorm.DB) error {
				plugintest.AssignOrFail(t, tx, tree)
				before = plugintest.AssignText(t, tree)
				writeBatches(t, tx, shape, tree)
				return fail
			})
		}
		if err := write(errAssignRejected); !errors.Is(err, errAssignRejected) {
			t.Fatal(err)
		}
		var rows int64
		if err := db.Model(&plugintest.AssignLine{}).Count(&rows).Error; err != nil || rows != 0 {
			t.Fatalf("%d rows left, error %v", rows, err)
		}
		first := before
		if err := write(nil); err != nil {
			t.Fatal(err)
		}
		if before != first {
			t.Error("the retry has other keys")
		}
		plugintest.WantLoaded(t, db, shape, tree)
	})
}
