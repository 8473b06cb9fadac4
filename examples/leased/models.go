package main

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// Order is the master.
type Order struct {
	ID      types.ID `gorm:"primaryKey;check:id > 0" snowflake:"pk"`
	Process string   `gorm:"size:10;not null"`
	Lines   []Line
}

// Line is the detail.
type Line struct {
	ID      types.ID `gorm:"primaryKey;check:id > 0" snowflake:"pk"`
	OrderID types.ID `gorm:"not null;index"`
	Product string   `gorm:"size:40;not null"`
}

const (
	orderTable = "leased_example_orders"
	lineTable  = "leased_example_lines"
)

// TableName keeps clear of an orders table that is already there.
func (Order) TableName() string { return orderTable }

// TableName keeps clear of a lines table that is already there.
func (Line) TableName() string { return lineTable }

const ordersAtOnce = 10

// someOrders makes orders of three lines each, without keys.
func someOrders(process string) []Order {
	orders := make([]Order, ordersAtOnce)
	for i := range orders {
		orders[i] = Order{Process: process, Lines: []Line{{Product: "tea"}, {Product: "cup"}, {Product: "pot"}}}
	}
	return orders
}

// insert writes orders and lines in one transaction. Both by an INSERT of their
// own: the one that GORM makes for details within their masters updates a row
// whose key is there already, and would hide what this example looks for.
func insert(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	var lines []Line
	for _, order := range orders {
		lines = append(lines, order.Lines...)
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Omit("Lines").Create(&orders).Error; err != nil {
			return err
		}
		return tx.Create(&lines).Error
	})
}
