package mycatalog

import (
	"errors"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// elementsOf parses create, the text of SHOW CREATE TABLE. It returns the elements, which
// are the definitions of columns, keys and constraints, and the options of the table, which
// are the text after the elements. For example, CREATE TABLE `t` (`id` int, PRIMARY KEY
// (`id`)) ENGINE=InnoDB has the elements `id` int and PRIMARY KEY (`id`), and the option
// ENGINE=InnoDB. A plan needs the elements because a MODIFY has to repeat the whole
// definition of a column, and no other source is complete on every server.
func elementsOf(create string) (elements []string, options string, err error) {
	text := maskQuoted(create)
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return nil, "", errors.New("no parenthesis in it")
	}
	start, depth := open+1, 1 // the beginning of the present element, and the number of open parentheses
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')' && depth == 1, c == ',' && depth == 1: // the element ends
			elements = append(elements, strings.TrimSpace(create[start:i]))
			start = i + 1
			if c == ')' { // this parenthesis ends the last element
				return elements, create[start:], nil
			}
		case c == ')':
			depth--
		}
	}
	return nil, "", errors.New("its parenthesis has no end")
}

// quoted matches a string between single or double quotes, or a name between backticks. A
// quote inside of the string or name is doubled. In a string it can also follow a
// backslash.
var quoted = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|` + "`(?:[^`]|``)*`")

// maskQuoted returns s with each byte of its strings and quoted names replaced by x, for
// example `a,b` int as xxxxx int. So a search finds only the words and signs outside of
// quotes, and their indexes are valid in s too.
func maskQuoted(s string) string {
	return quoted.ReplaceAllStringFunc(s, func(q string) string { return strings.Repeat("x", len(q)) })
}

// indexUnquoted returns the index of the first occurrence of words outside of quotes, or
// -1.
func indexUnquoted(s, words string) int { return strings.Index(maskQuoted(s), words) }

// QuotedNames returns the names between backticks in s, in order, for example ix and
// user_id of KEY `ix` (`user_id`).
func QuotedNames(s string) []string {
	var names []string
	for _, q := range quoted.FindAllString(s, -1) {
		if q[0] == '`' {
			names = append(names, strings.ReplaceAll(q[1:len(q)-1], "``", "`"))
		}
	}
	return names
}

// An Integer is an integer type of a column, for example int unsigned. The zero value
// stands for all types that are not integers.
type Integer struct {
	Base     string
	Unsigned bool
}

// UnsignedBigint is the type of a key that a plan does not change, because it holds every
// ID.
var UnsignedBigint = Integer{"bigint", true}

// integer matches an integer type at the beginning of a text, for example int(10)
// unsigned. ZEROFILL makes a type unsigned.
var integer = regexp.MustCompile(`^(?i)(tinyint|smallint|mediumint|int|bigint)(\(\d+\))?( unsigned)?( zerofill)?(?: |$)`)

// IntegerOf parses the type of a column. s is the type in information_schema, or the
// definition of a column after its name. If s does not begin with an integer type,
// IntegerOf returns the zero value.
func IntegerOf(s string) Integer {
	m := integer.FindStringSubmatch(s)
	if m == nil {
		return Integer{}
	}
	return Integer{strings.ToLower(m[1]), m[3]+m[4] != ""}
}

// String returns the type as SQL, without a display width.
func (t Integer) String() string {
	if t.Unsigned {
		return t.Base + " unsigned"
	}
	return t.Base
}

// Condition returns an SQL condition, which is true for a row of
// information_schema.COLUMNS if the column has the type. It ignores the display width, as
// in int(11), which some servers write, because it has no effect on the values.
func (t Integer) Condition() string {
	not := "NOT "
	if t.Unsigned {
		not = ""
	}
	return "DATA_TYPE = '" + t.Base + "' AND COLUMN_TYPE " + not + "LIKE '%unsigned%'"
}

// Range returns the smallest and the largest value of the type, for example -128 and 127 of
// tinyint. The type must be smaller than bigint.
func (t Integer) Range() (low, high int64) {
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32}[t.Base]
	if t.Unsigned {
		return 0, 1<<bits - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

// A Definition is the definition of a column in the text of SHOW CREATE TABLE. It begins
// with the quoted name, for example `id` int NOT NULL AUTO_INCREMENT.
type Definition string

// split returns the name of the column, with its quotes, and the text after it.
func (d Definition) split() (name, rest string) {
	end := quoted.FindStringIndex(string(d))[1]
	return string(d[:end]), strings.TrimSpace(string(d[end:]))
}

// Integer returns the type of the column. It is zero if the type is not an integer.
func (d Definition) Integer() Integer {
	_, rest := d.split()
	return IntegerOf(rest)
}

// As returns the definition with t in place of its integer type.
func (d Definition) As(t Integer) Definition {
	name, rest := d.split()
	// Cut the type off. The expression integer also matches the blank after the type, which
	// has to stay.
	rest = rest[len(strings.TrimSuffix(integer.FindString(rest), " ")):]
	return Definition(name + " " + t.String() + rest)
}

const autoIncrement = " AUTO_INCREMENT"

// Auto reports whether the column has AUTO_INCREMENT.
func (d Definition) Auto() bool { return d.Has(autoIncrement) }

// WithoutAuto returns the definition without AUTO_INCREMENT.
func (d Definition) WithoutAuto() Definition { return d.replace(autoIncrement, "") }

// Has reports whether the definition contains words outside of quotes.
func (d Definition) Has(words string) bool { return indexUnquoted(string(d), words) >= 0 }

// Nullable returns the definition with NULL in place of NOT NULL.
func (d Definition) Nullable() Definition { return d.replace(" NOT NULL", " NULL") }

// Stored returns the definition of a generated column with STORED in place of VIRTUAL, so
// that the value is computed when a row is written.
func (d Definition) Stored() Definition { return d.replace(") VIRTUAL", ") STORED") }

// replace returns the definition with by in place of the first unquoted occurrence of
// words.
func (d Definition) replace(words, by string) Definition {
	if i := indexUnquoted(string(d), words); i >= 0 {
		return d[:i] + Definition(by) + d[i+len(words):]
	}
	return d
}

// A ForeignKey is a foreign key of table Child. The columns Columns of Child refer to the
// columns Refers of Parent, in the same order. It is parsed from the text of SHOW CREATE
// TABLE.
type ForeignKey struct {
	Name            string
	Child, Parent   plan.TableName
	Columns, Refers []string
	Text            string // the whole element, as SHOW CREATE TABLE writes it
}

// foreignKey matches CONSTRAINT `f` FOREIGN KEY (`a`, …) REFERENCES `schema`.`table` (`b`,
// …). It captures the name, the columns, the schema of the parent (if there is one), the
// parent, and the columns of the parent.
var foreignKey = regexp.MustCompile(strings.NewReplacer("NAMES", "((?:`(?:[^`]|``)+`(?:, )?)+)", "NAME", "(`(?:[^`]|``)+`)").
	Replace(`^CONSTRAINT NAME FOREIGN KEY \(NAMES\) REFERENCES (?:NAME\.)?NAME \(NAMES\)`))

// parseForeignKey parses text, an element of the definition of table child. It returns the
// foreign key and true, or false if the element is not a foreign key. The parent is in the
// database of child unless the text names another database.
func parseForeignKey(child plan.TableName, text string) (ForeignKey, bool) {
	m := foreignKey.FindStringSubmatch(text)
	if m == nil {
		return ForeignKey{}, false
	}
	parent := plan.TableName{Schema: child.Schema, Name: QuotedNames(m[4])[0]}
	if m[3] != "" {
		parent.Schema = QuotedNames(m[3])[0]
	}
	return ForeignKey{Name: QuotedNames(m[1])[0], Child: child, Parent: parent, Columns: QuotedNames(m[2]), Refers: QuotedNames(m[5]), Text: text}, true
}
