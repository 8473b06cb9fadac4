package online

import (
	"database/sql"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Config is what the options have set.
type Config struct {
	Smallest, Largest int           // rows of a batch
	Stall             time.Duration // that a batch may take
	MaxLag            time.Duration // of a replica; zero: no limit
	Replicas          []*sql.DB     // that the database does not know
	Patience          time.Duration // for which a step that gets no lock is tried again
	Last              plan.StageName
	Progress          func(plan.OnlineProgress)
	Settings          engine.Settings
}

// Defaults returns what is documented at the options.
func Defaults() Config {
	return Config{
		Smallest: 50, Largest: 10_000,
		Stall:    50 * time.Millisecond,
		MaxLag:   10 * time.Second,
		Patience: 10 * time.Minute,
		Last:     plan.StageSwap,
		Progress: func(plan.OnlineProgress) {},
		Settings: engine.Settings{LockTimeout: 200 * time.Millisecond},
	}
}
