package main

import "fmt"

var (
	customers = [...]string{"Ada Lovelace", "Grace Hopper", "Alan Turing", "Katherine Johnson", "Edsger Dijkstra"}
	goods     = [...]string{"TEA", "CUP", "POT", "SPOON"}
)

// sampleOrders makes orders without keys, the same ones every time.
func sampleOrders(s size) []Order {
	orders := make([]Order, s.orders)
	for i := range orders {
		orders[i] = Order{Customer: customers[i%len(customers)], Lines: make([]Line, s.lines)}
		for j := range orders[i].Lines {
			sku, quantity, cents := sampleLine(i, j)
			orders[i].Lines[j] = Line{SKU: sku, Quantity: quantity, UnitCents: cents}
		}
	}
	return orders
}

// sampleAutoOrders makes the orders of sampleOrders for the other tables.
func sampleAutoOrders(s size) []AutoOrder {
	orders := make([]AutoOrder, s.orders)
	for i := range orders {
		orders[i] = AutoOrder{Customer: customers[i%len(customers)], Lines: make([]AutoLine, s.lines)}
		for j := range orders[i].Lines {
			sku, quantity, cents := sampleLine(i, j)
			orders[i].Lines[j] = AutoLine{SKU: sku, Quantity: quantity, UnitCents: cents}
		}
	}
	return orders
}

func sampleLine(i, j int) (sku string, quantity int, cents int64) {
	n := i + j
	return fmt.Sprintf("%s-%02d", goods[n%len(goods)], n%100), 1 + n%5, int64(95 + n%40*5)
}
