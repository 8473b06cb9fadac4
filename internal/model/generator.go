package model

import (
	"context"
	"fmt"

	"github.com/gormflake/gormflake/types"
)

// Generator is the interface gormflake.Generator, declared again because this package
// cannot import gormflake.
type Generator interface {
	Fill(ctx context.Context, dst []types.ID) error
}

// TableGenerator has the methods that gormflake.TableGenerator adds to a Generator.
type TableGenerator interface {
	FillTable(ctx context.Context, table string, dst []types.ID) error
	Observe(table string, id types.ID)
}

// generators maps the names that tags use to generators. "" is the default generator.
type generators map[string]Generator

// quotedGen returns the name of a generator for a message, or "" for the default
// generator.
func quotedGen(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}
