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
	"github.com/gormflake/gormflake/types"
)

// Counters returns a mistake for each key whose table exists and has a counter that
// is neither removed nor parked, and why tables cannot be read. The keys are of
// listed models.
func Counters(db *gorm.DB, place parking.Place, keys []*schema.Field) (mistakes, err error) {
	db = quiet(db)
	var found, failed []error
	for _, f := range keys {
		column := model.NewColumn(f)
		column.Listed = true
		columns, err := readColumns(db, f.Schema.Table)
		if live := (table{columns: columns}).find(db.Name(), f.DBName); live != nil && live.follows {
			var counts error
			counts, err = checkCounter(db, column, live, &place)
			found = append(found, counts)
		}
		failed = append(failed, tableError(f.Schema.Table, err))
	}
	return errors.Join(found...), errors.Join(failed...)
}

var null = regexp.MustCompile(`(?i)^null(::.*)?$`)

// assigned finds a column to which the database still assigns values. In the table of
// a listed model a sequence may: it continues with small keys. Serial numbers are
// exempt: a table that got its column late may need a default.
func (c *checker) assigned(column *model.Column, l *liveColumn) error {
	table, name, how := column.Field.Schema.Table, column.Field.DBName, "auto-increment"
	switch {
	case column.Serial != nil, column.Listed && l.follows && c.set.Unparked:
		return nil
	case l.follows && (column.Listed || l.auto):
		counts, err := checkCounter(c.db, column, l, column.Parking())
		return errors.Join(counts, tableError(table, err))
	case l.auto && column.Listed && !l.always:
		return nil
	case l.random:
		return mistake(column, fmt.Sprintf("table %s has AUTO_RANDOM on column %s, so that TiDB refuses its keys (error 8216): create the table without AUTO_RANDOM, and copy the rows", table, name))
	case l.auto:
	case l.value.Valid && !null.MatchString(l.value.String):
		how = "default " + l.value.String
	default:
		return nil
	}
	return mistake(column, fmt.Sprintf("table %s still assigns column %s (%s): move the table with package sqlmigrate", table, name, how))
}

// checkCounter rejects a counter, for a listed model only one that is not parked.
func checkCounter(db *gorm.DB, c *model.Column, l *liveColumn, place *parking.Place) (counts, err error) {
	read := mysqlCounter
	if db.Name() == "sqlite" {
		read = sqliteCounter
	}
	next, park, err := read(db, c.Field.Schema.Table, l)
	if err != nil {
		return nil, err
	}
	fix := "move the table with package sqlmigrate"
	if park != nil && place != nil {
		if c.Listed && next > uint64(place.Limit) {
			return nil, nil
		}
		fix += fmt.Sprintf(", or park the counter above all IDs until %d: %s", place.Until.Year(), park(place.ID))
	}
	return mistake(c, fmt.Sprintf("table %s still assigns column %s (auto-increment): its counter, at %d, follows the largest key, so that a program that inserts without a key gets one that the generator issues too, and Save of a slice or a nested row then overwrites the other row: %s",
		c.Field.Schema.Table, c.Field.DBName, next, fix)), nil
}

// mysqlCounter returns the key that the database assigns next, and the statements that
// move the counter.
func mysqlCounter(db *gorm.DB, name string, _ *liveColumn) (next uint64, park func(types.ID) string, err error) {
	var table, ddl string
	quoted := db.Statement.Quote(name)
	err = db.Raw("SHOW CREATE TABLE "+quoted).Row().Scan(&table, &ddl)
	return parking.MySQLNext(ddl), func(to types.ID) string { return parking.MySQL(quoted, to) }, err
}

// sqliteCounter reads the largest key too, from which a table without AUTOINCREMENT
// always continues. Nothing moves that.
func sqliteCounter(db *gorm.DB, name string, l *liveColumn) (next uint64, park func(types.ID) string, err error) {
	schema, table := splitName(name)
	var largest, last sql.NullInt64
	query := "SELECT max(" + db.Statement.Quote(l.name) + ") FROM " + db.Statement.Quote(name)
	err = db.Raw(query).Row().Scan(&largest)
	if err == nil && l.auto {
		if schema != "" {
			schema = db.Statement.Quote(strings.TrimSuffix(schema, ".")) + "."
		}
		park = func(to types.ID) string {
			return strings.Join(parking.SQLite(schema, "'"+strings.ReplaceAll(table, "'", "''")+"'", to), "; ")
		}
		err = db.Raw("SELECT max(seq) FROM "+schema+"sqlite_sequence WHERE name = ? COLLATE NOCASE", table).Row().Scan(&last)
	}
	return uint64(max(0, largest.Int64, last.Int64)) + 1, park, err
}
