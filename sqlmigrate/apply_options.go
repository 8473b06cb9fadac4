package sqlmigrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
)

// An ApplyOption changes how [Plan.Apply] and [Plan.Revert] work.
type ApplyOption interface {
	applyTo(c *run.Config) error
}

// An applyOptionFunc is an [ApplyOption] that is a function.
type applyOptionFunc func(*run.Config) error

func (f applyOptionFunc) applyTo(c *run.Config) error { return f(c) }

// WithProgress calls fn before each statement and after the last statement of each phase,
// one call at a time. While fn runs, the next statement has to wait, and the transaction
// may hold locks.
func WithProgress(fn func(Progress)) ApplyOption {
	return applyOptionFunc(func(c *run.Config) error {
		if fn == nil {
			return errors.New("sqlmigrate: WithProgress(nil): want a function")
		}
		c.Progress = fn
		return nil
	})
}

// A RunOption is an option of [Plan.Apply] and [Plan.Revert], and of the methods of
// [OnlinePlan].
type RunOption interface {
	ApplyOption
	OnlineOption
}

// A runOption changes a setting that both kinds of plans have. It has one function for
// [Plan] and one for [OnlinePlan].
type runOption struct {
	applyOptionFunc
	onlineOptionFunc
}

// WithLockTimeout limits to d how long a statement waits for a lock. The limit matters
// because all later statements for the same table wait behind a statement that waits. After
// a timeout, the statement is tried again, see [WithRetryFor].
//
// For [Plan.Apply] the default is 5 seconds. Zero keeps the timeout that the database, or
// on SQLite the connection, is configured with, which may be unlimited. MySQL and MariaDB
// count in whole seconds; d is rounded up.
//
// For a short step of an [OnlinePlan], such as the swap, the default is 200 ms, and d must
// be a millisecond or more. The first try waits for an eighth of d, and each further try
// for an eighth more, up to d.
//
// On MariaDB and MySQL, each try begins with short attempts, which the step repeats for
// three seconds, or for the wait of the try if that is longer. No program waits behind a
// short attempt on MariaDB, and on MySQL a program waits for at most 10 ms. If no short
// attempt succeeds, the step waits for the lock as described above. On MySQL the limit of
// this wait is a second or less. On MariaDB the limit is always a second, which is the
// shortest timeout of that server.
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

// WithRetryFor sets for how long a statement is tried again if it waited too long for a
// lock, see [WithLockTimeout], or if it was the victim of a deadlock. Zero means that the
// first such error is returned. The end of the context also ends the attempts.
//
// For [Plan.Apply] the default is 2 minutes. An attempt repeats the whole transaction, and
// on MySQL and MariaDB the statement alone. The pauses between attempts grow from a quarter
// of a second at most to 15 seconds at most. In a pause the move holds no lock, so that the
// sessions that waited behind the move can proceed. [WithProgress] reports each attempt
// that failed.
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

// WithPhases limits a call to the named phases. Apply runs them in the order of the plan,
// and Revert in the reverse order, whatever the order of the names. If the plan does not
// have such a phase, because the phase has no work, that is not an error.
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

// configureApply returns the default configuration with the changes of the options.
func configureApply(opts []ApplyOption) (run.Config, error) {
	c := run.Defaults()
	err := option.Apply("sqlmigrate", opts, func(o ApplyOption) error { return o.applyTo(&c) })
	return c, err
}
