package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An OnlinePlan does what phase [Widen] does without keeping programs from the
// tables: new columns, or tables, are filled in the background, and take the
// place of the old ones in a moment. It takes longer than Widen, and more disk.
// Phases [Detach] and [Guard] follow as ever.
//
// It is kept in the database from the first change on, together with how far it has
// come. Each of Apply, Finish and Revert resumes there after an error, a kill
// or the end of its context.
type OnlinePlan struct {
	// Dialect is GORM's name of the database: postgres, or mysql for MariaDB and MySQL.
	Dialect string

	// Tables are those that are widened.
	Tables []string

	// Blockers keep the plan from being carried out. While there are any, and
	// the move is not under way, nothing is changed.
	Blockers []Blocker

	// Stages are what is to be done, in order. The last one is Finish's.
	Stages []OnlineStage

	// Notes are what to know before applying the plan.
	Notes []string

	tables []plan.TableName
	move   *engine.Move
}

type (
	// StageName names a stage of an [OnlinePlan].
	StageName = plan.StageName
	// An OnlineStage is a part of an [OnlinePlan].
	OnlineStage = plan.Stage
	// An OnlineStep is what is done between two points from which an [OnlinePlan] can be
	// resumed.
	OnlineStep = plan.OnlineStep
	// OnlineProgress is what [OnlinePlan.Apply], Finish or Revert is about to do.
	OnlineProgress = plan.OnlineProgress
	// OnlineSteering is what others want of a move while it runs: see [OnlinePlan.Steer].
	OnlineSteering = plan.Steering
)

// The stages, in their order.
const (
	StagePrepare   = plan.StagePrepare
	StageCopy      = plan.StageCopy
	StageIndex     = plan.StageIndex
	StageConstrain = plan.StageConstrain
	StageSwap      = plan.StageSwap
	StageFinish    = plan.StageFinish
)

// An OnlineStatus is how far an online widening has come.
type OnlineStatus struct {
	// Begun reports whether anything has been changed, and Swapped whether the
	// new columns have taken the place of the old ones.
	Begun, Swapped bool

	// Reverting is true once Revert has begun: nothing but Revert continues then.
	Reverting bool

	// Stage is the one that is next, and Done of Of steps are over, in the
	// direction that it has. Stage is empty if all is done.
	Stage    StageName
	Done, Of int

	// Copied rows of OfRows, which is an estimate, have been written by the step that
	// is next, if that is one in batches.
	Copied, OfRows int64

	// Rate is how many a second, of the process that copies or was the last to.
	Rate float64

	// Waits counts the batches that have waited for replicas: see [WithMaxLag].
	Waits int64

	// Remaining is by Rate, and by the plan's estimates for further steps until the
	// swap, or until the end of the way back.
	Remaining time.Duration

	Began time.Time

	Steering OnlineSteering
}

// Online plans phase [Widen] of p so that programs keep writing while it runs, or
// finds the plan that is under way for one of its tables. It changes nothing: where
// the definition of a new column is to be known, the server writes it for a temporary
// table that is rolled back. db is the database that was inspected.
//
// Whatever would not survive the move is in [OnlinePlan.Blockers]. The error is
// for databases other than PostgreSQL, MariaDB and MySQL.
func (p *Plan) Online(ctx context.Context, db *gorm.DB) (*OnlinePlan, error) {
	driver, err := onlineFor(db, p.Dialect)
	if err != nil {
		return nil, err
	}
	names := engine.Converted(p.Tables, func(t Table) plan.TableName { return t.TableName() })
	return read(ctx, db, func(conn *sql.Conn) (*OnlinePlan, error) {
		move, err := driver.LoadMove(ctx, conn, names)
		if err != nil {
			return nil, err
		}
		if move == nil {
			found, err := driver.PlanOnline(ctx, conn, p.onlineTables())
			if err != nil {
				return nil, err
			}
			found.Blockers = mergedBlockers(p.Blockers, found.Blockers)
			move = &engine.Move{Plan: *found}
		}
		return newOnlinePlan(p.Dialect, names, move), nil
	})
}

// FindOnline finds the online move of one of the targets that is under way, also while
// another process carries it out. Where there is none, [OnlinePlan.Status] says so. Targets
// are those of [Inspect]. It only reads.
func FindOnline(ctx context.Context, db *gorm.DB, targets ...any) (*OnlinePlan, error) {
	if err := checkHandle(db); err != nil {
		return nil, err
	}
	driver, err := onlineFor(db, db.Name())
	if err != nil {
		return nil, err
	}
	c, err := configure(db, targets, nil)
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(conn *sql.Conn) (*OnlinePlan, error) {
		move, err := driver.LoadMove(ctx, conn, c.tables)
		return newOnlinePlan(db.Name(), c.tables, move), err
	})
}

// onlineFor is the driver for a plan of the dialect.
func onlineFor(db *gorm.DB, dialect string) (engine.Online, error) {
	if err := checkDialect(db, dialect); err != nil {
		return nil, err
	}
	driver, ok := onlines[dialect]
	if !ok {
		return nil, fmt.Errorf("sqlmigrate: an online widening is not supported on %s: apply phase widen", dialect)
	}
	return driver, nil
}

// newOnlinePlan may have no move.
func newOnlinePlan(dialect string, tables []plan.TableName, move *engine.Move) *OnlinePlan {
	o := &OnlinePlan{Dialect: dialect, tables: tables, move: move}
	if move != nil {
		o.Tables = engine.Converted(move.Plan.Tables, plan.TableName.String)
		o.Stages, o.Blockers, o.Notes = move.Plan.Stages, move.Plan.Blockers, move.Plan.Notes
	}
	return o
}

// onlineTables are those that have a column to be widened.
func (p *Plan) onlineTables() []Table {
	widens := func(c Column) bool { return c.To != "" }
	return slices.DeleteFunc(slices.Clone(p.Tables), func(t Table) bool { return !slices.ContainsFunc(t.Columns, widens) })
}

// mergedBlockers are the plan's own, but for those of a change in place, and those of
// objects that are not among them.
func mergedBlockers(own, more []Blocker) []Blocker {
	own = slices.DeleteFunc(slices.Clone(own), func(b Blocker) bool { return b.InPlace })
	all := slices.Clone(own)
	for _, b := range more {
		if !slices.ContainsFunc(own, func(known Blocker) bool { return known.Table == b.Table && known.Object == b.Object }) {
			all = append(all, b)
		}
	}
	return all
}

// Empty reports whether there is nothing to do, and nothing to finish.
func (o *OnlinePlan) Empty() bool { return len(o.Stages) == 0 }

// Err is [Plan.Err] of this plan's blockers.
func (o *OnlinePlan) Err() error { return errorOf(o.Blockers) }

// Estimate is the sum of the steps' estimates; Disk and Log are the bytes by
// which the tables and the log grow until Finish.
func (o *OnlinePlan) Estimate() (took time.Duration, disk, log int64) {
	for _, stage := range o.Stages {
		for _, s := range stage.Steps {
			took, disk, log = took+s.Estimate, disk+s.Disk, log+s.Log
		}
	}
	return took, disk, log
}

// Apply carries out all stages but the last: afterwards the keys are wide, and
// the old ones are still there for [OnlinePlan.Revert], except on MariaDB and MySQL,
// where the way back ends with stage swap. Call [OnlinePlan.Finish] when
// nobody will want them back.
//
// It needs a connection of its own for as long as it takes, which must not
// go through a proxy that hands out another one for each transaction.
//
// While there are blockers, nothing is changed and the error is the one of
// [OnlinePlan.Err]. A plan that is empty, or that has been applied, is not an
// error.
func (o *OnlinePlan) Apply(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Apply)
}

// Finish carries out the last stage: the old columns are dropped. There is no
// way back from here. It is an error if [OnlinePlan.Apply] has not come to its
// end.
func (o *OnlinePlan) Finish(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Finish)
}

// Revert takes back what has been done, from any point before Finish, on MariaDB and
// MySQL before stage swap: an error that says so if there is nothing, or no way back
// any more, such as keys that the old columns do not hold. Once it has begun, only
// Revert can continue.
func (o *OnlinePlan) Revert(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Revert)
}

// Status reads how far the move has come from the database.
func (o *OnlinePlan) Status(ctx context.Context, db *gorm.DB) (OnlineStatus, error) {
	driver, err := onlineFor(db, o.Dialect)
	if err != nil {
		return OnlineStatus{}, err
	}
	return read(ctx, db, func(conn *sql.Conn) (OnlineStatus, error) {
		move, err := driver.LoadMove(ctx, conn, o.tables)
		if move == nil || err != nil {
			return OnlineStatus{}, err
		}
		stage, of := online.At(move)
		rows, remaining := online.Left(move)
		return OnlineStatus{
			Begun: true, Swapped: online.Swapped(move), Reverting: move.Back,
			Stage: stage, Done: move.Done, Of: of,
			Copied: move.Copied, OfRows: rows, Rate: move.Rate, Waits: move.Waits, Remaining: remaining, Began: move.Began, Steering: move.Steering,
		}, nil
	})
}

// Steer changes what a move that is under way does next, whichever process carries it
// out: change is given what was wanted before. The move notices it in a second or so, and
// keeps to it when it is resumed.
func (o *OnlinePlan) Steer(ctx context.Context, db *gorm.DB, change func(*OnlineSteering)) error {
	driver, err := onlineFor(db, o.Dialect)
	if err != nil {
		return err
	}
	return withConn(ctx, db, func(conn *sql.Conn) error {
		move, err := driver.LoadMove(ctx, conn, o.tables)
		if err != nil {
			return err
		}
		if move == nil {
			return online.ErrNoMove
		}
		change(&move.Steering)
		if s := move.Steering; s.Stall < 0 || s.MaxRunning < 0 {
			return fmt.Errorf("sqlmigrate: Steer: Stall %v, MaxRunning %d: want zero or more", s.Stall, s.MaxRunning)
		}
		return driver.Steer(ctx, conn, move)
	})
}

func (o *OnlinePlan) run(ctx context.Context, db *gorm.DB, opts []OnlineOption, do func(*online.Run, context.Context) error) error {
	c := online.Defaults()
	err := option.Apply("sqlmigrate", opts, func(opt OnlineOption) error { return opt.applyOnline(&c) })
	if err != nil {
		return err
	}
	driver, err := onlineFor(db, o.Dialect)
	if err != nil {
		return err
	}
	if o.move == nil {
		return errors.New("sqlmigrate: the OnlinePlan was not made by Plan.Online, or FindOnline has found no move: call Plan.Online, which plans one")
	}
	if err := o.Err(); err != nil {
		return err
	}
	c.Settings.Pool = otherConns(db)
	return withConn(ctx, db, func(conn *sql.Conn) error {
		return do(online.New(driver, conn, o.tables, *o.move, c), ctx)
	})
}
