package mysql

import (
	"errors"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// elements are the columns, keys and constraints of a statement that SHOW
// CREATE TABLE has written, each as it stands there, and what follows them. A MODIFY has to repeat the
// whole of a column, and what the server writes is complete on each of them.
func elements(create string) (elements []string, options string, err error) {
	open := find(create, func(s string, i int) bool { return s[i] == '(' })
	if open < 0 {
		return nil, "", errors.New("no parenthesis in it")
	}
	start, depth := open+1, 1
	for i := start; i < len(create); i = nextIndex(create, i) {
		switch c := create[i]; {
		case c == '(':
			depth++
		case c == ')' && depth == 1, c == ',' && depth == 1:
			elements = append(elements, strings.TrimSpace(create[start:i]))
			start = i + 1
			if c == ')' {
				return elements, create[start:], nil
			}
		case c == ')':
			depth--
		}
	}
	return nil, "", errors.New("its parenthesis has no end")
}

// nextIndex is the index after the character, or the quoted whole, at i.
func nextIndex(s string, i int) int {
	quote := s[i]
	if quote != '\'' && quote != '`' && quote != '"' {
		return i + 1
	}
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote != '`':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// find is the first index outside of quotes where is holds, or -1.
func find(s string, is func(s string, i int) bool) int {
	for i := 0; i < len(s); i = nextIndex(s, i) {
		if is(s, i) {
			return i
		}
	}
	return -1
}

// quotedNames are the quoted names in s, without those in the quotes of others.
func quotedNames(s string) []string {
	var names []string
	for i := 0; i < len(s); {
		next := nextIndex(s, i)
		if s[i] == '`' {
			names = append(names, unquote(s[i:next]))
		}
		i = next
	}
	return names
}

func unquote(s string) string {
	return strings.ReplaceAll(s[1:len(s)-1], "``", "`")
}

// integerType is an integer type.
type integerType struct {
	base     string // empty: not an integer
	unsigned bool
}

var integer = regexp.MustCompile(`^(?i)(tinyint|smallint|mediumint|int|bigint)(\(\d+\))?( unsigned)?( zerofill)?(?: |$)`)

// typeOf reads a column's type, as information_schema writes it or at the
// start of what follows the name in a definition.
func typeOf(s string) integerType {
	m := integer.FindStringSubmatch(s)
	if m == nil {
		return integerType{}
	}
	return integerType{strings.ToLower(m[1]), m[3]+m[4] != ""}
}

func (t integerType) String() string {
	if t.unsigned {
		return t.base + " unsigned"
	}
	return t.base
}

// condition finds its columns in information_schema.COLUMNS. The width, which
// some servers write, has no effect on the values.
func (t integerType) condition() string {
	not := "NOT "
	if t.unsigned {
		not = ""
	}
	return "DATA_TYPE = '" + t.base + "' AND COLUMN_TYPE " + not + "LIKE '%unsigned%'"
}

// holds are the smallest and the largest value.
func (t integerType) holds() (low, high string) {
	switch t {
	case integerType{"tinyint", false}:
		return "-128", "127"
	case integerType{"tinyint", true}:
		return "0", "255"
	case integerType{"smallint", false}:
		return "-32768", "32767"
	case integerType{"smallint", true}:
		return "0", "65535"
	case integerType{"mediumint", false}:
		return "-8388608", "8388607"
	case integerType{"mediumint", true}:
		return "0", "16777215"
	case integerType{"int", false}:
		return "-2147483648", "2147483647"
	default:
		return "0", "4294967295"
	}
}

// A definition is a column as SHOW CREATE TABLE writes it: a quoted name
// and what follows.
type definition string

func (d definition) split() (name, rest string) {
	end := nextIndex(string(d), 0)
	return string(d[:end]), strings.TrimSpace(string(d[end:]))
}

func (d definition) typ() integerType {
	_, rest := d.split()
	return typeOf(rest)
}

// as is the definition with another integer type.
func (d definition) as(t integerType) definition {
	name, rest := d.split()
	rest = rest[len(strings.TrimSuffix(integer.FindString(rest), " ")):]
	return definition(name + " " + t.String() + rest)
}

const autoIncrement = " AUTO_INCREMENT"

// auto is where the server is told to assign the column, or -1.
func (d definition) auto() int {
	return find(string(d), func(s string, i int) bool {
		rest, ok := strings.CutPrefix(s[i:], autoIncrement)
		return ok && (rest == "" || rest[0] == ' ')
	})
}

func (d definition) hasDefault() bool {
	return find(string(d), func(s string, i int) bool { return strings.HasPrefix(s[i:], " DEFAULT ") }) >= 0
}

// unassigned is the definition without AUTO_INCREMENT.
func (d definition) unassigned() definition {
	i := d.auto()
	if i < 0 {
		return d
	}
	return d[:i] + d[i+len(autoIncrement):]
}

// A foreignKey is a constraint as SHOW CREATE TABLE writes it.
type foreignKey struct {
	name            string
	child, parent   engine.TableName
	columns, refers []string
	text            string
}

// parseForeignKey reads CONSTRAINT `f` FOREIGN KEY (`a`, …) REFERENCES
// `schema`.`table` (`b`, …) and what follows.
func parseForeignKey(child engine.TableName, text string) (foreignKey, bool) {
	const key, references = " FOREIGN KEY ", " REFERENCES "
	at := func(word string) int {
		return find(text, func(s string, i int) bool { return strings.HasPrefix(s[i:], word) })
	}
	first, second := at(key), at(references)
	if first < 0 || second < first {
		return foreignKey{}, false
	}
	target := text[second+len(references):]
	open := find(target, func(s string, i int) bool { return s[i] == '(' })
	end := find(target, func(s string, i int) bool { return s[i] == ')' })
	names, columns := quotedNames(text[:first]), quotedNames(text[first:second])
	if open < 0 || end < open || len(names) != 1 {
		return foreignKey{}, false
	}
	path, refers := quotedNames(target[:open]), quotedNames(target[open:end])
	if len(path) == 1 {
		path = []string{child.Schema, path[0]}
	}
	if len(path) != 2 || len(columns) == 0 || len(columns) != len(refers) {
		return foreignKey{}, false
	}
	return foreignKey{names[0], child, engine.TableName{Schema: path[0], Name: path[1]}, columns, refers, text}, true
}
