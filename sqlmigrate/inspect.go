package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const (
	// clockDifference is how far another machine's clock may be ahead of this machine's
	// clock. A key that is further ahead is a blocker.
	clockDifference = time.Minute

	// earlyEpoch is the time after a layout's epoch in which IDs can be as small as the keys
	// that a counter of the database assigns. A key as small as these IDs is taken for a key
	// of a counter, and only a larger key for an ID. The IDs of the second day after the epoch
	// are above 10^11 in every layout of this module, and no counter reaches that number.
	earlyEpoch = 24 * time.Hour
)

// Inspect finds all tables that references connect with the targets, in either direction,
// and plans the statements after which their keys can be Snowflake IDs. It changes no
// table and no row: it reads, and tries keys in empty copies of the tables, as [TryKeys]
// does.
//
// A target is
//
//   - the name of a table, such as "orders" or "shop.orders". The name must have
//     the exact case of the table; put a name that has a dot in double quotes;
//   - a GORM model, as a pointer or a value. Inspect uses its table, and the
//     references of its associations that have no constraint, including join
//     tables and polymorphic owners.
//
// [InspectWith] also takes options.
//
// A column may be too narrow for a Snowflake ID and seem to hold keys of the tables
// although no reference connects it with them. The plan does not change such a column,
// and lists it in [Plan.Likely].
//
// On MySQL and MariaDB, Inspect takes the same lock as [Plan.Apply] with GET_LOCK,
// because a schema cannot be planned while it is being changed. If a running Apply does
// not end within ten seconds, Inspect returns an error.
//
// A key that is more than a minute ahead of this machine's clock is a blocker, because a
// generator could issue the same number later.
//
// A blocker is not an error of Inspect: it is in [Plan.Blockers], and [Plan.Err] returns
// it as an error. Inspect returns an error for a target that does not exist or is not
// valid, an unsupported database such as TiDB, and a missing right.
//
// db must not be a transaction. If it is pinned to one connection, as in
// [gorm.DB.Connection], Inspect uses this connection.
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
		err = errors.New("sqlmigrate: no table to move: " + wantTarget)
	}
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(conn *sql.Conn) (*Plan, error) {
		return c.inspect(ctx, conn, db.Dialector.Name(), e)
	})
}

// Validate returns the errors that [InspectWith] would return for the targets and options
// before it reads the database. targets may be empty.
func Validate(db *gorm.DB, targets []any, opts ...Option) error {
	if err := checkHandle(db); err != nil {
		return err
	}
	_, err := configure(db, targets, opts)
	return err
}

// TryKeys inserts two keys into empty copies of tables: a key that would be issued now, and
// the last key of the layout. The tables are the targets, as for [InspectWith], and all
// tables that references connect with them. The copies have the present definitions of the
// tables, so call TryKeys after the move.
//
// rejected lists the columns that reject the first key, and the views that cannot be read
// with it. It also lists triggers that still assign keys, triggers and rules that insert
// rows without a key or write a key into a narrow column, and the tables that cannot be
// tried because of a blocker, for example because they have no primary key. notes describe
// the results for the second key, other code that inserts rows without a key, and the other
// tables in which no key could be tried.
//
// A copy is a temporary table, or a table that TryKeys drops afterwards. No trigger of an
// original table fires, and no program has to wait.
func TryKeys(ctx context.Context, db *gorm.DB, targets []any, opts ...Option) (rejected []Blocker, notes []string, err error) {
	e, err := engineFor(db)
	if err != nil {
		return nil, nil, err
	}
	c, err := configure(db, targets, opts)
	if err != nil {
		return nil, nil, err
	}
	findings, err := read(ctx, db, func(conn *sql.Conn) (engine.Findings, error) {
		found, _, err := c.find(ctx, conn, e)
		if err != nil {
			return engine.Findings{}, err
		}
		findings, err := e.Try(ctx, conn, c.trial(found))
		// The blockers of a plan do not matter here, with one exception. If find left a
		// table out of found.Tables, the table's blockers are the reasons why no key was
		// tried in it.
		for _, b := range found.Blockers {
			if !slices.ContainsFunc(found.Tables, func(t Table) bool { return t.TableName() == b.Table }) {
				findings.Blockers = append(findings.Blockers, b)
			}
		}
		return findings, err
	})
	rejected = findings.Blockers
	// A trigger that still assigns keys would be an omission of phase detach.
	for _, o := range findings.Omitted {
		rejected = append(rejected, o.Blocker)
	}
	return rejected, engine.Converted(findings.Notes, textOf), err
}

// inspect makes the plan. If the engine finds no blockers in the catalog, inspect also
// tries keys in copies of the tables. These copies have the column types of the plan, as
// the tables will have after the move. The trial is necessary because the catalog does not
// show, for example, whether a trigger accepts an ID.
func (c *config) inspect(ctx context.Context, conn *sql.Conn, dialect string, e engine.Engine) (*Plan, error) {
	found, notes, err := c.find(ctx, conn, e)
	if err != nil {
		return nil, err
	}
	trial := c.trial(found)
	if len(found.Blockers) == 0 {
		afterMove := trial
		afterMove.Moved, afterMove.Phases = true, found.Phases
		findings, err := e.Try(ctx, conn, afterMove)
		if err != nil {
			return nil, err
		}
		found.Add(findings)
	}
	p := &Plan{
		Dialect: dialect, Tables: found.Tables, Blockers: found.Blockers, Phases: found.Phases, Omitted: found.Omitted,
		Notes: engine.Converted(found.Notes, textOf), kinds: map[string]engine.Note{},
		trial: trial, // not afterMove, because Apply runs it when the tables have been moved
	}
	for _, note := range found.Notes {
		p.kinds[note.Text] = note
	}
	c.keys = p.keys() // findReferences searches for columns that may hold these keys
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

// textOf returns the text of a note.
func textOf(note engine.Note) string { return note.Text }

// find runs the engine's Inspect for the tables of c, and returns its result. If a
// reference of a model names a table or column that does not exist, find leaves the
// reference out, and adds a note about it to the second result.
func (c *config) find(ctx context.Context, conn *sql.Conn, e engine.Engine) (*engine.Result, []string, error) {
	references, notes, err := c.existing(ctx, conn, e)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	found, err := e.Inspect(ctx, conn, engine.Request{
		Tables:     c.tables,
		References: references,
		// A key of Ahead or more is further ahead of this machine's clock than
		// clockDifference allows.
		Ahead:  c.layout.Min(now.Add(clockDifference)).Int64(),
		Issued: smallestIssued(c.layout, now),

		RecreateViews: c.recreateViews,

		Park:  c.park,
		Place: parking.NewPlace(c.layout),
	})
	return found, notes, err
}

// smallestIssued returns the number from which on a key is taken for an ID. Smaller keys
// are taken for keys of a counter.
//
// Usually the number is the smallest ID of the second day after the epoch, which no counter
// reaches, see [earlyEpoch]. During the first day after the epoch, the present IDs are
// smaller than that, so the number is the smallest ID of the present time. Before the epoch, no
// ID has been issued. But the plan may be taken back after the epoch, so the number is then the
// smallest ID of the second minute, or 2^32, which is above the counters of most tables.
func smallestIssued(layout snowflake.Layout, now time.Time) int64 {
	present, early := layout.Min(now), layout.Min(layout.Epoch.Add(earlyEpoch))
	if present == 0 {
		return max(layout.Min(layout.Epoch.Add(time.Minute)).Int64(), 1<<32)
	}
	return min(present, early).Int64()
}

// trial returns the description of a trial, for [engine.Engine.Try]. The trial inserts a key
// that would be issued now, and the layout's last key, into copies of the tables with their
// present types. Key 1 fits into every column. If a row is rejected even with key 1, the
// cause is not the size of the key.
func (c *config) trial(found *engine.Result) engine.Trial {
	return engine.Trial{Tables: found.Tables, Parked: c.park, Small: 1, Today: c.layout.Max(time.Now()), Last: c.layout.Max(c.layout.Expires())}
}

// movedColumns returns all columns that the plan moves. Only the fields Table and Column of
// the results are set.
func (p *Plan) movedColumns() []engine.Reference {
	var columns []engine.Reference
	for _, t := range p.Tables {
		for _, c := range t.Columns {
			columns = append(columns, engine.Reference{Table: t.TableName(), Column: c.Name})
		}
	}
	return columns
}

// keys returns the keys to which columns outside the plan may refer. If a primary key has
// several columns, keys leaves out each of its columns that refers to another key. For
// example, user_id and role_id of a join table user_roles refer to the keys of users and
// roles, and no column refers to them.
func (p *Plan) keys() []likely.Key {
	var keys []likely.Key
	for _, t := range p.Tables {
		keyColumns := slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !c.Key })
		for _, c := range keyColumns {
			if len(keyColumns) == 1 || len(c.Refers) == 0 {
				keys = append(keys, likely.Key{Table: t.TableName(), Column: c.Name})
			}
		}
	}
	return keys
}
