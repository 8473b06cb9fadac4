// Package gqlgen contains the resolvers for the code that gqlgen generates from
// schema.graphqls.
package gqlgen

import (
	"context"

	"github.com/gormflake/gormflake/types"
)

// Order is the Go type of the schema's order. It could also be a model of GORM.
type Order struct {
	ID     types.ID
	Parent *types.ID
}

// Line has two kinds of typed keys.
type Line struct {
	ID    types.Of[Line]
	Order types.Of[Order]
}

// Resolver answers the queries.
type Resolver struct{}

// Query serves the generated code.
func (*Resolver) Query() QueryResolver { return query{} }

// Line serves the generated code.
func (*Resolver) Line() LineResolver { return line{} }

// line resolves the fields of a Line, because they have the type types.Of, and an ID of the
// schema is a types.ID.
type line struct{}

// ID returns the line's key.
func (line) ID(_ context.Context, l *Line) (types.ID, error) { return types.ID(l.ID), nil }

// Order returns the key of the line's order.
func (line) Order(_ context.Context, l *Line) (types.ID, error) { return types.ID(l.Order), nil }

// query resolves the queries of the schema.
type query struct{}

// Line returns a line.
func (query) Line(context.Context) (*Line, error) {
	return &Line{ID: 7529595880471527425, Order: 7529595880471527424}, nil
}

// Order returns an order with the key and the parent of the query's arguments.
func (query) Order(_ context.Context, id types.ID, after *types.ID) (*Order, error) {
	return &Order{ID: id, Parent: after}, nil
}
