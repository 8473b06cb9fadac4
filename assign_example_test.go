package gormflake_test

import (
	"context"
	"fmt"
	"log"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Masters and details get their keys and links in memory, and go into the
// database in one batch each.
func ExampleAssign() {
	type Line struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OrderID types.ID
		SKU     string
	}
	type Order struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		Customer string
		Lines    []Line
	}

	gen, err := snowflake.New(snowflake.Static(0, 7))
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close(context.Background())
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", DSN: ":memory:"})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(gormflake.New(gen)); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
		log.Fatal(err)
	}

	orders := []Order{
		{Customer: "Ada", Lines: []Line{{SKU: "pen"}, {SKU: "ink"}}},
		{Customer: "Bob", Lines: []Line{{SKU: "cap"}}},
	}
	if err := gormflake.Assign(db, orders); err != nil {
		log.Fatal(err)
	}
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	err = db.Transaction(func(tx *gorm.DB) error {
		tx = tx.Omit(clause.Associations)
		if err := tx.CreateInBatches(orders, 500).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(lines, 500).Error
	})
	if err != nil {
		log.Fatal(err)
	}

	var stored Order
	if err := db.Preload("Lines").First(&stored, orders[0].ID).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println(stored.Customer, "has", len(stored.Lines), "lines")
	fmt.Println("linked:", lines[0].OrderID == orders[0].ID)
	fmt.Println("same keys:", stored.Lines[0].ID == lines[0].ID)
	// Output:
	// Ada has 2 lines
	// linked: true
	// same keys: true
}
