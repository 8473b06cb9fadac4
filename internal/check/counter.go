package check

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// Counters returns an error for each key whose table exists and has a counter that
// is neither removed nor parked. The keys are of listed models.
func Counters(db *gorm.DB, parking model.Parking, keys []*schema.Field) error {
	db = quiet(db)
	var errs []error
	for _, f := range keys {
		columns, err := readColumns(db, f.Schema.Table)
		errs = append(errs, tableError(f.Schema.Table, err))
		if live := (table{columns: columns}).find(db.Name(), f.DBName); live != nil && live.follows {
			column := model.NewColumn(f)
			column.Listed = true
			errs = append(errs, checkCounter(db, column, live, &parking))
		}
	}
	return errors.Join(errs...)
}

// assigned finds a column to which the database still assigns values. In the table of
// a listed model a sequence may: it continues with small keys.
func (c *checker) assigned(column *model.Column, l *liveColumn) error {
	switch {
	case column.Serial != nil || !column.Listed && !l.auto:
	case l.follows:
		return checkCounter(c.db, column, l, column.Parking())
	case l.auto && column.Listed && !l.always:
		return nil
	}
	return checkAutoAssigned(column, l)
}

// checkCounter rejects a counter, for a listed model only one that is not parked.
func checkCounter(db *gorm.DB, c *model.Column, l *liveColumn, parking *model.Parking) error {
	read := mysqlCounter
	if db.Name() == "sqlite" {
		read = sqliteCounter
	}
	at, err := read(db, c.Field.Schema.Table, l)
	if err != nil {
		return tableError(c.Field.Schema.Table, err)
	}
	fix := "move the table with package sqlmigrate"
	if at.park != nil && parking != nil {
		if c.Listed && at.next > uint64(parking.Limit) {
			return nil
		}
		fix += fmt.Sprintf(", or park the counter above all IDs until %d: %s", parking.Until.Year(), at.park(parking.Place))
	}
	return mistake(c, fmt.Sprintf("table %s still assigns column %s (auto-increment): its counter, at %d, follows the largest key, so that a program that inserts without a key gets one that the generator issues too, and Save of a slice or a nested row then overwrites the other row: %s",
		c.Field.Schema.Table, c.Field.DBName, at.next, fix))
}

// counter is where a table's keys continue that the database assigns.
type counter struct {
	next uint64
	park func(to types.ID) string // returns the statement that moves it; nil if none does
}

// counterOption is last on its line but for other options of the table, and absent
// while the counter is at 1.
var counterOption = regexp.MustCompile(`(?m)^\) .*?\bAUTO_INCREMENT=(\d+)`)

// mysqlCounter asks for the table, because MySQL's information_schema has old values.
func mysqlCounter(db *gorm.DB, name string, _ *liveColumn) (counter, error) {
	at := counter{next: 1, park: func(to types.ID) string {
		return "ALTER TABLE " + db.Statement.Quote(name) + " AUTO_INCREMENT = " + to.String()
	}}
	var table, ddl string
	err := db.Raw("SHOW CREATE TABLE "+db.Statement.Quote(name)).Row().Scan(&table, &ddl)
	if m := counterOption.FindStringSubmatch(ddl); m != nil {
		at.next, err = strconv.ParseUint(m[1], 10, 64)
	}
	return at, err
}

// sqliteCounter reads the largest key too, from which a table without AUTOINCREMENT
// always continues.
func sqliteCounter(db *gorm.DB, name string, l *liveColumn) (counter, error) {
	schema, table := splitName(name)
	var largest, last sql.NullInt64
	query := "SELECT max(" + db.Statement.Quote(l.name) + ") FROM " + db.Statement.Quote(name)
	if err := db.Raw(query).Row().Scan(&largest); err != nil || !l.auto {
		return counter{next: uint64(max(0, largest.Int64)) + 1}, err
	}
	sequence, literal := db.Statement.Quote(schema+"sqlite_sequence"), "'"+strings.ReplaceAll(table, "'", "''")+"'"
	err := db.Raw("SELECT max(seq) FROM "+sequence+" WHERE name = ? COLLATE NOCASE", table).Row().Scan(&last)
	return counter{next: uint64(max(0, largest.Int64, last.Int64)) + 1, park: func(to types.ID) string {
		if last.Valid {
			return "UPDATE " + sequence + " SET seq = " + to.String() + " WHERE name = " + literal + " COLLATE NOCASE"
		}
		return "INSERT INTO " + sequence + " (name, seq) VALUES (" + literal + ", " + to.String() + ")"
	}}, err
}
