package main

import (
	"fmt"

	"github.com/gormflake/gormflake/types"
)

type order struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	Customer string   `gorm:"size:100;not null"`
	Lines    []line   `gorm:"foreignKey:OrderID"`
}

type line struct {
	ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
	OrderID  types.ID `gorm:"not null;index"`
	SKU      string   `gorm:"size:40;not null"`
	Quantity int      `gorm:"not null"`
}

// autoOrder and autoLine are the same with keys that the database makes up.
type autoOrder struct {
	ID       int64
	Customer string     `gorm:"size:100;not null"`
	Lines    []autoLine `gorm:"foreignKey:OrderID"`
}

type autoLine struct {
	ID       int64
	OrderID  int64  `gorm:"not null;index"`
	SKU      string `gorm:"size:40;not null"`
	Quantity int    `gorm:"not null"`
}

const (
	orderCount = 1000
	lineCount  = 10
)

func newOrders() []order {
	orders := make([]order, orderCount)
	for i := range orders {
		orders[i] = order{Customer: customer(i), Lines: make([]line, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = line{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

func newAutoOrders() []autoOrder {
	orders := make([]autoOrder, orderCount)
	for i := range orders {
		orders[i] = autoOrder{Customer: customer(i), Lines: make([]autoLine, lineCount)}
		for j := range orders[i].Lines {
			orders[i].Lines[j] = autoLine{SKU: sku(i, j), Quantity: 1 + j}
		}
	}
	return orders
}

func customer(i int) string { return fmt.Sprintf("customer %04d", i) }

func sku(i, j int) string { return fmt.Sprintf("SKU-%03d", (i+j)%1000) }

func linesOf(orders []order) []line {
	lines := make([]line, 0, len(orders)*lineCount)
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return lines
}
