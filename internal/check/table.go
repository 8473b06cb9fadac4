package check

import (
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checkTable compares the tagged columns with the live table, if there is one.
func checkTable(db *gorm.DB, value any, s *schema.Schema, columns []*model.Column) []error {
	db = db.Session(&gorm.Session{NewDB: true})
	db.DryRun = false // of this session only; nothing is written
	if !db.Migrator().HasTable(value) {
		return nil
	}
	live, err := db.Migrator().ColumnTypes(value)
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
		errs = append(errs, checkAutoAssigned(db, c, l), checkWidth(db, c, l), checkPadding(db, c, l))
	}
	return errs
}

// checkAutoAssigned finds a column to which the database still assigns values.
// Serial numbers are exempt: a table that got its column late may need a default.
func checkAutoAssigned(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
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

// sqliteAutoincrement reads the statement that created the table, because the
// driver does not report the keyword. Only an INTEGER PRIMARY KEY can have it.
func sqliteAutoincrement(db *gorm.DB, c *model.Column) bool {
	if db.Name() != "sqlite" || !c.Primary {
		return false
	}
	var ddl string
	err := db.Raw("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", c.Field.Schema.Table).Scan(&ddl).Error
	return err == nil && autoincrement.MatchString(ddl)
}

// checkWidth finds a column that cannot hold every value of its kind. SQLite
// columns can.
func checkWidth(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
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
	what, fix := "ID", "move the table with package sqlmigrate"
	if c.Serial != nil {
		what, fix = "serial number", fmt.Sprintf("make it varchar(%d)", width(c))
	}
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which cannot hold every %s: %s",
		c.Field.DBName, c.Field.Schema.Table, name, what, fix))
}

// checkPadding finds a column that returns more than was stored. PostgreSQL's
// char keeps its blanks when it is read, MySQL's does not; MySQL's binary keeps
// its zeros. A serial number of exactly the column's width is not padded.
func checkPadding(db *gorm.DB, c *model.Column, l gorm.ColumnType) error {
	name := strings.ToLower(l.DatabaseTypeName())
	if db.Name() == "sqlite" || name != "bpchar" && name != "binary" {
		return nil
	}
	length, ok := l.Length()
	if !ok || length < int64(width(c)) || c.Serial != nil && length == int64(width(c)) {
		return nil
	}
	full, _ := l.ColumnType()
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which pads shorter values, so that the row differs from the struct: make it varchar(%d) or text",
		c.Field.DBName, c.Field.Schema.Table, full, width(c)))
}

// width is how many characters the column needs if it holds text.
func width(c *model.Column) int {
	if c.Serial != nil {
		return c.Serial.Width()
	}
	return model.IDDigits
}
