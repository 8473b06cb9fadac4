package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/internal/model"
)

// columnType is a type as the database writes it, such as decimal(10,0).
type columnType string

// name returns the first word of the type in lower case, for example decimal for
// DECIMAL(10,0). It returns "" for an empty type.
func (t columnType) name() string {
	words := strings.FieldsFunc(strings.ToLower(string(t)), func(r rune) bool { return r == ' ' || r == '(' })
	return strings.Join(words[:min(1, len(words))], "")
}

// typeArguments matches the arguments of a type, such as (19) and (10,0).
var typeArguments = regexp.MustCompile(`\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)`)

// arguments returns the numbers in parentheses, such as 10 and 0 of decimal(10,0). It returns
// 0 for a missing number.
func (t columnType) arguments() (first, second int) {
	m := typeArguments.FindStringSubmatch(string(t))
	if m == nil {
		return 0, 0
	}
	first, _ = strconv.Atoi(m[1])
	second, _ = strconv.Atoi(m[2])
	return first, second
}

// size returns the maximum length of a text type, for example 32 for varchar(32). It returns
// 0 for a type without a number, such as text, which has no limit.
func (t columnType) size() int {
	size, _ := t.arguments()
	return size
}

// textTypes contains the types of text and bytes whose number, if they have one, is the
// maximum length of a value, as in varchar(32).
var textTypes = []string{"char", "character", "bpchar", "nchar", "varchar", "nvarchar", "binary", "varbinary", "text", "string"}

// isText reports whether the type is one of [textTypes].
func (t columnType) isText() bool { return slices.Contains(textTypes, t.name()) }

// isMySQLText reports whether a column of MySQL with this type holds text or bytes, for
// example varchar(32) or mediumtext.
func (t columnType) isMySQLText() bool {
	name := t.name()
	return t.isText() || strings.HasSuffix(name, "text") || strings.HasSuffix(name, "blob") || name == "enum" || name == "set" || name == "json"
}

// pads reports whether the database fills up a short value to the length of the column, and
// returns the value with this padding. PostgreSQL's char(n) adds blanks, and MySQL's
// binary(n) adds zeros.
func (t columnType) pads(dialect string) bool {
	switch dialect {
	case "postgres":
		return slices.Contains([]string{"char", "character", "bpchar"}, t.name()) && !strings.Contains(strings.ToLower(string(t)), "varying")
	case "mysql":
		return t.name() == "binary"
	default:
		return false
	}
}

// typeHolds reports whether a column of this type holds every value of c, which means every
// ID or, if c has serial numbers, every serial number. It returns true for types that it does
// not know.
func typeHolds(dialect string, c *model.Column, t columnType) bool {
	// SQLite stores a value of any length in any column, but converts a number in a real column
	// to floating point. It does not convert text with letters, such as the serial number PAY2022.
	if dialect == "sqlite" {
		return c.Serial != nil || !t.isReal()
	}
	switch name := t.name(); {
	case slices.Contains(narrowTypes, name):
		return false
	case name == "bigint" || name == "int8":
		return c.Serial == nil
	case name == "decimal" || name == "numeric":
		return c.Serial == nil && t.digits(dialect) >= model.IDDigits
	case t.isText(): // PostgreSQL's driver stores no number in a column of text
		return (dialect != "postgres" || c.Kind.IsString()) && (t.size() == 0 || t.size() >= textWidth(c))
	default:
		return true
	}
}

// narrowTypes contains the types that hold neither every ID nor every serial number. Floating
// point rounds IDs.
var narrowTypes = []string{
	"tinyint", "smallint", "mediumint", "int", "integer", "int2", "int4", "year", "serial", "smallserial",
	"float", "double", "real", "float4", "float8", "boolean", "bool", "uuid",
}

// textWidth returns the number of characters that the column needs if it holds text.
func textWidth(c *model.Column) int {
	if c.Serial != nil {
		return c.Serial.Width()
	}
	return model.IDDigits
}

// digits returns the number of digits of a decimal type. It returns 0 if the type has a
// fraction, because the database would return an ID as 17.00.
func (t columnType) digits(dialect string) int {
	switch precision, scale := t.arguments(); {
	case scale > 0:
		return 0
	case precision > 0:
		return precision
	case dialect == "postgres":
		return model.IDDigits // numeric without precision has no limit
	default:
		return 10 // of MySQL's decimal without a precision
	}
}

// isReal reports whether SQLite stores numbers in the column as floating point. SQLite decides
// by parts of the type's name. For example, a column of the type double is real. A column of
// the type "floating point" is not, because the name contains int.
func (t columnType) isReal() bool {
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(string(t)), part) })
	}
	return contains("real", "floa", "doub") && !contains("int", "char", "clob", "text", "blob") //nolint:misspell // SQLite's rules say doub
}
