package check

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
)

// checkWidth finds a column that cannot hold every value of its kind.
func checkWidth(db *gorm.DB, c *model.Column, l *liveColumn) error {
	if holds(db.Name(), c, l.kind) {
		return nil
	}
	what, fix := "ID", "move the table with package sqlmigrate"
	switch {
	case c.Serial != nil:
		what, fix = "serial number", fmt.Sprintf("make it varchar(%d)", width(c))
	case db.Name() == "postgres" && l.kind.isText() && !c.Kind.IsString():
		return mistake(c, fmt.Sprintf("column %s of table %s is %s: %s", c.Field.DBName, c.Field.Schema.Table, l.kind, textForNumber))
	case l.kind.isText():
		fix = fmt.Sprintf("make it varchar(%d)", width(c))
	}
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which cannot hold every %s: %s",
		c.Field.DBName, c.Field.Schema.Table, l.kind, what, fix))
}

// checkPadding finds a column that returns more than was stored. PostgreSQL's
// char keeps its blanks when it is read, MySQL's does not; MySQL's binary keeps
// its zeros. A serial number of exactly the column's width is not padded.
func checkPadding(db *gorm.DB, c *model.Column, l *liveColumn) error {
	length := l.kind.size()
	if !l.kind.pads(db.Name()) || length < width(c) || c.Serial != nil && length == width(c) {
		return nil
	}
	return mistake(c, fmt.Sprintf("column %s of table %s is %s, which pads shorter values, so that the row differs from the struct: make it varchar(%d) or text",
		c.Field.DBName, c.Field.Schema.Table, l.kind, width(c)))
}

// width is how many characters the column needs if it holds text.
func width(c *model.Column) int {
	if c.Serial != nil {
		return c.Serial.Width()
	}
	return model.IDDigits
}
