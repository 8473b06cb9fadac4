package gormflake

import (
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/check"
)

// Check validates models at start-up. For every model it verifies that
//
//   - the plugin is registered in db: a program with several handles calls Check with
//     each, for the models that it writes,
//   - the model has at least one tag or is one of [WithModels], and every tag is valid,
//   - no column of keys has auto-increment or a default, neither in the model
//     nor in its table, if the table exists; in the tables of [WithModels] it may,
//     if it is a sequence of PostgreSQL, a parked counter, or [WithUnparkedCounters]
//     is given,
//   - the columns of the keys, and of the foreign keys that refer to them, hold
//     63 bits, in the model and in its table; numeric(10) does not,
//   - the columns of serial numbers, and of the foreign keys that refer to them,
//     hold a whole serial number, in the model and in its table, and their
//     generator has a method Layout,
//   - the columns of the table return what was stored: PostgreSQL's char(n) and
//     MySQL's binary(n) pad it,
//   - no ID has the option string in its json tag, with which some encoders quote
//     it twice.
//
// It runs one query for each table, and one more on PostgreSQL if the table does
// not exist, which is not an error. A query that fails is one, because the database
// is down or because the user has no right to look at the table. Databases other
// than SQLite, PostgreSQL, MySQL and MariaDB are an error too.
//
// A table of SQLite that assigns a key to a row inserted without one is no error. Check
// logs a warning, by the handle's logger, with the statement of a trigger that makes the
// table refuse such rows, until the table has it. The trigger adds some 10 to 20 percent
// to the time of an INSERT.
//
// It returns nil, or one error that joins the mistakes of all models, each once.
// It only reads.
//
//	err := gormflake.Check(db, &Order{}, &Line{})
func Check(db *gorm.DB, models ...any) error {
	if err := opened(db); err != nil {
		return fmt.Errorf("gormflake: Check: %w", err)
	}
	p, err := pluginOf(db)
	if err != nil {
		return fmt.Errorf("%w: this handle would create %s without keys", err, modelNames(models))
	}
	return check.Models(db, p.set, models...)
}

func modelNames(models []any) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = strings.TrimLeft(fmt.Sprintf("%T", m), "*[]")
	}
	return strings.Join(names, ", ")
}
