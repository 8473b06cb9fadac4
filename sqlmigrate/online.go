package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Online plans the work of phase [Widen] of p as a move during which programs can write. If
// a move of one of p's tables has begun, Online returns the stored plan of this move
// instead. It does not change the schema. To learn how the server writes the definition of
// a new column, it creates a temporary table in a transaction that it rolls back. db is a
// handle of the inspected database.
//
// [OnlinePlan.Blockers] lists the objects that prevent the move, for example because they
// would not survive it. Online returns an error if the database is not PostgreSQL, MariaDB
// or MySQL.
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

// FindOnline returns the stored plan of the online move that contains one of the targets,
// also while another process runs the move. If no such move has begun, FindOnline returns a
// plan without stages, whose [OnlinePlan.Status] is the zero value, and whose methods
// Apply, Finish and Revert return an error. Targets are as for [Inspect]. FindOnline only
// reads.
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

// onlineFor returns the driver of the dialect, after it has checked that db is a handle
// of such a database.
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

// onlineTables returns the tables of the plan that have a column to widen.
func (p *Plan) onlineTables() []Table {
	widens := func(c Column) bool { return c.To != "" }
	return slices.DeleteFunc(slices.Clone(p.Tables), func(t Table) bool { return !slices.ContainsFunc(t.Columns, widens) })
}

// mergedBlockers returns the blockers of an online move. These are the blockers of the
// offline plan, except those with InPlace, and the blockers that the online driver found.
// InPlace means that the blocker only prevents a change of a column's type in place, which
// an online move does not need, because it creates new columns. If both plans have a
// blocker for the same object, mergedBlockers keeps that of the offline plan.
func mergedBlockers(offline, online []Blocker) []Blocker {
	offline = slices.DeleteFunc(slices.Clone(offline), func(b Blocker) bool { return b.InPlace })
	all := slices.Clone(offline)
	for _, b := range online {
		if !slices.ContainsFunc(offline, func(known Blocker) bool { return known.Table == b.Table && known.Object == b.Object }) {
			all = append(all, b)
		}
	}
	return all
}

// Apply runs all stages except the last. Afterwards the keys are wide, and the old keys
// still exist, so that [OnlinePlan.Revert] can restore them. On MariaDB and MySQL, Revert
// is not possible after stage swap. Call [OnlinePlan.Finish] when the old keys will not
// be needed again.
//
// Apply uses one connection until it returns. The connection must not go through a proxy
// that assigns another server connection to each transaction.
//
// While there are blockers, Apply does not change the database, and returns the error of
// [OnlinePlan.Err]. A plan that is empty, or that has been applied, is not an error.
func (o *OnlinePlan) Apply(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Apply)
}

// Finish runs the last stage, which drops the old columns. After that, the move cannot be
// reverted. Finish returns an error if [OnlinePlan.Apply] has not completed.
func (o *OnlinePlan) Finish(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Finish)
}

// Revert takes back the completed steps. It can be called at any time before Finish, on
// MariaDB and MySQL before stage swap. It returns an error if no step has been done, or
// if the move cannot be reverted any more, for example because the old columns are too
// narrow for new keys. Once Revert has begun, only Revert can continue the move.
func (o *OnlinePlan) Revert(ctx context.Context, db *gorm.DB, opts ...OnlineOption) error {
	return o.run(ctx, db, opts, (*online.Run).Revert)
}

// Status reads the progress of the move from the database. If the move has not begun, it
// returns the zero value.
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

// Steer changes the requests to a move that has begun, also if another process runs the
// move. change receives the present requests and modifies them. The process that runs the
// move reads the requests about once a second. The database keeps them, so they also apply
// after the move was interrupted and resumed.
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
		if p := move.Steering.Pace; p != "" {
			if err := checkPace("Steer", p); err != nil {
				return err
			}
		}
		return driver.Steer(ctx, conn, move)
	})
}

// run checks the options, db and the blockers, and then calls do for the move. do is the
// method Apply, Finish or Revert of [online.Run].
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
