package gormflake_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm/logger"
)

// recorder keeps the statements and the warnings that GORM logs.
type recorder struct {
	logger.Interface
	mu       sync.Mutex
	sql      []string
	messages []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	sql, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sql = append(r.sql, sql)
}

func (r *recorder) Warn(_ context.Context, message string, _ ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, message)
}

func (r *recorder) statements() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sql)
}

func (r *recorder) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}
