package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
)

// ErrIncomplete is in the error of [Plan.Apply] for a plan that has been carried out,
// if a phase that was asked for has left something undone, or if the tables do not
// take Snowflake IDs after the last phase. The error says why.
var ErrIncomplete = run.ErrIncomplete

// Apply carries out the plan, on one connection. On PostgreSQL and SQLite each
// phase is one transaction. MySQL and MariaDB have none for such statements:
// after an error, call Apply of the same plan or of a new one, and it resumes
// where the last one stopped: a journal in the database knows the foreign keys
// that are dropped for the time being.
//
// While there are blockers, nothing is changed and the error is the one of
// [Plan.Err]. An empty plan is not an error. [ErrIncomplete] is one of a plan that
// has been carried out. After any other error, its text says which statement failed
// and what has been changed.
//
// When ctx ends, Apply returns as soon as the server has ended the statement,
// so that nobody waits behind one that is left over: it needs another connection
// of db's pool, and five seconds at most, or the error says how to end it.
//
// db is as for [Inspect], and must be the database that was inspected. Other
// programs can continue; the plan says what they have to wait for.
func (p *Plan) Apply(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	return p.carryOut(ctx, db, opts, run.Work.Apply)
}

// Revert takes back what [Plan.Apply] of the same plan has done, phase by phase
// in reverse order. Before it changes anything it makes sure that no phase has
// a reason not to be taken back, such as keys that would not fit any more.
// Everything else is as with Apply, except that an empty plan is an error:
// what Inspect finds after Apply does not say what was there before.
func (p *Plan) Revert(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	if p.Empty() {
		return errors.New("sqlmigrate: the plan is empty, so it does not say what to take back: call Revert of the plan that was applied, or run its files down")
	}
	return p.carryOut(ctx, db, opts, run.Work.Revert)
}

func (p *Plan) carryOut(ctx context.Context, db *gorm.DB, opts []ApplyOption, do func(run.Work, context.Context, *sql.Conn, run.Config) error) error {
	c, err := configureApply(opts)
	if err != nil {
		return err
	}
	if c.Phases != nil {
		p = p.Only(c.Phases...)
	}
	if err := errorOf(p.Blockers); err != nil {
		return err
	}
	if err := checkDialect(db, p.Dialect); err != nil {
		return err
	}
	work := p.work()
	if work.Engine, err = p.runner(); err != nil {
		return err
	}
	c.Pool = otherConns(db)
	return withConn(ctx, db, func(conn *sql.Conn) error { return do(work, ctx, conn, c) })
}

func (p *Plan) runner() (engine.Engine, error) {
	if p.engine != nil {
		return p.engine, nil
	}
	return engineOf(p.Dialect)
}
