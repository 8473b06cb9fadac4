package plugintest

import (
	"context"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm/logger"
)

// Recorder records the statements and the warnings that GORM logs.
type Recorder struct {
	logger.Interface
	mu       sync.Mutex
	sql      []string
	messages []string
}

// LogMode returns the recorder, which records at every level.
func (r *Recorder) LogMode(logger.LogLevel) logger.Interface { return r }

// Trace records the statement.
func (r *Recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	sql, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sql = append(r.sql, sql)
}

// Warn records the message.
func (r *Recorder) Warn(_ context.Context, message string, _ ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, message)
}

// Statements returns the recorded statements.
func (r *Recorder) Statements() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sql)
}

// Warnings returns the recorded warnings.
func (r *Recorder) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}
