package main

import "github.com/gormflake/gormflake/types"

// Order is the parent. It has no column for the time at which it was placed, because the
// key contains that time and sorts by it.
type Order struct {
	ID       types.ID `json:"id" gorm:"primaryKey" snowflake:"pk"`
	Customer string   `json:"customer" gorm:"not null"`
	Lines    []Line   `json:"lines"`
}

// Line is the child.
type Line struct {
	ID        types.ID `json:"id" gorm:"primaryKey" snowflake:"pk"`
	OrderID   types.ID `json:"-" gorm:"not null;index"`
	SKU       string   `json:"sku" gorm:"not null"`
	Quantity  int      `json:"quantity" gorm:"not null"`
	UnitCents int64    `json:"unit_cents" gorm:"not null"`
}
