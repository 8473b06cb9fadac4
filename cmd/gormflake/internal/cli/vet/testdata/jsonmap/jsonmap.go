package jsonmap

import (
	"encoding/json"

	"github.com/gormflake/gormflake/types"
)

// read reads an ID as a float64, a price, whose name is not that of an ID, and a text.
func read(b []byte) (any, error) {
	var m map[string]any
	err := json.Unmarshal(b, &m)
	id, ok := m["order_id"].(float64) // want `"order_id" as a float64: an ID is a string in JSON, and as a number it loses digits here: decode into a struct with a types.ID`
	price, _ := m["price"].(float64)
	text, _ := m["id"].(string)
	return []any{id, ok, price, types.ID(0), text}, err
}
