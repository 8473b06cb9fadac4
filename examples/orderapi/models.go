package main

import "github.com/gormflake/gormflake/types"

// Order is the parent.
type Order struct {
	ID       types.ID `json:"id" gorm:"primaryKey" snowflake:"pk"`
	Customer string   `json:"customer" gorm:"not null"`
	Lines    []Line   `json:"lines"`

	// RequestKey is the Idempotency-Key of the request that placed the order, if it had
	// such a key. The unique index prevents another request from placing the order again.
	RequestKey *string `json:"-" gorm:"size:64;uniqueIndex"`
}

// Line is the child.
type Line struct {
	ID        types.ID `json:"id" gorm:"primaryKey" snowflake:"pk"`
	OrderID   types.ID `json:"-" gorm:"not null;index"`
	SKU       string   `json:"sku" gorm:"not null"`
	Quantity  int      `json:"quantity" gorm:"not null"`
	UnitCents int64    `json:"unit_cents" gorm:"not null"`
}

// These names differ from the orders and lines tables that your database may have.

func (Order) TableName() string { return "orders_example_orders" }
func (Line) TableName() string  { return "orders_example_lines" }
