package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
)

// checkDeclaredAssigned returns an error if, by the model's declaration, GORM or the
// database would assign values to the key. It skips serial numbers, because a column that is
// added to a table with rows may need a default.
func checkDeclaredAssigned(c *model.Column) error {
	switch {
	case c.Serial != nil:
		return nil
	case c.Field.AutoIncrement:
		return columnError(c, "GORM makes the column auto-increment: add gorm:\"autoIncrement:false\" or use types.ID")
	case c.Field.HasDefaultValue:
		return columnError(c, "the column has a default: remove gorm:\"default\"")
	}
	return nil
}

// declaredProblem returns the problem with the size or the type that the model declares
// for the column of a key or a foreign key, or "". A string without a size is no problem,
// because GORM gives it the dialect's default. A string that is a foreign key to an integer
// gets an integer column, whose number of bits declaredProblem checks. declaredProblem skips
// serial numbers, because the parser of tags has checked them.
func declaredProblem(dialect string, c *model.Column) string {
	f := c.Field
	defer model.ReadLock(f.Schema)() // GORM may set the field's type and size at the same time
	bigint := strings.EqualFold(string(f.DataType), "bigint")
	switch size := f.Size; {
	case c.Serial != nil:
	case bigint || f.DataType == schema.Int || f.DataType == schema.Uint:
		// The size of a string field counts characters, unless GORM gives the field an
		// integer column. A size above 32 then results in a column of 64 bits.
		if size > 0 && size < 64 && (!c.Kind.IsString() || !bigint && size <= 32) {
			return tooFewBits(size)
		}
	case f.DataType == schema.String && c.Kind.IsString():
		if size > 0 && size < model.IDDigits {
			return fmt.Sprintf("the column has %d characters, an ID needs %d: raise gorm:\"size\"", size, model.IDDigits)
		}
	case dialect == "postgres" && !c.Kind.IsString() && columnType(f.DataType).isText():
		return textForNumber
	case !typeHolds(dialect, c, columnType(f.DataType)):
		return wrongType(columnType(f.DataType))
	}
	return ""
}

// tagProblem returns the problem with the size or the type that the gorm tag declares for an
// untagged column of an ID, or "". Unlike [declaredProblem], it does not read the size and
// the type of the field, because GORM may change these in the field at this moment, without a
// lock. GORM changes them if the field is the foreign key of a polymorphic relation, and
// another goroutine uses the model with this relation for the first time.
func (c *checker) tagProblem(column *model.Column) string {
	settings, dialect := column.Field.TagSettings, c.db.Name()
	if size, _ := strconv.Atoi(settings["SIZE"]); size > 0 && size < 64 {
		return tooFewBits(size)
	}
	switch t := columnType(settings["TYPE"]); {
	case t == "":
		return ""
	case dialect == "mysql" && t.isMySQLText() && !c.readTable(column.Field.Schema.Table).comparesExactly():
		return fmt.Sprintf("the column is %s, and %s: make it BIGINT, or the field a string", t, inexactText)
	case dialect == "postgres" && t.isText():
		return textForNumber
	case !typeHolds(dialect, column, t):
		return wrongType(t)
	}
	return ""
}

// tooFewBits returns the problem of an integer column with this number of bits.
func tooFewBits(size int) string {
	return fmt.Sprintf("the column has %d bits, an ID needs 64: remove gorm:\"size\"", size)
}

// wrongType returns the problem of a column whose type cannot hold every ID.
func wrongType(t columnType) string {
	return fmt.Sprintf("the column is %s, which cannot hold every ID: remove gorm:\"type\"", t)
}

// textForNumber is the problem of an integer field whose column holds text.
const textForNumber = "PostgreSQL's driver stores no number in a column of text: use string"

// checkJSON returns an error for each ID whose json tag has the option string, as in
// `json:"id,string"`. An ID is a string in JSON without this option. With the option, some
// encoders quote the ID twice.
func checkJSON(s *schema.Schema) []error {
	var errs []error
	for _, f := range s.Fields {
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if model.IsID(f.IndirectFieldType) && slices.Contains(strings.Split(options, ","), "string") {
			errs = append(errs, fmt.Errorf("gormflake: model %s, field %s: its json tag has the option string, with which some encoders quote a %s twice: remove ,string",
				s.Name, f.BindName(), f.IndirectFieldType))
		}
	}
	return errs
}

// checkLiveWidth returns an error if the column of the table cannot hold every ID or, for
// serial numbers, every serial number.
func checkLiveWidth(db *gorm.DB, c *model.Column, l *liveColumn) error {
	if typeHolds(db.Name(), c, l.dbType) {
		return nil
	}
	value, fix := "ID", "move the table with package sqlmigrate"
	switch {
	case c.Serial != nil:
		value, fix = "serial number", fmt.Sprintf("make it varchar(%d)", textWidth(c))
	case db.Name() == "postgres" && l.dbType.isText() && !c.Kind.IsString():
		return columnError(c, fmt.Sprintf("column %s of table %s is %s: %s", c.Field.DBName, c.Field.Schema.Table, l.dbType, textForNumber))
	case l.dbType.isText():
		fix = fmt.Sprintf("make it varchar(%d)", textWidth(c))
	}
	return columnError(c, fmt.Sprintf("column %s of table %s is %s, which cannot hold every %s: %s",
		c.Field.DBName, c.Field.Schema.Table, l.dbType, value, fix))
}

// checkPadding returns an error if the column pads short values and returns the padding, so
// that a row read back has another key than the struct. PostgreSQL's char returns its
// padding blanks, and MySQL's binary returns its zeros. MySQL's char does not return its
// blanks. checkPadding accepts serial numbers that have exactly the column's width. It also
// accepts a column that is too narrow, because checkLiveWidth reports it.
func checkPadding(db *gorm.DB, c *model.Column, l *liveColumn) error {
	length := l.dbType.size()
	if !l.dbType.pads(db.Name()) || length < textWidth(c) || c.Serial != nil && length == textWidth(c) {
		return nil
	}
	return columnError(c, fmt.Sprintf("column %s of table %s is %s, which pads shorter values, so that the row differs from the struct: make it varchar(%d) or text",
		c.Field.DBName, c.Field.Schema.Table, l.dbType, textWidth(c)))
}
