// Command swag is read by the test of swag, and never run.
package main

import (
	"net/http"

	"github.com/gormflake/gormflake/types"
)

// Order is the struct whose fields swag must describe as they are in JSON.
type Order struct {
	ID     types.ID `json:"id"`
	Typed  OrderID  `json:"typed"`
	Parent types.ID `json:"parent" swaggertype:"string" minLength:"1" maxLength:"19" example:"7529595880471527425"`
}

// OrderID is the typed key of an order.
type OrderID = types.Of[Order]

// @title orders
// @version 1.0
func main() { http.HandleFunc("/orders", get) }

// get returns an order.
// @Success 200 {object} Order
// @Router /orders [get]
func get(http.ResponseWriter, *http.Request) {}
