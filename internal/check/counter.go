package check

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/types"
)

// Counter is an auto-increment counter that is neither removed from its table nor parked. A
// parked counter is above all IDs that the generator issues in the next ten years.
type Counter struct {
	Table string
	Next  uint64   // the key that the database assigns next
	Park  []string // the statements that park the counter; empty if it cannot be parked
}

// Counters returns the unparked counters in the tables of keys, with the statements that park
// them at place. For a counter that cannot be parked, such as SQLite's rowid, there are no
// statements. keys are the primary keys of models that gormflake.WithModels lists. The error
// joins the reasons why tables cannot be read.
func Counters(db *gorm.DB, place parking.Place, keys []*schema.Field) (found []Counter, err error) {
	db = quietSession(db)
	var errs []error
	for _, f := range keys {
		db := writeSession(db, f.Schema.Table)
		columns, err := readColumns(db, f.Schema.Table)
		if live := (table{columns: columns}).find(db.Name(), f.DBName); live != nil && live.followsLargest {
			next, park, counterErr := readCounter(db, f.Schema.Table, live)
			err = counterErr
			// park is nil if the counter cannot be parked. A counter above place.Limit is parked.
			if counter := (Counter{Table: f.Schema.Table, Next: next}); err == nil && (park == nil || next <= uint64(place.Limit)) {
				if park != nil {
					counter.Park = park(place.ID)
				}
				found = append(found, counter)
			}
		}
		errs = append(errs, tableError(f.Schema.Table, err))
	}
	return found, errors.Join(errs...)
}

// nullDefault matches a default of NULL, to which PostgreSQL adds the type, as in
// NULL::bigint.
var nullDefault = regexp.MustCompile(`(?i)^null(::.*)?$`)

// checkLiveAssigned returns an error if the database still assigns values to the column, by a
// counter, a sequence or a default. It skips a column of serial numbers, because such a
// column may need a default if it was added to a table with rows. In the table of a listed
// model, which is a model of gormflake.WithModels, it accepts a sequence of PostgreSQL. Such
// a sequence continues with small keys, which no generator issues.
func (c *checker) checkLiveAssigned(column *model.Column, l *liveColumn) error {
	table, name, how := column.Field.Schema.Table, column.Field.DBName, "auto-increment"
	switch {
	case column.Serial != nil:
		return nil
	case column.Listed && l.followsLargest && c.set.Unparked: // WithUnparkedCounters accepts the counter
		return nil
	case l.followsLargest && (column.Listed || l.auto): // a counter, or SQLite's rowid
		problem, err := checkCounter(writeSession(c.db, table), column, l, column.Parking())
		return errors.Join(problem, tableError(table, err))
	case l.auto && column.Listed && !l.generatedAlways: // a sequence
		return nil
	case l.random:
		return columnError(column, fmt.Sprintf("table %s has AUTO_RANDOM on column %s, so that TiDB refuses its keys (error 8216): create the table without AUTO_RANDOM, and copy the rows", table, name))
	case l.auto: // a sequence of a model that is not listed, or a sequence that rejects keys (GENERATED ALWAYS)
	case l.defaultValue.Valid && !nullDefault.MatchString(l.defaultValue.String):
		how = "default " + l.defaultValue.String
	default:
		return nil
	}
	return columnError(column, fmt.Sprintf("table %s still assigns column %s (%s): move the table with package sqlmigrate", table, name, how))
}

// warnOfRowid adds a warning for a SQLite table that assigns a key to a row without a key.
// The warning contains the statement that creates a trigger, by which the table rejects such
// a row. A missing trigger is not an error, because SQLite assigns keys in every table whose
// primary key is an INTEGER, and because the trigger slows each INSERT a little. warnOfRowid
// skips listed models and AUTOINCREMENT, because checkLiveAssigned checks the counters of
// these.
func (c *checker) warnOfRowid(column *model.Column, l *liveColumn) {
	if c.db.Name() != "sqlite" || column.Listed || column.Serial != nil || l.auto || !l.followsLargest {
		return
	}
	schema, table := splitName(column.Field.Schema.Table)
	c.warnings = append(c.warnings, fmt.Sprintf("gormflake: table %s assigns a key to a row that is inserted without one, and the generator may issue the same key: if a program or a script inserts such rows, let the table refuse them: %s",
		table, sqliteguard.Create(schema, table, l.name)))
}

// FollowsText describes, in errors, a counter that follows the largest key.
const FollowsText = "follows the largest key, so that a program that inserts without a key gets one that the generator issues too, and Save of a slice or a nested row then overwrites the other row"

// checkCounter returns a problem if the table still has a counter, unless the counter is
// parked and gormflake.WithModels lists the model. place is where counters are parked, or
// nil if the layout of the generator is unknown. err is the error of reading the counter.
func checkCounter(db *gorm.DB, c *model.Column, l *liveColumn, place *parking.Place) (problem, err error) {
	table, name := c.Field.Schema.Table, c.Field.DBName
	next, park, err := readCounter(db, table, l)
	if err != nil {
		return nil, err
	}
	canPark := park != nil && place != nil
	switch parked := canPark && next > uint64(place.Limit); {
	case parked && c.Listed:
		return nil, nil
	case parked:
		return columnError(c, fmt.Sprintf("table %s still assigns column %s (auto-increment), and its counter, at %d, is parked: detach it when no old program runs: gormflake migrate apply --phases detach %s", table, name, next, table)), nil
	}
	fix := "move the table with package sqlmigrate"
	if canPark {
		fix += fmt.Sprintf(", or park the counter above all IDs until %d: %s", place.Until.Year(), strings.Join(park(place.ID), "; "))
	}
	return columnError(c, fmt.Sprintf("table %s still assigns column %s (auto-increment): its counter, at %d, %s: %s", table, name, next, FollowsText, fix)), nil
}

// readCounter returns the key that the database assigns next, and the function park. park
// returns the statements that move the counter to a key. park is nil if no statement moves
// the counter.
func readCounter(db *gorm.DB, table string, l *liveColumn) (next uint64, park func(types.ID) []string, err error) {
	if db.Name() == "sqlite" {
		return sqliteCounter(db, table, l)
	}
	return mysqlCounter(db, table)
}

// mysqlCounter returns the key that MySQL or MariaDB assigns next, and a function that
// returns the statement that moves the counter. It reads the counter from SHOW CREATE TABLE,
// which returns the name of the table and the statement that creates it.
func mysqlCounter(db *gorm.DB, name string) (next uint64, park func(types.ID) []string, err error) {
	var table, ddl string
	quoted := db.Statement.Quote(name)
	err = db.Raw("SHOW CREATE TABLE "+quoted).Row().Scan(&table, &ddl)
	return parking.MySQLNext(ddl), func(to types.ID) []string { return []string{parking.MySQL(quoted, to)} }, err
}

// sqliteCounter returns the key that SQLite assigns next, and a function that returns the
// statements that move the counter. The next key is the largest key of the table plus 1. With
// AUTOINCREMENT, it is the last assigned key plus 1 if that is larger. Without AUTOINCREMENT,
// no statement moves the counter, so park is nil.
func sqliteCounter(db *gorm.DB, name string, l *liveColumn) (next uint64, park func(types.ID) []string, err error) {
	schema, table := splitName(name)
	var largest, last sql.NullInt64
	query := "SELECT max(" + db.Statement.Quote(l.name) + ") FROM " + db.Statement.Quote(name)
	err = db.Raw(query).Row().Scan(&largest)
	if err == nil && l.auto {
		if schema != "" {
			schema = db.Statement.Quote(strings.TrimSuffix(schema, ".")) + "."
		}
		park = func(to types.ID) []string {
			return parking.SQLite(schema, "'"+strings.ReplaceAll(table, "'", "''")+"'", to)
		}
		err = db.Raw("SELECT max(seq) FROM "+schema+"sqlite_sequence WHERE name = ? COLLATE NOCASE", table).Row().Scan(&last)
	}
	return uint64(max(0, largest.Int64, last.Int64)) + 1, park, err
}
