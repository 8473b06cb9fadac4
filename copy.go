package gormflake

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/copyrows"
)

// CopyRows supplies the rows of a model to one COPY of PostgreSQL. [CopySource] creates it.
// A *CopyRows is a pgx.CopyFromSource, and is not safe for concurrent use.
type CopyRows struct{ source *copyrows.Source }

// CopySource prepares rows for COPY, the fastest way to write many rows to PostgreSQL:
//
//	if err := gormflake.Assign(db, orders); err != nil { … }
//	src, err := gormflake.CopySource(db.Omit("Lines"), orders)
//	n, err := tx.CopyFrom(ctx, src.Table(), src.Columns(), src) // a pgx.Tx
//
// The COPY writes the values that db.Create(rows) would insert. As Create does, it sets
// keys, serial numbers, time stamps and literal defaults in the structs. It follows
// serializers, embedded structs, the permissions of fields, NowFunc, and db's Select,
// Omit and Table. rows is a slice of structs or of pointers to structs, or a pointer to
// one row or to an array. An empty slice yields columns and no rows.
//
// CopySource sets the keys that are unset, for all rows in one call of the generator, and
// so needs the plugin. It does not copy keys into the foreign keys of other rows, so call
// [Assign] with the whole tree first. As in a create, a types.ID key that is still 0 is
// an error.
//
// # What COPY cannot do
//
// COPY has no DEFAULT for single rows. CopySource leaves out a column whose default only
// the database knows, such as default:now() or an auto-increment key, if no row has a
// value for it. If some rows have a value and other rows lack it, CopySource returns an
// error. Values that the database chooses are not read back into the structs.
//
// CopySource returns an error for each part of a create that COPY does not do, unless db
// leaves that part out:
//
//   - hooks: db.Session(&gorm.Session{SkipHooks: true})
//   - related rows: db.Omit("Lines"), or db.Omit(clause.Associations)
//   - clauses that types of fields add to creates: db.Unscoped()
//   - ON CONFLICT and RETURNING
//
// [CopyRows.Values] returns an error if a field's method GormValue returns an SQL expression
// rather than one value, because COPY evaluates no SQL. The scopes of db and the create
// callbacks of other plugins do not run.
//
// # Errors
//
// If CopySource fails, some rows may already have keys. A value that cannot be written is an
// error of Values, and the COPY then stores no row. Values also sets the time stamps and
// defaults of a row when it reads the row. To repeat a COPY, call CopySource again, which keeps
// the values that are set.
//
// CopySource does not access the database.
func CopySource(db *gorm.DB, rows any) (*CopyRows, error) {
	p, err := pluginOf(db)
	if err != nil {
		return nil, err
	}
	source, err := copyrows.New(db, p.set, rows)
	if err != nil {
		return nil, err
	}
	return &CopyRows{source}, nil
}

// Table returns the name of the table, preceded by the name of its schema if the model
// has a schema. The result can be used as a pgx.Identifier.
func (r *CopyRows) Table() []string { return r.source.Table() }

// Columns returns the names of the columns to copy.
func (r *CopyRows) Columns() []string { return r.source.Columns() }

// Next moves to the next row and reports whether there is one. pgx calls it before each call
// of Values. After Values has returned an error, Next returns false.
func (r *CopyRows) Next() bool { return r.source.Next() }

// Values returns the values of the current row, in the order of [CopyRows.Columns]. The
// slice is valid until the next call of Values.
func (r *CopyRows) Values() ([]any, error) { return r.source.Values() }

// Err returns the error that Values returned, or nil.
func (r *CopyRows) Err() error { return r.source.Err() }
