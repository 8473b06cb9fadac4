package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
)

// An OnlineOption changes how an [OnlinePlan] is carried out.
type OnlineOption interface {
	applyOnline(c *online.Config) error
}

type onlineOptionFunc func(*online.Config) error

func (f onlineOptionFunc) applyOnline(c *online.Config) error { return f(c) }

// WithBatchRows bounds how many rows are copied at a time. The defaults are 50
// and 10,000: the size adapts to [WithStall] between them.
func WithBatchRows(smallest, largest int) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if smallest < 1 || largest < smallest {
			return fmt.Errorf("sqlmigrate: WithBatchRows(%d, %d): want at least 1, and the second number no smaller than the first", smallest, largest)
		}
		c.Smallest, c.Largest = smallest, largest
		return nil
	})
}

// WithStall is how long a batch may take, and so how long a program may wait for
// one. The copy rests for as long as it works. The default is 50 ms.
func WithStall(d time.Duration) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if d <= 0 {
			return fmt.Errorf("sqlmigrate: WithStall(%v): want more than zero", d)
		}
		c.Stall = d
		return nil
	})
}

// WithMaxLag makes the copy wait while a replica is further behind than d. PostgreSQL
// knows its replicas; MariaDB and MySQL need [WithReplicas]. The default is 10 s; zero is
// no limit.
func WithMaxLag(d time.Duration) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		c.MaxLag = d
		return atLeast("WithMaxLag", d, 0, "zero")
	})
}

// WithReplicas names replicas of MariaDB or MySQL for [WithMaxLag], by handles of the same
// database on them. The move writes the time into its table sqlmigrate_online once a
// second, and reads there what has arrived: that takes the right to SELECT from it. A
// replica that has stopped, or stops answering, makes the copy wait.
func WithReplicas(replicas ...*gorm.DB) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		for _, db := range replicas {
			if err := checkHandle(db); err != nil {
				return fmt.Errorf("sqlmigrate: WithReplicas: %w", err)
			}
			pool := otherConns(db)
			if db.Name() != "mysql" || pool == nil {
				return fmt.Errorf("sqlmigrate: WithReplicas: a handle of %s: want one of MariaDB or MySQL with its pool; PostgreSQL knows its replicas", db.Name())
			}
			c.Replicas = append(c.Replicas, pool)
		}
		return nil
	})
}

// WithLastStage makes Apply return after this stage, as if it were the last one
// but finish. The default is [StageSwap].
func WithLastStage(name StageName) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		switch name {
		case StagePrepare, StageCopy, StageIndex, StageConstrain, StageSwap:
			c.Last = name
			return nil
		}
		return fmt.Errorf("sqlmigrate: WithLastStage: unknown stage %q: want prepare, copy, index, constrain or swap", name)
	})
}

// WithOnlineProgress calls fn before each step, after each second of one in
// batches, when a step has to wait, and after the last one: one call at a
// time. What fn does delays the next step, but no program: no locks are held.
func WithOnlineProgress(fn func(OnlineProgress)) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if fn == nil {
			return errors.New("sqlmigrate: WithOnlineProgress(nil): want a function")
		}
		c.Progress = fn
		return nil
	})
}
