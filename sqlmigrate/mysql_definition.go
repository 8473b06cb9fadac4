package sqlmigrate

import (
	"errors"
	"regexp"
	"strings"
)

// mysqlElements are the columns, keys and constraints of a statement that SHOW
// CREATE TABLE has written, each as it stands there, and what follows them. A MODIFY has to repeat the
// whole of a column, and what the server writes is complete on each of them.
func mysqlElements(create string) (elements []string, options string, err error) {
	open := mysqlFind(create, func(s string, i int) bool { return s[i] == '(' })
	if open < 0 {
		return nil, "", errors.New("no parenthesis in it")
	}
	start, depth := open+1, 1
	for i := start; i < len(create); i = mysqlNext(create, i) {
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

// mysqlNext is the index after the character, or the quoted whole, at i.
func mysqlNext(s string, i int) int {
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

// mysqlFind is the first index outside of quotes where is holds, or -1.
func mysqlFind(s string, is func(s string, i int) bool) int {
	for i := 0; i < len(s); i = mysqlNext(s, i) {
		if is(s, i) {
			return i
		}
	}
	return -1
}

// mysqlNames are the quoted names in s, without those in the quotes of others.
func mysqlNames(s string) []string {
	var names []string
	for i := 0; i < len(s); {
		next := mysqlNext(s, i)
		if s[i] == '`' {
			names = append(names, mysqlUnquote(s[i:next]))
		}
		i = next
	}
	return names
}

func mysqlUnquote(s string) string {
	return strings.ReplaceAll(s[1:len(s)-1], "``", "`")
}

// mysqlType is an integer type.
type mysqlType struct {
	base     string // empty: not an integer
	unsigned bool
}

var mysqlInteger = regexp.MustCompile(`^(?i)(tinyint|smallint|mediumint|int|bigint)(\(\d+\))?( unsigned)?( zerofill)?(?: |$)`)

// mysqlTypeOf reads a column's type, as information_schema writes it or at the
// start of what follows the name in a definition.
func mysqlTypeOf(s string) mysqlType {
	m := mysqlInteger.FindStringSubmatch(s)
	if m == nil {
		return mysqlType{}
	}
	return mysqlType{strings.ToLower(m[1]), m[3]+m[4] != ""}
}

func (t mysqlType) String() string {
	if t.unsigned {
		return t.base + " unsigned"
	}
	return t.base
}

// condition is that of its columns in information_schema.COLUMNS. The width,
// which some servers write, says nothing of the values.
func (t mysqlType) condition() string {
	not := "NOT "
	if t.unsigned {
		not = ""
	}
	return "DATA_TYPE = '" + t.base + "' AND COLUMN_TYPE " + not + "LIKE '%unsigned%'"
}

// holds are the smallest and the largest value.
func (t mysqlType) holds() (low, high string) {
	switch t {
	case mysqlType{"tinyint", false}:
		return "-128", "127"
	case mysqlType{"tinyint", true}:
		return "0", "255"
	case mysqlType{"smallint", false}:
		return "-32768", "32767"
	case mysqlType{"smallint", true}:
		return "0", "65535"
	case mysqlType{"mediumint", false}:
		return "-8388608", "8388607"
	case mysqlType{"mediumint", true}:
		return "0", "16777215"
	case mysqlType{"int", false}:
		return "-2147483648", "2147483647"
	default:
		return "0", "4294967295"
	}
}

// A mysqlDefinition is a column as SHOW CREATE TABLE writes it: a quoted name
// and what follows.
type mysqlDefinition string

func (d mysqlDefinition) split() (name, rest string) {
	end := mysqlNext(string(d), 0)
	return string(d[:end]), strings.TrimSpace(string(d[end:]))
}

func (d mysqlDefinition) typ() mysqlType {
	_, rest := d.split()
	return mysqlTypeOf(rest)
}

// as is the definition with another integer type.
func (d mysqlDefinition) as(t mysqlType) mysqlDefinition {
	name, rest := d.split()
	rest = rest[len(strings.TrimSuffix(mysqlInteger.FindString(rest), " ")):]
	return mysqlDefinition(name + " " + t.String() + rest)
}

const mysqlAuto = " AUTO_INCREMENT"

// auto is where the server is told to assign the column, or -1.
func (d mysqlDefinition) auto() int {
	return mysqlFind(string(d), func(s string, i int) bool {
		rest, ok := strings.CutPrefix(s[i:], mysqlAuto)
		return ok && (rest == "" || rest[0] == ' ')
	})
}

func (d mysqlDefinition) hasDefault() bool {
	return mysqlFind(string(d), func(s string, i int) bool { return strings.HasPrefix(s[i:], " DEFAULT ") }) >= 0
}

// unassigned is the definition without AUTO_INCREMENT.
func (d mysqlDefinition) unassigned() mysqlDefinition {
	i := d.auto()
	if i < 0 {
		return d
	}
	return d[:i] + d[i+len(mysqlAuto):]
}

// A mysqlForeignKey is a constraint as SHOW CREATE TABLE writes it.
type mysqlForeignKey struct {
	name            string
	child, parent   tableName
	columns, refers []string
	text            string
}

// mysqlParseForeignKey reads CONSTRAINT `f` FOREIGN KEY (`a`, …) REFERENCES
// `schema`.`table` (`b`, …) and what follows.
func mysqlParseForeignKey(child tableName, text string) (mysqlForeignKey, bool) {
	const key, references = " FOREIGN KEY ", " REFERENCES "
	at := func(word string) int {
		return mysqlFind(text, func(s string, i int) bool { return strings.HasPrefix(s[i:], word) })
	}
	first, second := at(key), at(references)
	if first < 0 || second < first {
		return mysqlForeignKey{}, false
	}
	target := text[second+len(references):]
	open := mysqlFind(target, func(s string, i int) bool { return s[i] == '(' })
	end := mysqlFind(target, func(s string, i int) bool { return s[i] == ')' })
	names, columns := mysqlNames(text[:first]), mysqlNames(text[first:second])
	if open < 0 || end < open || len(names) != 1 {
		return mysqlForeignKey{}, false
	}
	path, refers := mysqlNames(target[:open]), mysqlNames(target[open:end])
	if len(path) == 1 {
		path = []string{child.schema, path[0]}
	}
	if len(path) != 2 || len(columns) == 0 || len(columns) != len(refers) {
		return mysqlForeignKey{}, false
	}
	return mysqlForeignKey{names[0], child, tableName{path[0], path[1]}, columns, refers, text}, true
}
