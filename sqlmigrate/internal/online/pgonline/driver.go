// Package pgonline is the part of online widening that is for PostgreSQL.
package pgonline

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Driver is for PostgreSQL 14 and later.
type Driver struct{}

var _ engine.Online = Driver{}

var errTodo = errors.New("sqlmigrate: not yet")

func (Driver) PlanOnline(context.Context, *sql.Conn, []engine.OnlineTable) (*engine.OnlinePlan, error) {
	return nil, errTodo
}
func (Driver) LoadMove(context.Context, *sql.Conn, []engine.TableName) (*engine.Move, error) {
	return nil, nil
}
func (Driver) OpenMove(context.Context, *sql.Conn, *engine.Move, engine.OnlineSettings) (func(error) error, error) {
	return nil, errTodo
}
func (Driver) SaveMove(context.Context, *sql.Conn, *engine.Move) error  { return errTodo }
func (Driver) CloseMove(context.Context, *sql.Conn, *engine.Move) error { return errTodo }
func (Driver) RunStep(context.Context, *sql.Conn, *engine.OnlineStep, *engine.Move, engine.OnlineSettings) error {
	return errTodo
}
func (Driver) RunBatch(context.Context, *sql.Conn, *engine.OnlineStep, *engine.Move, int, engine.OnlineSettings) (engine.Batch, error) {
	return engine.Batch{}, errTodo
}
func (Driver) Retry(context.Context, *sql.Conn, *engine.OnlineStep, error) (bool, string) {
	return false, ""
}
func (Driver) Differs(error) bool                                    { return false }
func (Driver) Lag(context.Context, *sql.Conn) (time.Duration, error) { return 0, nil }
