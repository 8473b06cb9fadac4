package main

import "github.com/gormflake/gormflake/types"

// Order is the master. It needs no column for the time it was placed: the key
// holds that, and sorts by it.
type Order struct {
	// The check makes a row without a key an error, should another program
	// write to this table without the plugin.
	ID       types.ID `json:"id" gorm:"primaryKey;check:id > 0" snowflake:"pk"`
	Customer string   `json:"customer" gorm:"size:100;not null"`
	Lines    []Line   `json:"lines,omitempty"`
}

// Line is the detail.
type Line struct {
	ID        types.ID `json:"id" gorm:"primaryKey;check:id > 0" snowflake:"pk"`
	OrderID   types.ID `json:"-" gorm:"not null;index"`
	SKU       string   `json:"sku" gorm:"size:40;not null"`
	Quantity  int      `json:"quantity" gorm:"not null"`
	UnitCents int64    `json:"unit_cents" gorm:"not null"`
}

// TableName keeps clear of an orders table that is already there.
func (Order) TableName() string { return "orders_example_orders" }

// TableName keeps clear of a lines table that is already there.
func (Line) TableName() string { return "orders_example_lines" }

// AutoOrder is Order with a key that the database makes up, to compare with.
type AutoOrder struct {
	ID       int64
	Customer string     `gorm:"size:100;not null"`
	Lines    []AutoLine `gorm:"foreignKey:OrderID"`
}

// AutoLine is Line with a key that the database makes up.
type AutoLine struct {
	ID        int64
	OrderID   int64  `gorm:"not null;index"`
	SKU       string `gorm:"size:40;not null"`
	Quantity  int    `gorm:"not null"`
	UnitCents int64  `gorm:"not null"`
}

// TableName tells the table from that of Order.
func (AutoOrder) TableName() string { return "orders_example_auto_orders" }

// TableName tells the table from that of Line.
func (AutoLine) TableName() string { return "orders_example_auto_lines" }
