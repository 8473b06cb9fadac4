package model

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/types"
)

// Generator is the interface gormflake.Generator, declared again because package
// gormflake imports this package. Fill sets every element of dst to a new ID.
type Generator interface {
	Fill(ctx context.Context, dst []types.ID) error
}

// TableGenerator has the methods that gormflake.TableGenerator adds to a Generator, for
// example to count the IDs of each table in tests. For such a generator, the plugin calls
// Observe with each key that a row already has, and then FillTable instead of Fill.
type TableGenerator interface {
	FillTable(ctx context.Context, table string, dst []types.ID) error
	Observe(table string, id types.ID)
}

// generators maps a generator's name, as in the tag option gen=orders, to the generator.
// The default generator has the name "".
type generators map[string]Generator

// quotedGen returns a generator's name as messages write it after the word generator,
// with a space and quotes, such as ` "orders"`. It returns "" for the default generator.
func quotedGen(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}
