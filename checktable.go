package gormflake

import (
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// idDigits is the length of the largest ID in decimal.
const idDigits = 19

// checkTable compares the tagged columns with the live table, if there is one.
func checkTable(db *gorm.DB, model any, s *schema.Schema, columns []*model.Column) []error {
	db = db.Session(&gorm.Session{NewDB: true})
	db.DryRun = false // of the session's own copy; nothing is written
	if !db.Migrator().HasTable(model) {
		return nil
	}
	live, err := db.Migrator().ColumnTypes(model)
	if err != nil {
		return []error{fmt.Errorf("gormflake: check table %s: %w", s.Table, err)}
	}
	found := make(map[string]gorm.ColumnType, len(live))
	for _, l := range live {
		found[l.Name()] = l
	}
	var errs []error
	for _, c := range columns {
		l, ok := found[c.Field.DBName]
		if !ok {
			errs = append(errs, mistake(c, fmt.Sprintf("table %s has no column %s: migrate it", s.Table, c.Field.DBName)))
			continue
		}
		errs = append(errs, assigned(db, c, l), narrow(db, c, l), padded(db, c, l))
	}
	return errs
}

// assigned finds a column to which the database still gives values. A serial
// number is text, and a table that got its column late may well need a default.
func assigned(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
	if c.Serial != nil {
		return nil
	}
	how := ""
	if auto, ok := l.AutoIncrement(); ok && auto || sqliteAutoincrement(db, c) {
		how = "auto-increment"
	} else if value, ok := l.DefaultValue(); ok && !strings.EqualFold(value, "NULL") {
		how = "default " + value
	}
	if how == "" {
		return nil
	}
	return mistake(c, fmt.Sprintf("table %s still assigns column %s (%s): move the table with package sqlmigrate",
		c.Field.Schema.Table, c.Field.DBName, how))
}

var autoincrement = regexp.MustCompile(`(?i)\bautoincrement\b`)

// sqliteAutoincrement reads the statement that made the table, because the
// driver does not report the keyword. Only an INTEGER PRIMARY KEY can have it.
func sqliteAutoincrement(db *gorm.DB, c *model.Column) bool {
	if db.Name() != "sqlite" || !c.Primary {
		return false
	}
	var ddl string
	err := db.Raw("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", c.Field.Schema.Table).Scan(&ddl).Error
	return err == nil && autoincrement.MatchString(ddl)
}

// narrow finds a column that cannot hold every value of its kind. SQLite columns
// hold any.
func narrow(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
	if db.Name() == "sqlite" {
		return nil
	}
	name := strings.ToLower(l.DatabaseTypeName())
	switch name {
	case "tinyint", "smallint", "mediumint", "int", "integer", "int2", "int4",
		"float", "double", "real", "float4", "float8":
	case "bigint", "int8", "decimal", "numeric":
		if c.Serial == nil {
			return nil
		}
	case "char", "bpchar", "varchar", "binary", "varbinary":
		if length, ok := l.Length(); !ok || length <= 0 || length >= int64(width(c)) {
			return nil
		}
		name = fmt.Sprintf("%s of fewer than %d characters", name, width(c))
	default:
		return nil
	}
	what, mend := "ID", "move the table with package sqlmigrate"
	if c.Serial != nil {
		what, mend = "serial number", fmt.Sprintf("make it varchar(%d)", width(c))
	}
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which cannot hold every %s: %s",
		c.Field.DBName, c.Field.Schema.Table, name, what, mend))
}

// padded finds a column that gives back more than it was given. The char of
// PostgreSQL keeps its blanks when it is read, that of MySQL does not; the binary
// of MySQL keeps its zeros. Serial numbers of just its width are none the longer.
func padded(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
	name := strings.ToLower(l.DatabaseTypeName())
	if db.Name() == "sqlite" || name != "bpchar" && name != "binary" {
		return nil
	}
	length, ok := l.Length()
	if !ok || length < int64(width(c)) || c.Serial != nil && length == int64(width(c)) {
		return nil
	}
	full, _ := l.ColumnType()
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which pads what is shorter, so that the row differs from the struct: make it varchar(%d) or text",
		c.Field.DBName, c.Field.Schema.Table, full, width(c)))
}

// width is how many characters the column needs if it holds text.
func width(c *model.Column) int {
	if c.Serial != nil {
		return c.Serial.Width()
	}
	return idDigits
}
