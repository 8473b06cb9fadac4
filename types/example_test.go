package types_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/types"
)

// A browser receives a key and returns it with all its digits.
func Example() {
	type Order struct {
		ID   types.ID `json:"id"`
		Note string   `json:"note"`
	}
	text, err := json.Marshal(Order{ID: 7529595880471527425, Note: "two boxes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))

	var order Order
	if err := json.Unmarshal(text, &order); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(order.ID.Int64())
	// Output:
	// {"id":"7529595880471527425","note":"two boxes"}
	// 7529595880471527425
}

func ExampleParseID() {
	id, err := types.ParseID("7529595880471527425")
	fmt.Println(id, err)

	_, err = types.ParseID("1 OR 1=1")
	fmt.Println(err)
	// Output:
	// 7529595880471527425 <nil>
	// types: ParseID("1 OR 1=1"): unexpected ' ' at offset 1: want decimal digits only
}

func ExampleID_UnmarshalJSON() {
	for _, text := range []string{`"42"`, `42`, `4.2e1`, `"-42"`} {
		var id types.ID
		err := json.Unmarshal([]byte(text), &id)
		fmt.Println(id, err)
	}
	// Output:
	// 42 <nil>
	// 42 <nil>
	// 0 types: ID.UnmarshalJSON("4.2e1"): unexpected '.' at offset 1: want decimal digits only
	// 0 types: ID.UnmarshalJSON("-42"): unexpected '-' at offset 0: want decimal digits only
}

func ExampleID_Scan() {
	for _, column := range []any{int64(42), []byte("-7"), nil, 4.2} {
		var id types.ID
		err := id.Scan(column)
		fmt.Println(id, err)
	}
	// Output:
	// 42 <nil>
	// -7 <nil>
	// 0 <nil>
	// 0 types: ID.Scan: cannot read float64: want an integer or its decimal text
}

func ExampleID_Compare() {
	ids := []types.ID{30, 4, 7529595880471527425}
	slices.SortFunc(ids, types.ID.Compare)
	fmt.Println(ids)
	// Output: [4 30 7529595880471527425]
}

func ExampleID_Base58() {
	id := types.ID(7529595880471527425)
	fmt.Println(id.Base32())
	fmt.Println(id.Base58())
	fmt.Println(id.Base62())
	// Output:
	// 6GZKZHX6W0001
	// itHZvQpvpLn
	// 8yDczw4p4gT
}

func ExampleParseBase32() {
	id, err := types.ParseBase32("6gzkzhx6woooi") // as heard on the phone
	fmt.Println(id, err)
	// Output: 7529595880471527425 <nil>
}

func ExampleOf() {
	type (
		Customer   struct{ Name string }
		CustomerID = types.Of[Customer]
		OrderID    = types.Of[struct{ ID types.ID }] // usually of a model
	)
	load := func(id OrderID) { fmt.Println("order", id) }

	id, err := types.ParseID("7529595880471527425") // as a client sends it
	if err != nil {
		fmt.Println(err)
		return
	}
	load(OrderID(id))
	customer := CustomerID(42)
	// load(customer) does not compile.
	fmt.Println("customer", customer)
	// Output:
	// order 7529595880471527425
	// customer 42
}

func ExampleArray() {
	ids := []types.ID{1, 7529595880471527425}
	parameter, err := types.IDs(ids).Value() // for = ANY($1)
	fmt.Println(parameter, err)

	var column types.IDs
	err = column.Scan("{1,2}")
	fmt.Println(column, err)
	// Output:
	// {1,7529595880471527425} <nil>
	// [1 2] <nil>
}
