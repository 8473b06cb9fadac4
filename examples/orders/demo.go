package main

import (
	"encoding/json"
	"fmt"
	"log"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

const orderCount, linesPerOrder = 1000, 10

// demonstrate inserts orders in every way that the database supports.
func demonstrate(db *gorm.DB, layout snowflake.Layout, out *log.Logger) error {
	out.Printf("%d orders of %d lines each, in a %s database:\n\n", orderCount, linesPerOrder, db.Name())
	ways := []struct {
		name   string
		insert func(*gorm.DB, []Order) error
	}{
		{"Create: GORM inserts orders and their lines, nested", insertNested},
		{"Assign, then batched INSERTs, one table after the other", insertAssigned},
		{"Assign, then pgx.CopyFrom, the fastest", insertCopied},
	}
	var orders []Order
	for i, way := range ways {
		if i == 2 && db.Name() != "postgres" {
			out.Printf("%d. %s\n   needs PostgreSQL: add -dsn postgres://user:password@host:5432/database", i+1, way.name)
			continue
		}
		orders = sampleOrders()
		if err := way.insert(db, orders); err != nil {
			return err
		}
		if err := report(db, orders, fmt.Sprintf("%d. %s", i+1, way.name), out); err != nil {
			return err
		}
	}
	return explain(db, layout, orders[0].ID, out)
}

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

// report counts what has arrived: the database accepts no line without its order.
func report(db *gorm.DB, orders []Order, way string, out *log.Logger) error {
	stored := db.Model(&orders).Association("Lines")
	out.Printf("%s\n   %d lines stored, orders %d to %d", way, stored.Count(), orders[0].ID, orders[len(orders)-1].ID)
	return stored.Error
}

// explain reads an order back, and shows what its key says.
func explain(db *gorm.DB, layout snowflake.Layout, id types.ID, out *log.Logger) error {
	var order Order
	if err := db.Preload("Lines", byID).First(&order, id).Error; err != nil {
		return err
	}
	order.Lines = order.Lines[:2]
	text, err := json.MarshalIndent(order, "", "  ")
	if err != nil {
		return err
	}
	out.Printf("\nOne of them as JSON, with two of its lines. Keys are strings:\n%s", text)
	parts := layout.Decompose(id)
	out.Printf("\nIts key says when and by whom it was issued: %s, datacenter %d, worker %d, sequence %d.",
		parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Worker, parts.Sequence)
	out.Printf("As a number, JavaScript would read it as %s.\n\nNext: go run ./examples/orders -serve :8080",
		strconv.FormatFloat(float64(id), 'f', -1, 64))
	return nil
}

func byID(db *gorm.DB) *gorm.DB { return db.Order("id") }
