package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
)

// ErrIncomplete is wrapped in the error of [Plan.Apply] if all requested phases have been
// applied, but the move is not complete. Either a requested phase has left work undone, or
// the tables reject Snowflake IDs after the last phase, or Apply could not find out whether
// they do. The text of the error gives the reason.
var ErrIncomplete = run.ErrIncomplete

// Apply applies the plan on one connection. On PostgreSQL and SQLite the statements of a
// phase run in transactions. Most phases are one transaction; on PostgreSQL, phase guard
// has two, and a phase has several if it needs more locks than the server's lock table can
// hold. MySQL and MariaDB have no transactions for such statements. There, after an error,
// call Apply of the same plan or of a new plan, which resumes after the last statement that
// succeeded. In the meantime, the table sqlmigrate_journal holds the original definitions
// of foreign keys and columns that have been dropped or changed.
//
// While there are blockers, Apply does not change the database, and returns the error of
// [Plan.Err]. An empty plan is not an error. [ErrIncomplete] means that the plan has been
// applied. The text of any other error gives the statement that failed and the changes that
// are kept.
//
// When ctx ends, Apply first ends the statement that the server is running, so that no
// other session waits behind a statement without a client, and then returns. It ends the
// statement over another connection of db's pool, which takes at most five seconds. If that
// fails, the error says how to end the statement by hand.
//
// db is the same kind of handle as for [Inspect], and must be of the inspected database.
// Other programs can continue to run; the plan says which of their statements have to wait.
func (p *Plan) Apply(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	return p.execute(ctx, db, opts, run.Work.Apply)
}

// Revert takes back the changes that [Plan.Apply] of the same plan made, phase by phase
// in reverse order. Before it changes anything, it checks that every phase can be taken
// back; for example, all keys must fit into the old columns. Errors, ctx and db are as
// for Apply, but an empty plan is an error, because the plan that Inspect creates after
// Apply does not know the earlier schema.
func (p *Plan) Revert(ctx context.Context, db *gorm.DB, opts ...ApplyOption) error {
	if p.Empty() {
		return errors.New("sqlmigrate: the plan is empty, so it does not say what to take back: call Revert of the plan that was applied, or run its files down")
	}
	return p.execute(ctx, db, opts, run.Work.Revert)
}

// execute checks the options, the blockers and db, and then calls do with the phases that
// the options select. do is [run.Work.Apply] or [run.Work.Revert]. Unlike [Plan.Err],
// execute does not check whether an excluded phase must come first. The method Apply of
// [run.Work] checks this, because it can ask the database whether the excluded phase has
// been applied before.
func (p *Plan) execute(ctx context.Context, db *gorm.DB, opts []ApplyOption, do func(run.Work, context.Context, *sql.Conn, run.Config) error) error {
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
	c.Pool = otherConns(db) // to end a statement of conn when ctx ends
	return withConn(ctx, db, func(conn *sql.Conn) error { return do(work, ctx, conn, c) })
}

// runner returns the engine that runs the statements of the plan, which is the engine of
// its database unless a test has set another.
func (p *Plan) runner() (engine.Engine, error) {
	if p.engine != nil {
		return p.engine, nil
	}
	return engineOf(p.Dialect)
}
