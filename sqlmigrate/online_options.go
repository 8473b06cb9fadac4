package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
)

// An OnlineOption changes how an [OnlinePlan] is applied.
type OnlineOption interface {
	applyOnline(c *online.Config) error
}

// An onlineOptionFunc is an [OnlineOption] that is a function.
type onlineOptionFunc func(*online.Config) error

func (f onlineOptionFunc) applyOnline(c *online.Config) error { return f(c) }

// WithBatchRows sets the smallest and the largest number of rows in a batch of the copy.
// Between these bounds, the move adapts the number so that a batch takes about as long as
// [WithStall] allows. The defaults are 50 and 10,000.
func WithBatchRows(smallest, largest int) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if smallest < 1 || largest < smallest {
			return fmt.Errorf("sqlmigrate: WithBatchRows(%d, %d): want at least 1, and the second number no smaller than the first", smallest, largest)
		}
		c.Smallest, c.Largest = smallest, largest
		return nil
	})
}

// WithStall sets how long a batch may take, which is also how long a program may have to
// wait for a batch. The default is 50 ms.
func WithStall(d time.Duration) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if d <= 0 {
			return fmt.Errorf("sqlmigrate: WithStall(%v): want more than zero", d)
		}
		c.Stall = d
		return nil
	})
}

// WithPace sets the pace of the copy. At [PacePolite], the default, the copy pauses after
// each batch for as long as the batch took, so that programs have half of the time to
// themselves. At [PaceFull] it pauses only after a commit that took longer than
// [WithStall] allows. The limit of WithStall then does not include the commit. On
// PostgreSQL, the commits of batches do not wait for the disk, so a crash of the server can
// undo the last batches; the next Apply repeats them.
func WithPace(p Pace) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		c.Settings.Pace = p
		return checkPace("WithPace", p)
	})
}

// checkPace returns an error if the pace is unknown. name is the function to which the pace
// was passed, for example WithPace, for the error.
func checkPace(name string, p Pace) error {
	if p != PacePolite && p != PaceFull {
		return fmt.Errorf("sqlmigrate: %s: unknown pace %q: want polite or full", name, p)
	}
	return nil
}

// WithMaxLag makes the copy wait while a replica is more than d behind. PostgreSQL knows
// its replicas; on MariaDB and MySQL, name them with [WithReplicas]. The default is 10 s.
// With zero, the copy does not wait for replicas.
func WithMaxLag(d time.Duration) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		c.MaxLag = d
		return atLeast("WithMaxLag", d, 0, "zero")
	})
}

// WithReplicas names the replicas of MariaDB or MySQL for [WithMaxLag]. Each handle opens
// the moved database on one replica. Once a second, the move writes the time to its table
// sqlmigrate_online, and reads from the table on each replica which time has arrived.
// Therefore the accounts of the handles need the right to SELECT from this table. The copy
// waits if a replica has stopped or does not answer.
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

// WithLastStage makes Apply return after this stage. [OnlinePlan.Finish] still comes
// last. The default is [StageSwap].
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

// WithOnlineProgress calls fn before each step, after each second of a step in batches,
// when a step has to wait, and after the last step. It makes one call at a time. While fn
// runs, the next step has to wait, but other programs do not, because no locks are held.
func WithOnlineProgress(fn func(OnlineProgress)) OnlineOption {
	return onlineOptionFunc(func(c *online.Config) error {
		if fn == nil {
			return errors.New("sqlmigrate: WithOnlineProgress(nil): want a function")
		}
		c.Progress = fn
		return nil
	})
}
