package gormflake

import (
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/check"
)

// Check validates models at start-up. For every model it verifies that
//
//   - the plugin is registered in db. A program with several handles calls Check with each
//     handle, for the models that the program writes through that handle,
//   - the model has a tag or is listed in [WithModels], and every tag is valid,
//   - no key column has auto-increment or a default, neither in the model nor in its
//     table, if the table exists. The table of a model of [WithModels] may have
//     auto-increment if it is a PostgreSQL sequence, if its counter is parked, which means
//     moved above all IDs of the next ten years, or if [WithUnparkedCounters] is given,
//   - the columns of the keys, and of the foreign keys that refer to them, hold 63 bits,
//     in the model and in its table. For example, numeric(10) does not,
//   - the columns of serial numbers, and of the foreign keys that refer to them, hold a
//     whole serial number, in the model and in its table, and their generator has a method
//     Layout,
//   - the columns of the table return the value that was stored. PostgreSQL's char(n) and
//     MySQL's binary(n) do not, because they pad it,
//   - no ID has the option string in its json tag, because some encoders then quote the ID
//     twice.
//
// Check runs one query for each table, and one more on PostgreSQL if the table does not
// exist. A missing table is not an error. Check returns an error if a query fails,
// because the database is down or because the user has no right to read the table's
// description. It also returns an error on a database other than SQLite, PostgreSQL,
// MySQL and MariaDB.
//
// If a SQLite table assigns a key to a row that is inserted without a key, Check returns
// no error, but logs a warning by the handle's logger. The warning contains a statement that
// creates a trigger by which the table rejects such rows. A table with this trigger causes
// no warning. The trigger adds some 10 to 30 percent to the time of an INSERT.
//
// Check returns nil, or one error that joins the mistakes of all models and contains each
// mistake once. It only reads.
//
//	err := gormflake.Check(db, &Order{}, &Line{})
func Check(db *gorm.DB, models ...any) error {
	if err := checkOpened(db); err != nil {
		return fmt.Errorf("gormflake: Check: %w", err)
	}
	p, err := pluginOf(db)
	if err != nil {
		return fmt.Errorf("%w: this handle would create %s without keys", err, modelNames(models))
	}
	return check.Models(db, p.set, models...)
}

// modelNames returns the type names of the models for an error, for example "main.Order,
// main.Line" for []any{&Order{}, []Line{}}.
func modelNames(models []any) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = strings.TrimLeft(fmt.Sprintf("%T", m), "*[]")
	}
	return strings.Join(names, ", ")
}
