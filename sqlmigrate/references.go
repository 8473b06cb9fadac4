package sqlmigrate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// existing returns the references of the options and of the models, sorted. It checks that
// the tables and columns of each reference exist. If those of [WithReference] or
// [WithoutReference] do not exist, it returns an error. If those of a model do not exist,
// it leaves the reference out, and adds a note to the second result, because not every
// model needs a table.
func (c *config) existing(ctx context.Context, conn *sql.Conn, e engine.Engine) ([]engine.Reference, []string, error) {
	check := columnCheck{ctx: ctx, conn: conn, engine: e, results: map[engine.Reference]error{}}
	for _, ref := range c.references {
		if err := check.reference(ref); err != nil {
			return nil, nil, fmt.Errorf("sqlmigrate: WithReference: %w", err)
		}
	}
	for _, ref := range c.excluded {
		// A name such as address.street_id means an attribute of a column of a composite
		// type.
		column, _, _ := strings.Cut(ref.Column, ".")
		if err := check.column(ref.Table, column); err != nil {
			return nil, nil, fmt.Errorf("sqlmigrate: WithoutReference: %w", err)
		}
	}
	found := slices.Clone(c.references)
	notes := map[string]bool{} // a set, because several references may give the same note
	for _, ref := range c.fromModels {
		switch err := check.reference(ref); {
		case err == nil:
			found = append(found, ref)
		case errors.As(err, new(absentError)):
			notes["A model's reference is left out: "+err.Error()+"."] = true
		default:
			return nil, nil, fmt.Errorf("sqlmigrate: %w", err)
		}
	}
	return sorted(found), slices.Sorted(maps.Keys(notes)), nil
}

// sorted returns the references in order and without duplicates. It changes the list of the
// caller.
func sorted(references []engine.Reference) []engine.Reference {
	slices.SortFunc(references, func(a, b engine.Reference) int {
		return cmp.Or(
			cmp.Compare(a.Table.Schema, b.Table.Schema), cmp.Compare(a.Table.Name, b.Table.Name), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.ToTable.Schema, b.ToTable.Schema), cmp.Compare(a.ToTable.Name, b.ToTable.Name), cmp.Compare(a.ToColumn, b.ToColumn))
	})
	return slices.Compact(references)
}

// A columnCheck checks whether columns exist, and looks up each column only once.
type columnCheck struct {
	ctx     context.Context
	conn    *sql.Conn
	engine  engine.Engine
	results map[engine.Reference]error // the result of each check, by Table and Column
}

// reference returns an error if a column of ref cannot be read. The error is or wraps an
// absentError if the column or its table does not exist.
func (c columnCheck) reference(ref engine.Reference) error {
	if err := c.column(ref.Table, ref.Column); err != nil {
		return err
	}
	return c.column(ref.ToTable, ref.ToColumn)
}

// column returns an error if the column cannot be read. The error is or wraps an
// absentError if the column or its table does not exist. column asks the database only once
// for each column.
func (c columnCheck) column(table plan.TableName, column string) error {
	key := engine.Reference{Table: table, Column: column}
	err, known := c.results[key]
	if !known {
		err = c.lookUp(table, column)
		c.results[key] = err
	}
	return err
}

// lookUp returns an error if the column does not exist or cannot be read. It checks this by
// a query that names the column, because SELECT * does not show the invisible columns of
// MySQL and MariaDB. If this query fails, SELECT * provides the names of the other columns
// for the error.
func (c columnCheck) lookUp(table plan.TableName, column string) error {
	quoted := c.engine.Quote(table)
	if _, err := c.columns(table, quoted+"."+c.engine.Quote(plan.TableName{Name: column})); err == nil {
		return nil
	}
	names, err := c.columns(table, "*")
	if err != nil {
		if c.engine.Absent(err) {
			err = absentError(err.Error())
		}
		return fmt.Errorf("table %s cannot be read: %w", table, err)
	}
	return absentError(fmt.Sprintf("table %s has no column %s, but %q", table, column, names))
}

// columns returns the names of the columns in the result of a query for no rows. selected is
// a quoted column, or * for all columns. It repeats a query that fails, because a driver that
// prepared the statement before the table was changed notices the change only by this error.
func (c columnCheck) columns(table plan.TableName, selected string) ([]string, error) {
	query := "SELECT " + selected + " FROM " + c.engine.Quote(table) + " WHERE 1 = 0"
	names, _, err := rows.Texts(c.ctx, c.conn, query)
	if err != nil {
		names, _, err = rows.Texts(c.ctx, c.conn, query)
	}
	return names, err
}

// An absentError is the text of an error about a table or column that does not exist.
type absentError string

func (e absentError) Error() string { return string(e) }

// FindReferences returns the columns that are too narrow for a Snowflake ID and may hold
// one of the keys. Each key is table.column or schema.table.column. [Inspect] fills
// [Plan.Likely] in the same way; FindReferences is for keys that have already been moved.
// It only reads.
//
// It judges columns by their names (user_id, creator_id, post_ids, ownerid, created_by),
// comments and foreign keys. It also considers the columns with which views, functions
// and triggers compare them, and a sample of their values. It searches the current
// schema, the schemas of the keys and of the columns that [WithReference] names, and on
// PostgreSQL the schemas on the search_path. If the name of a column refers to a table that
// has none of the keys, the column is left out.
//
// Two options have an effect. [WithoutReference] excludes a column. The column of
// [WithReference] is in the result if it is narrow, even if its name and values do not
// look like a reference.
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
		// Call existing for its error alone, which names a column of an option that does
		// not exist.
		if _, _, err := c.existing(ctx, conn, e); err != nil {
			return nil, err
		}
		return c.findReferences(ctx, conn, e, nil)
	})
}

// configureFind reads the arguments of [FindReferences]. Its error lists every mistake.
func configureFind(keys []string, opts []Option) (*config, error) {
	c := &config{}
	var errs []error
	for _, name := range keys {
		table, column, err := plan.ParseColumn(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("sqlmigrate: FindReferences: %w", err))
		}
		c.keys = append(c.keys, likely.Key{Table: table, Column: column})
	}
	errs = append(errs, option.Apply("sqlmigrate: FindReferences", opts, func(o Option) error { return o.apply(c) }))
	return c, errors.Join(errs...)
}

// findReferences returns the columns that are too narrow for a Snowflake ID and may hold
// one of c.keys. It leaves out the columns of moved, which the plan moves, and the columns
// that the caller has excluded by [WithoutReference].
func (c *config) findReferences(ctx context.Context, conn *sql.Conn, e engine.Engine, moved []engine.Reference) ([]LikelyReference, error) {
	if len(c.keys)+len(c.references) == 0 {
		return nil, nil
	}
	schemas := engine.Converted(c.keys, func(key likely.Key) string { return key.Table.Schema })
	schemas = append(schemas, engine.Converted(c.references, func(r engine.Reference) string { return r.Table.Schema })...)
	slices.Sort(schemas)
	survey, err := e.Survey(ctx, conn, slices.Compact(schemas))
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: look for columns that may hold keys: %w", err)
	}
	survey.Columns = slices.DeleteFunc(survey.Columns, func(c engine.NarrowColumn) bool { return c.Table.Name == leaseTable })
	// A Named column that is narrow is in the result, whatever its name and values are. An
	// Explained column is left out.
	found, err := likely.Find(ctx, likely.Input{
		Engine: e, Conn: conn, Survey: survey, Keys: unqualifiedKeys(c.keys, survey.Current),
		Named: unqualified(c.references, survey.Current), Explained: unqualified(slices.Concat(moved, c.excluded), survey.Current),
	})
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: look for columns that may hold keys: %w", err)
	}
	return found, nil
}

// leaseTable is the table in which package sqllease keeps worker IDs. Worker IDs are
// narrow, but are not keys.
const leaseTable = "snowflake_workers"

// unqualified returns the references with the tables in the form of a survey, for example orders
// for public.orders if public is the current schema.
func unqualified(references []engine.Reference, current string) []engine.Reference {
	return engine.Converted(references, func(r engine.Reference) engine.Reference {
		r.Table, r.ToTable = unqualifiedTable(r.Table, current), unqualifiedTable(r.ToTable, current)
		return r
	})
}

// unqualifiedKeys returns the keys with the tables in the form of a survey; see [unqualified].
func unqualifiedKeys(keys []likely.Key, current string) []likely.Key {
	return engine.Converted(keys, func(k likely.Key) likely.Key {
		k.Table = unqualifiedTable(k.Table, current)
		return k
	})
}

// unqualifiedTable returns the name without the schema if that is the current schema.
func unqualifiedTable(t plan.TableName, current string) plan.TableName {
	if t.Schema == current {
		t.Schema = ""
	}
	return t
}
