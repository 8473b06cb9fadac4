// Command orders inserts orders with their lines in two ways, reads one order back
// as JSON and prints the parts of its key. It needs no server. Start reading in ways.go.
//
//	go run ./examples/orders
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

func main() {
	if err := run(context.Background(), log.New(os.Stdout, "", 0)); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// run opens a database in a temporary SQLite file with a generator, demonstrates the inserts,
// and removes the file.
func run(ctx context.Context, out *log.Logger) (err error) {
	dir, err := os.MkdirTemp("", "orders-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// For another database only this argument differs, for example
	// postgres.Open("postgres://user@host/shop").
	dialector := sqlite.New(sqlite.Config{DriverName: driver, DSN: filepath.Join(dir, "orders.db") + settings})
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()

	// This is the only call that gormflake needs. It leases a worker from the database,
	// creates a generator that issues under it, and registers the plugin, which sets the
	// keys of each row that is created.
	gen, err := gormflake.Open(ctx, db)
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()
	if err := prepare(db.WithContext(ctx)); err != nil {
		return err
	}
	return demonstrate(db.WithContext(ctx), gen.Layout(), out)
}

// prepare creates the tables. Check returns an error for a tag that cannot work, or a table
// whose keys the database assigns, before the first row is written.
func prepare(db *gorm.DB) error {
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		return err
	}
	return gormflake.Check(db, &Order{}, &Line{})
}

const orderCount, linesPerOrder = 1000, 10

// demonstrate inserts the sample orders in each way, and prints how many of their lines are in
// the table. Then it explains one of the orders. layout is the layout of the keys.
func demonstrate(db *gorm.DB, layout snowflake.Layout, out *log.Logger) error {
	out.Printf("%d orders of %d lines each, in a %s database:\n\n", orderCount, linesPerOrder, db.Name())
	ways := []struct {
		name   string
		insert func(*gorm.DB, []Order) error
	}{
		{"Create: GORM inserts orders and their lines, nested", insertNested},
		{"Assign, then batched INSERTs, one table after the other", insertAssigned},
	}
	var orders []Order
	for i, way := range ways {
		out.Printf("%d. %s", i+1, way.name)
		orders = sampleOrders()
		if err := way.insert(db, orders); err != nil {
			return err
		}
		stored := db.Model(&orders).Association("Lines") // the lines in the table that refer to these orders
		out.Printf("   %d lines stored, orders %d to %d", stored.Count(), orders[0].ID, orders[orderCount-1].ID)
		if stored.Error != nil {
			return stored.Error
		}
	}
	return explain(db, layout, orders[0].ID, out)
}

// sampleOrders returns orders with their lines, without keys.
func sampleOrders() []Order {
	orders := make([]Order, orderCount)
	for i := range orders {
		orders[i].Customer = fmt.Sprintf("customer %d", i)
		for j := range linesPerOrder {
			orders[i].Lines = append(orders[i].Lines, Line{SKU: fmt.Sprintf("TEA-%02d", j), Quantity: 1 + i%5, UnitCents: 450})
		}
	}
	return orders
}

// explain reads an order back with two of its lines, and prints it as JSON. Then it prints the
// parts of the order's key, and the number that JavaScript would read if the key were a JSON
// number.
func explain(db *gorm.DB, layout snowflake.Layout, id types.ID, out *log.Logger) error {
	var order Order
	firstTwo := func(db *gorm.DB) *gorm.DB { return db.Order("id").Limit(2) }
	if err := db.Preload("Lines", firstTwo).Take(&order, id).Error; err != nil {
		return err
	}
	text, err := json.MarshalIndent(order, "", "  ")
	if err != nil {
		return err
	}
	out.Printf("\nOne of them as JSON, with two of its lines. Keys are strings:\n%s", text)
	parts := layout.Decompose(id)
	out.Printf("\nIts key says when and by whom it was issued: %s, datacenter %d, worker %d, sequence %d.",
		parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Worker, parts.Sequence)
	number, err := strconv.ParseFloat(id.String(), 64) // a number of JavaScript is a float64
	if err != nil {
		return err
	}
	out.Printf("As a number, JavaScript would read it as %s.\n\nNext: go run ./examples/orderapi, or ./examples/copyfrom for PostgreSQL's COPY",
		strconv.FormatFloat(number, 'f', -1, 64))
	return nil
}
