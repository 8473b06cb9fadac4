// Package gqlgen is what gqlgen generates from schema.graphqls, and its resolvers.
package gqlgen

import (
	"context"

	"github.com/gormflake/gormflake/types"
)

//go:generate go run github.com/99designs/gqlgen@v0.17.98 generate

// Order is the model of the schema's type, as it could be GORM's.
type Order struct {
	ID     types.ID
	Parent *types.ID
}

// Resolver answers the queries.
type Resolver struct{}

// Query serves the generated code.
func (*Resolver) Query() QueryResolver { return query{} }

type query struct{}

// Order returns an order of what it has been asked for.
func (query) Order(_ context.Context, id types.ID, after *types.ID) (*Order, error) {
	return &Order{ID: id, Parent: after}, nil
}
