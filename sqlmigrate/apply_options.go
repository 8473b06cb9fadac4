package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
)

// An ApplyOption changes how [Plan.Apply] and [Plan.Revert] go about it.
type ApplyOption interface {
	applyTo(c *run.Config) error
}

type applyOptionFunc func(*run.Config) error

func (f applyOptionFunc) applyTo(c *run.Config) error { return f(c) }

// WithProgress calls fn before each statement and after the last one of each
// phase, one call at a time. What fn does delays the next statement, which may
// be holding locks.
func WithProgress(fn func(Progress)) ApplyOption {
	return applyOptionFunc(func(c *run.Config) error {
		if fn == nil {
			return errors.New("sqlmigrate: WithProgress(nil): want a function")
		}
		c.Progress = fn
		return nil
	})
}

// A RunOption is for [Plan.Apply] and [Plan.Revert], and for the methods of
// [OnlinePlan].
type RunOption interface {
	ApplyOption
	OnlineOption
}

type runOption struct {
	applyOptionFunc
	onlineOptionFunc
}

// WithLockTimeout limits how long a statement waits for a lock to d: while it waits,
// everything that comes after it waits too. Then it is tried again, as [WithRetryFor]
// says.
//
// For [Plan.Apply] the default is 5 seconds. Zero leaves it at what the database, or
// on SQLite the connection, is set to, which may be no limit at all. MySQL and MariaDB
// count in whole seconds, rounded up.
//
// For a short step of an [OnlinePlan], such as the swap, the default is 200 ms, and d
// is a millisecond or more. MariaDB and MySQL try first for as long, or for three seconds
// if that is longer, while nobody waits behind the step (on MySQL for 10 ms at most). If
// it then waits on MariaDB, that is for a second, the least that the server counts.
func WithLockTimeout(d time.Duration) RunOption {
	return runOption{
		func(c *run.Config) error {
			c.LockTimeout = d
			return atLeast("WithLockTimeout", d, 0, "zero")
		},
		func(c *online.Config) error {
			c.Settings.LockTimeout = d
			return atLeast("WithLockTimeout", d, time.Millisecond, "a millisecond")
		},
	}
}

// WithRetryFor limits for how long is tried again what has waited too long for a lock,
// see [WithLockTimeout], or was in a deadlock. Zero means that the first such error is
// the last. The end of the context ends the attempts too.
//
// For [Plan.Apply] the default is 2 minutes. Everything up to the lock is repeated, on
// MySQL and MariaDB the statement alone. In the pauses between attempts, which grow from
// a quarter of a second to 15 seconds, no lock is held, and what has waited goes ahead.
// [WithProgress] is told of each.
//
// For a short step of an [OnlinePlan] the default is 10 minutes.
func WithRetryFor(d time.Duration) RunOption {
	return runOption{
		func(c *run.Config) error {
			c.RetryFor = d
			return atLeast("WithRetryFor", d, 0, "zero")
		},
		func(c *online.Config) error {
			c.Patience = d
			return atLeast("WithRetryFor", d, 0, "zero")
		},
	}
}

// WithPhases leaves out all phases but these. A phase that the plan does not
// have, because there is nothing to do, is not an error. The order is always the
// plan's.
func WithPhases(names ...PhaseName) ApplyOption {
	return applyOptionFunc(func(c *run.Config) error {
		if len(names) == 0 {
			return errors.New("sqlmigrate: WithPhases(): want at least one of widen, detach, guard and park")
		}
		for _, name := range names {
			switch name {
			case Widen, Detach, Guard, Park:
				c.Phases = append(c.Phases, name)
			default:
				return fmt.Errorf("sqlmigrate: WithPhases: unknown phase %q: want widen, detach, guard or park", name)
			}
		}
		return nil
	})
}

func configureApply(opts []ApplyOption) (run.Config, error) {
	c := run.Defaults()
	err := option.Apply("sqlmigrate", opts, func(o ApplyOption) error { return o.applyTo(&c) })
	return c, err
}
