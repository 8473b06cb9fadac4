package model

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/types"
)

// Generator is gormflake.Generator, which this package cannot import.
type Generator interface {
	Fill(ctx context.Context, dst []types.ID) error
}

// TableGenerator is gormflake.TableGenerator.
type TableGenerator interface {
	FillTable(ctx context.Context, table string, dst []types.ID) error
	Observe(table string, id types.ID)
}

// generators are found by the names that tags use; "" is the default one.
type generators map[string]Generator

// quotedGen names a generator in a message, unless it is the default one.
func quotedGen(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}
