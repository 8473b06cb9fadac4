package online

import (
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Config is what the options have set.
type Config struct {
	Smallest, Largest int           // rows of a batch
	Stall             time.Duration // that a batch may take
	MaxLag            time.Duration // of a replica; zero: no limit
	Patience          time.Duration // for which a step that gets no lock is tried again
	Last              plan.StageName
	Progress          func(Progress)
	Settings          engine.OnlineSettings
}

// Defaults returns what is documented at the options.
func Defaults() Config {
	return Config{
		Smallest: 50, Largest: 10_000,
		Stall:    50 * time.Millisecond,
		MaxLag:   10 * time.Second,
		Patience: 10 * time.Minute,
		Last:     plan.StageSwap,
		Progress: func(Progress) {},
		Settings: engine.OnlineSettings{LockWait: 200 * time.Millisecond},
	}
}

// Progress is described in package sqlmigrate.
type Progress struct {
	Stage        plan.StageName
	Table, Step  string
	SQL          []string
	Done, Of     int
	Rows, OfRows int64
	Rate         float64
	Batch        int
	Remaining    time.Duration
	Waiting      string
	Elapsed      time.Duration
}
