package gormflake

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/copyrows"
)

// CopyRows are the rows of a model in the form that COPY takes. A *CopyRows is a
// pgx.CopyFromSource. It serves one COPY, and one goroutine at a time.
type CopyRows struct{ source *copyrows.Source }

// CopySource prepares rows for COPY, the fastest way into PostgreSQL:
//
//	if err := gormflake.Assign(db, orders); err != nil { … }
//	src, err := gormflake.CopySource(db.Omit("Lines"), orders)
//	n, err := tx.CopyFrom(ctx, src.Table(), src.Columns(), src) // a pgx.Tx
//
// It writes what db.Create(rows) would insert, and leaves the structs as Create
// does: keys, serial numbers, time stamps and literal defaults are set in them. It
// follows serializers, embedded structs, the permissions of fields, NowFunc, and
// db's Select, Omit and Table. rows is a slice of structs or of pointers to structs,
// or a pointer to one row or to an array; an empty slice has columns and no rows.
//
// CopySource sets the keys that are unset, for all rows in one call of the
// generator, and so needs the plugin. It does not link rows to others: call
// [Assign] with the whole tree first. A types.ID key that is still 0 is an error,
// as in a create.
//
// # What COPY cannot do
//
// COPY has no DEFAULT for single rows. A column with a default that only the
// database knows, such as default:now() or an auto-increment key, is left out if no
// row has a value; if some rows have one and others have none, that is an error.
// Values that the database chooses are not read back into the structs.
//
// What a create would do, and COPY does not, is an error unless db leaves it out:
//
//   - hooks: db.Session(&gorm.Session{SkipHooks: true})
//   - related rows: db.Omit("Lines"), or db.Omit(clause.Associations)
//   - clauses that types of fields add to creates: db.Unscoped()
//   - ON CONFLICT and RETURNING
//
// A field whose GormValue returns SQL, rather than one value, is an error of Values.
// Scopes of db and the create callbacks of other plugins do not run.
//
// # Errors
//
// An error of CopySource may leave keys set in the rows. Errors in the values are
// returned by Values; COPY then stores nothing. Time stamps and defaults are set
// as Values reads a row. To repeat a COPY, call CopySource again: it keeps them.
//
// CopySource does not touch the database.
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

// Table returns the name of the table, after the name of its schema if the model
// has one. It can be used as a pgx.Identifier.
func (r *CopyRows) Table() []string { return r.source.Table() }

// Columns returns the names of the columns to copy.
func (r *CopyRows) Columns() []string { return r.source.Columns() }

// Next moves to the next row and reports whether there is one. After an error
// there is none.
func (r *CopyRows) Next() bool { return r.source.Next() }

// Values returns the values of the row, in the order of [CopyRows.Columns]. The
// slice is valid until the next call.
func (r *CopyRows) Values() ([]any, error) { return r.source.Values() }

// Err returns the error of Values, if there was one.
func (r *CopyRows) Err() error { return r.source.Err() }
