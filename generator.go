package gormflake

import (
	"context"
	"fmt"
	"reflect"

	"github.com/gormflake/gormflake/types"
)

// Generator generates IDs. *snowflake.Generator implements it.
//
// Fill sets every element of dst to a new positive ID, or returns an error and leaves dst
// unspecified. It must be safe for concurrent use.
//
// For serial numbers the generator also needs a method Layout() snowflake.Layout, which
// always returns the layout of all its IDs.
type Generator interface {
	Fill(ctx context.Context, dst []types.ID) error
}

// TableGenerator is a [Generator] that receives the name of the table for which it
// generates IDs. For example, the generator of package gormflaketest counts IDs per
// table. The plugin and [Assign] call FillTable instead of Fill, with the name of the
// model's table. Before that, they call Observe with each key that a row already has, so
// that the generator does not issue the same key.
type TableGenerator interface {
	Generator
	FillTable(ctx context.Context, table string, dst []types.ID) error
	Observe(table string, id types.ID)
}

// checkGenerator rejects a generator that is nil, or that is an interface with a nil pointer
// or a nil function in it, because a call of its methods would panic. call is the name of the
// function that received the generator, such as "New", for the error.
func checkGenerator(call string, gen Generator) error {
	got := "nil"
	if v := reflect.ValueOf(gen); v.IsValid() { // gen is not the nil interface
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Func || !v.IsNil() {
			return nil
		}
		got = fmt.Sprintf("a nil %T", gen)
	}
	return fmt.Errorf("gormflake: %s: generator is %s: want one, for example from snowflake.New", call, got)
}
