package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// A TableName is the name of a table or another relation. Schema is empty for the current
// schema, and for databases without schemas.
type TableName struct{ Schema, Name string }

// tableForm and columnForm end the errors about a malformed name.
const (
	tableForm  = `want table or schema.table, with double quotes around a name that has a dot`
	columnForm = `want table.column or schema.table.column, with double quotes around a name that has a dot`
)

// ParseTable reads a name in the form table or schema.table. Double quotes enclose a part
// that contains a dot.
func ParseTable(s string) (TableName, error) {
	parts := splitName(s)
	if len(parts) == 0 || len(parts) > 2 {
		return TableName{}, fmt.Errorf("%q is not the name of a table: %s", s, tableForm)
	}
	return TableOf(parts), nil
}

// ParseColumn reads a name in the form table.column or schema.table.column. Double quotes
// enclose a part that contains a dot.
func ParseColumn(s string) (TableName, string, error) {
	parts := splitName(s)
	if len(parts) < 2 || len(parts) > 3 {
		return TableName{}, "", fmt.Errorf("%q is not the name of a column: %s", s, columnForm)
	}
	last := len(parts) - 1
	return TableOf(parts[:last]), parts[last], nil
}

// TableOf returns the name that consists of parts, which are a table, or a schema and a
// table.
func TableOf(parts []string) TableName {
	if len(parts) == 1 {
		return TableName{Name: parts[0]}
	}
	return TableName{parts[0], parts[1]}
}

// namePart matches the first part of a name and the dot or end that follows it, for example
// `"my.table".` of `"my.table".id`. A part in double quotes is in the first group, without
// the quotes around it, and a part without quotes in the second. The third group is the dot,
// or empty at the end of the name.
var namePart = regexp.MustCompile(`^(?:"((?:[^"]|"")+)"|([^".][^.]*))(\.|$)`)

// splitName splits a name at the dots outside double quotes, for example "my.table".id into
// my.table and id. It returns nil if the name is malformed, for example if a part is empty
// or a quote is not closed. It keeps the case of letters, even though some databases fold
// names without quotes to one case.
func splitName(s string) []string {
	var parts []string
	for {
		m := namePart.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		parts = append(parts, strings.ReplaceAll(m[1], `""`, `"`)+m[2]) // m[1] or m[2] is empty
		if m[3] == "" {
			return parts
		}
		s = s[len(m[0]):]
	}
}

// String returns the name in the form that [ParseTable] reads.
func (t TableName) String() string {
	if t.Schema == "" {
		return QuoteDotted(t.Name)
	}
	return QuoteDotted(t.Schema) + "." + QuoteDotted(t.Name)
}

// Compare compares names by their text, as [strings.Compare] does.
func (t TableName) Compare(other TableName) int { return strings.Compare(t.String(), other.String()) }

// MarshalText returns the text of [TableName.String].
func (t TableName) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name as [ParseTable] does. An empty text gives the zero value.
func (t *TableName) UnmarshalText(text []byte) (err error) {
	*t = TableName{}
	if len(text) > 0 {
		*t, err = ParseTable(string(text))
	}
	return err
}

// QuoteDotted returns the name in the form that [ParseTable] reads as one part. It adds
// double quotes if the name has a dot or begins with a double quote.
func QuoteDotted(name string) string {
	if !strings.Contains(name, ".") && !strings.HasPrefix(name, `"`) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Quoted returns the name for SQL, with the schema if it has one. mark is the database's
// quotation mark, which is doubled inside a name.
func (t TableName) Quoted(mark string) string {
	name := mark + strings.ReplaceAll(t.Name, mark, mark+mark) + mark
	if t.Schema == "" {
		return name
	}
	return mark + strings.ReplaceAll(t.Schema, mark, mark+mark) + mark + "." + name
}
