package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const (
	// clockDifference is how far another machine's clock may be ahead before
	// the keys it issues are blockers.
	clockDifference = time.Minute

	// keptFree: keys that a database has counted do not reach the IDs of the
	// second day of an epoch, which are above 10^11 in every layout of this
	// module. What does is taken for an ID.
	keptFree = 24 * time.Hour
)

// Inspect finds all tables that are connected with the targets by references,
// in either direction, and plans what has to be done so that their keys can be
// Snowflake IDs. It changes nothing: it reads, and tries keys in copies of the tables
// that have no rows, as [TryKeys] does.
//
// A target is
//
//   - the name of a table, as "orders" or "shop.orders", used exactly as it is
//     written; a name that has a dot is put in double quotes,
//   - a GORM model, pointer or value: its table, and the references of its
//     associations that have no constraint, join tables and polymorphic owners
//     included.
//
// [InspectWith] takes options too.
//
// Columns that are too narrow for a Snowflake ID, may hold keys of the tables and
// are not connected with them are left alone, and listed in [Plan.Likely].
//
// On MySQL and MariaDB it takes the lock of [Plan.Apply] with GET_LOCK, because a
// schema that is being changed cannot be planned: a run that does not end within
// ten seconds is an error.
//
// A key that is more than a minute ahead of this machine's clock is a blocker.
//
// A blocker is not an error: it is in [Plan.Blockers], and [Plan.Err] makes an
// error of it. An error is a target that does not exist or means nothing, a
// database that is not supported, such as TiDB, a right that is missing.
//
// db must not be a transaction. If it is pinned to one connection, as in
// [gorm.DB.Connection], that is used.
func Inspect(ctx context.Context, db *gorm.DB, targets ...any) (*Plan, error) {
	return InspectWith(ctx, db, targets)
}

// InspectWith is [Inspect] with options.
func InspectWith(ctx context.Context, db *gorm.DB, targets []any, opts ...Option) (*Plan, error) {
	e, err := engineFor(db)
	if err != nil {
		return nil, err
	}
	c, err := configure(db, targets, opts)
	if err == nil && len(c.tables) == 0 {
		err = errors.New("sqlmigrate: no table to move: " + accepted)
	}
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(conn *sql.Conn) (*Plan, error) {
		return c.inspect(ctx, conn, db.Dialector.Name(), e)
	})
}

// Validate returns what [InspectWith] would find wrong with targets and options
// without a look at the database. There may be no targets.
func Validate(db *gorm.DB, targets []any, opts ...Option) error {
	if err := checkHandle(db); err != nil {
		return err
	}
	_, err := configure(db, targets, opts)
	return err
}

// TryKeys puts two keys into copies of tables, which have no rows: one that would be
// issued now, and the last one of the layout. The tables are those of the targets, as
// for [InspectWith], and all that are connected with them by references: as they are,
// which is for those that have been moved. Columns that reject the first key, and views
// that cannot be read with it, are the blockers, and so are triggers that still assign
// keys. The notes are on the second, and on what could not be tried.
//
// A copy is a temporary table, or one that is dropped. No trigger of a table fires, and
// no program waits.
func TryKeys(ctx context.Context, db *gorm.DB, targets []any, opts ...Option) (rejected []Blocker, notes []string, err error) {
	e, err := engineFor(db)
	if err != nil {
		return nil, nil, err
	}
	c, err := configure(db, targets, opts)
	if err != nil {
		return nil, nil, err
	}
	tried, err := read(ctx, db, func(conn *sql.Conn) (engine.Findings, error) {
		found, _, err := c.find(ctx, conn, e)
		if err != nil {
			return engine.Findings{}, err
		}
		tried, err := e.Try(ctx, conn, c.trial(found))
		for _, b := range found.Blockers { // of tables that are left out
			if !slices.ContainsFunc(found.Tables, func(t Table) bool { return t.TableName() == b.Table }) {
				tried.Blockers = append(tried.Blockers, b)
			}
		}
		return tried, err
	})
	rejected = tried.Blockers
	for _, o := range tried.Omitted {
		rejected = append(rejected, o.Blocker)
	}
	return rejected, tried.Notes, err
}

func (c *config) inspect(ctx context.Context, conn *sql.Conn, dialect string, e engine.Engine) (*Plan, error) {
	found, notes, err := c.find(ctx, conn, e)
	if err != nil {
		return nil, err
	}
	trial := c.trial(found)
	if len(found.Blockers) == 0 {
		moved := trial
		moved.Moved, moved.Phases = true, found.Phases
		tried, err := e.Try(ctx, conn, moved)
		if err != nil {
			return nil, err
		}
		found.Add(tried)
	}
	p := &Plan{
		Dialect: dialect, Tables: found.Tables, Blockers: found.Blockers, Phases: found.Phases, Omitted: found.Omitted,
		Notes: found.Notes, trial: trial,
	}
	c.keys = p.keys()
	p.Likely, err = c.findReferences(ctx, conn, e, p.movedColumns())
	if err != nil {
		return nil, err
	}
	p.NotReferences = engine.Converted(c.excluded, func(r engine.Reference) string {
		return r.Table.String() + "." + plan.QuoteDotted(r.Column)
	})
	p.Notes = slices.Concat(p.Notes, notes)
	return p, nil
}

// find returns what the engine finds, and notes on what was asked for.
func (c *config) find(ctx context.Context, conn *sql.Conn, e engine.Engine) (*engine.Result, []string, error) {
	references, notes, err := c.existing(ctx, conn, e)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	found, err := e.Inspect(ctx, conn, engine.Request{
		Tables:     c.tables,
		References: references,
		Ahead:      c.layout.Min(now.Add(clockDifference)).Int64(),
		Issued:     min(c.layout.Min(now), c.layout.Min(c.layout.Epoch.Add(keptFree))).Int64(),

		RecreateViews: c.recreateViews,

		Park:  c.park,
		Place: parking.NewPlace(c.layout),
	})
	return found, notes, err
}

// trial is of keys in tables as they are.
func (c *config) trial(found *engine.Result) engine.Trial {
	return engine.Trial{Tables: found.Tables, Parked: c.park, Small: 1, Today: c.layout.Max(time.Now()), Last: c.layout.Max(c.layout.Expires())}
}

// movedColumns are all columns of the plan, and keysOf those that others may refer
// to, which excludes one of several columns of a key, as in a join table.
func (p *Plan) movedColumns() []engine.Reference {
	var columns []engine.Reference
	for _, t := range p.Tables {
		for _, c := range t.Columns {
			columns = append(columns, engine.Reference{Table: t.TableName(), Column: c.Name})
		}
	}
	return columns
}

func (p *Plan) keys() []likely.Key {
	var keys []likely.Key
	for _, t := range p.Tables {
		own := slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !c.Key })
		for _, c := range own {
			if len(own) == 1 || len(c.Refers) == 0 {
				keys = append(keys, likely.Key{Table: t.TableName(), Column: c.Name})
			}
		}
	}
	return keys
}
