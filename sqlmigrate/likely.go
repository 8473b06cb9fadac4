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
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
)

// FindReferences finds columns that are too narrow for a Snowflake ID and may hold
// one of the keys, each given as table.column or schema.table.column. It is how
// [Inspect] fills [Plan.Likely], for keys that are moved already, and only reads.
//
// Columns go by their names (user_id, creator_id, post_ids, ownerid, created_by),
// comments, foreign keys, by what views, functions and triggers compare them with,
// and by a sample of their values. The columns are those of the current schema, of
// the schemas of the keys and, on PostgreSQL, of those on the search_path. A column
// that refers by its name to a table without one of the keys is left out.
//
// Of opts, [WithoutReference] leaves out columns, and a column of [WithReference] is
// found if it is narrow, whatever else it looks like.
func FindReferences(ctx context.Context, db *gorm.DB, keys []string, opts ...Option) ([]LikelyReference, error) {
	e, err := engineFor(db)
	if err != nil {
		return nil, err
	}
	c, err := configureFind(keys, opts)
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(conn *sql.Conn) ([]LikelyReference, error) {
		if _, _, err := c.existing(ctx, conn, e); err != nil {
			return nil, err
		}
		return c.findReferences(ctx, conn, e, nil)
	})
}

func configureFind(keys []string, opts []Option) (*config, error) {
	c := &config{}
	var errs []error
	for _, name := range keys {
		table, column, err := engine.ParseColumn(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("sqlmigrate: FindReferences: %w", err))
		}
		c.keys = append(c.keys, likely.Key{Table: table, Column: column})
	}
	errs = append(errs, option.Apply("sqlmigrate: FindReferences", opts, func(o Option) error { return o.apply(c) }))
	return c, errors.Join(errs...)
}

// findReferences leaves out the columns that are moved.
func (c *config) findReferences(ctx context.Context, conn *sql.Conn, e engine.Engine, moved []engine.Reference) ([]LikelyReference, error) {
	if len(c.keys)+len(c.references) == 0 {
		return nil, nil
	}
	schemas := converted(c.keys, func(key likely.Key) string { return key.Table.Schema })
	slices.Sort(schemas)
	survey, err := e.Survey(ctx, conn, slices.Compact(schemas))
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: look for columns that may hold keys: %w", err)
	}
	survey.Columns = slices.DeleteFunc(survey.Columns, func(c engine.NarrowColumn) bool { return c.Table.Name == leaseTable })
	found, err := likely.Find(ctx, likely.Input{
		Engine: e, Conn: conn, Survey: survey, Keys: c.keys,
		Named: unqualified(c.references, survey.Current), Explained: unqualified(slices.Concat(moved, c.excluded), survey.Current),
	})
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: look for columns that may hold keys: %w", err)
	}
	return found, nil
}

// leaseTable is where package sqllease keeps worker IDs, which are no keys.
const leaseTable = "snowflake_workers"

// unqualified leaves out the current schema, as a survey does.
func unqualified(references []engine.Reference, current string) []engine.Reference {
	return converted(references, func(r engine.Reference) engine.Reference {
		for _, t := range []*engine.TableName{&r.Table, &r.ToTable} {
			if t.Schema == current {
				t.Schema = ""
			}
		}
		return r
	})
}

// movedColumns are all columns of the plan, and keysOf those that others may refer
// to, which excludes one of several columns of a key, as in a join table.
func (p *Plan) movedColumns() []engine.Reference {
	var columns []engine.Reference
	for _, t := range p.Tables {
		for _, c := range t.Columns {
			columns = append(columns, engine.Reference{Table: nameOf(&t), Column: c.Name})
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
				keys = append(keys, likely.Key{Table: nameOf(&t), Column: c.Name})
			}
		}
	}
	return keys
}
